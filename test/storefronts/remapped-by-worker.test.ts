import { join } from 'node:path';
import { expect, it } from 'vitest';
import { order, type Installation } from '../support/worker-process.ts';
import { minutesAgo, wooBody } from './read-back/running-read-back.ts';
import { boughtBy, commandLine, deliver, installationFor } from './read-back/shop-worker.ts';
import { StubWooCommerce } from './read-back/stub-shop.ts';
import { writeLongAgo } from './storefront-shops.ts';

const corrected =
  'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-20 }, NEW: { type: gift_card_order, variant: steam-usd-50 } }';

/** A shop whose map has a wrong product, and does not know the SKU `NEW`. */
async function shopWithWrongMap() {
  const stub = await new StubWooCommerce().open();
  const installation = await installationFor(stub);
  installation.configure((config) => {
    const [shop] = config.intake.webhook.woocommerce;
    delete shop.rest;
    Object.assign(shop, { unmatched: 'review' });
  });
  mapSkus(
    installation,
    'skus: { STEAM-20: { type: gift_card_order, variant: there-is-no-such-card } }',
  );
  const worker = installation.start();
  await worker.started();
  // Until a lookup has found an order, a rejection needs review.
  installation.drop('first.json', order(1));
  await worker.line(({ msg }) => msg.startsWith('lookups work'));
  const line_items = [
    { id: '315', sku: 'STEAM-20', quantity: 2, meta_data: [] },
    { id: '316', sku: 'NEW', quantity: 1, meta_data: [] },
  ];
  const placed = stub.put({
    id: '727',
    modifiedMs: minutesAgo(1),
    body: wooBody('315', { line_items }),
  });
  expect(await deliver(worker, stub.shown(placed))).toMatchObject({
    result: 'paid',
    accepted: 1,
    flagged: 1,
  });
  await attention(installation, ['rejected', 'storefront']);
  return { installation, worker };
}

const mapSkus = ({ folder }: Installation, text: string) =>
  writeLongAgo(join(folder, 'skus.yaml'), text);

interface Row {
  readonly id: string;
  readonly kind: string;
}

/** Waits until these kinds stand in the attention list. */
async function attention(
  installation: Installation,
  kinds: readonly string[],
): Promise<readonly Row[]> {
  for (;;) {
    const rows = installation.query<Row>('SELECT id, kind FROM outbox_attention ORDER BY kind');
    if (JSON.stringify(rows.map(({ kind }) => kind)) === JSON.stringify(kinds)) return rows;
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
}

const products = (installation: Installation) =>
  installation.query(
    "SELECT variant, quantity, state FROM entries WHERE state = 'fulfilled' ORDER BY variant",
  );

const bought = [
  { variant: 'steam-usd-20', quantity: 2, state: 'fulfilled' },
  { variant: 'steam-usd-5', quantity: 1, state: 'fulfilled' },
  { variant: 'steam-usd-50', quantity: 1, state: 'fulfilled' },
];

it('a worker buys what a corrected map has now, and an operator orders what it says otherwise', async () => {
  const { installation, worker } = await shopWithWrongMap();
  mapSkus(installation, corrected);
  // The flagged line is bought by itself.
  for (const { id } of await attention(installation, ['rejected'])) {
    const asked = ['orders', 'reorder', id, '--remap', '--reason', 'the map was wrong'];
    expect((await commandLine(installation, ...asked)).stdout).toContain('nothing was changed');
    expect((await commandLine(installation, ...asked, '--confirm', id)).code).toBe(0);
  }
  await attention(installation, []);
  while (boughtBy(installation) < 3) await new Promise((resolve) => void setTimeout(resolve, 50));
  expect(await worker.end('SIGTERM')).toBe(0);
  expect([products(installation), boughtBy(installation)]).toEqual([bought, 3]);
});
