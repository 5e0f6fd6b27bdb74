import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installation, sandboxConfig } from './installation.ts';

const config = (folder: string): string => `${sandboxConfig(folder)}
intake:
  folders:
    - { name: own, sku_map: ${folder}/skus.yaml, currency: USD }
    - { name: shopify, format: shopify_orders, sku_map: ${folder}/skus.yaml }
    - name: excel
      sku_map: ${folder}/skus.yaml
      currency: EUR
      columns: { order_id: Bestellnummer, quantity: Menge, sku: Artikel }
      only: { Zahlungsstatus: [bezahlt] }
`;

function withFile(content: string) {
  const here = installation(config);
  writeFileSync(
    join(here.folder, 'skus.yaml'),
    'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-20 } }\n',
  );
  const file = join(here.folder, 'export.csv');
  writeFileSync(file, content);
  const check = async (folder: string, ...more: string[]) =>
    await here.run('submit', file, '--check', '--folder', folder, ...more);
  return { here, check };
}

const shopify = `Name,Financial Status,Currency,Lineitem quantity,Lineitem sku,Source
#1,paid,USD,2,STEAM-20,web
#2,pending,USD,1,STEAM-20,web
#3,paid,USD,1,MUG,web
`;
const excel = `Bestellnummer;Artikel;Menge;Zahlungsstatus
1001;STEAM-20;2;bezahlt
1002;STEAM-20;1;offen
`;

describe('submit --check', () => {
  it('says of each row what would be bought, and orders nothing', async () => {
    const { here, check } = withFile(shopify);
    const { code, stdout } = await check('shopify', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).lines).toEqual([
      {
        line: 2,
        order_id: '#1',
        line_id: 'steam-20',
        result: 'bought',
        text: '2 x steam-usd-20 in USD',
      },
      {
        line: 3,
        order_id: '#2',
        line_id: null,
        result: 'skipped',
        text: expect.stringContaining('not paid'),
      },
      {
        line: 4,
        order_id: '#3',
        line_id: 'mug',
        result: 'rejected',
        text: expect.stringContaining('is not in the SKU map'),
      },
    ]);
    expect((await check('shopify')).stdout).toContain('nothing was submitted');
    expect(existsSync(here.dataDir)).toBe(false);
  });

  it.each([
    ['the export of a shop', shopify, ['format: shopify_orders']],
    [
      'a file with columns of its own',
      excel,
      [
        'columns: { order_id: "Bestellnummer", quantity: "Menge", sku: "Artikel" }',
        'only: { "Zahlungsstatus": [paid] }',
      ],
    ],
  ])('proposes how %s may be read', async (_, content, lines) => {
    const { code, stderr } = await withFile(content).check('own');
    expect(code).toBe(5);
    for (const line of lines) expect(stderr).toContain(line);
    expect(stderr).toContain('The file has the columns "');
  });

  it('reads a file as the configuration says', async () => {
    const { stdout } = await withFile(excel).check('excel');
    expect(stdout).toMatch(/2 +1001 +1 +bought +2 x steam-usd-20 in EUR/);
    expect(stdout).toMatch(/3 +1002 +skipped/);
  });
});
