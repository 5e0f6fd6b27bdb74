import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Receiver, takes } from '../support/receiver.ts';
import { Installation, order } from '../support/worker-process.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

describe('the text for the customer in a running worker', () => {
  it('is in the posted result as in the folder, and no line of the log has a code', async () => {
    const shop = await Receiver.open(takes);
    open.push(shop);
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    const installation = await Installation.open({ callback: { url: shop.url, secrets: [{ value: secret }] } });
    open.push(installation);
    installation.configure((config) => {
      config.results.customer = { qr: ['png'] };
    });
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    for (const sink of ['folder', 'callback:shop']) {
      await worker.line((line) => line['sink'] === sink && line['state'] === 'completed');
    }
    const body = shop.posts.at(-1)?.body ?? '';
    expect(body).toBe(readFileSync(join(installation.folder, 'results/shop/1.json'), 'utf8'));
    const { customer, lines } = JSON.parse(body);
    const [{ code }] = lines[0].entries[0].units;
    expect(customer).toMatchObject({
      text: expect.stringContaining('Your order 1 is complete.'),
    });
    expect(customer.text).toContain(`Code: ${code}\n`);
    expect(customer.html).toContain(`<bdi dir="ltr">${code}</bdi>`);
    expect(JSON.stringify(worker.log)).not.toContain(code);
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  it('keeps its templates when a reload finds that they were broken since the start', async () => {
    const installation = await Installation.open();
    open.push(installation);
    const folder = join(installation.folder, 'texts');
    mkdirSync(folder, { recursive: true });
    installation.configure((config) => {
      config.results = { customer: { templates: join(installation.folder, 'texts') } };
    });
    const worker = installation.start();
    await worker.started();
    writeFileSync(join(folder, 'gift_card.txt'), '{{cod}}');
    const refused = await worker.reload();
    expect(refused).toMatchObject({ level: 'error', msg: 'reload refused; the configuration in use stays' });
    expect(JSON.stringify(refused)).toContain('gift_card.txt:1 {{cod}} is not a known variable');
    installation.drop('a.ndjson', `${order(1)}\n`);
    await worker.line((line) => line['sink'] === 'folder' && line['state'] === 'completed');
    const { customer } = JSON.parse(readFileSync(join(installation.folder, 'results/shop/1.json'), 'utf8'));
    expect(customer.text).toContain('Code: ');
    expect(await worker.end('SIGTERM')).toBe(0);
  });
});
