import { describe, expect, it } from 'vitest';
import { minutesAgo, numbersAsText, readBackOf, wooBody } from './read-back/running-read-back.ts';
import { send, StubWooCommerce } from './read-back/stub-shop.ts';
import { MovableClock, openShops, shopifyOrder, wooOrder } from './storefront-shops.ts';

// WooCommerce shows the present SKU of a product in all of its orders, none when the product was
// deleted, and that of the product for a variation that has none of its own.

const lineOf = (changes: Record<string, unknown>) => ({
  line_items: [
    {
      id: 315,
      sku: 'STEAM-20',
      product_id: 93,
      variation_id: 0,
      quantity: 2,
      meta_data: [],
      ...changes,
    },
  ],
});

describe('a line whose product is the same under another SKU', () => {
  it.each([
    ['got another SKU', { sku: 'STEAM-TWENTY' }],
    ['got a SKU of the map that buys something else', { sku: 'STEAM-3PACK' }],
    ['was deleted', { sku: null, product_id: 0 }],
  ])('is the same line when the product %s', async (_, change) => {
    const { woo, bought, flagged } = await openShops();
    await woo(wooOrder(lineOf({})));
    expect(await woo(wooOrder(lineOf(change), 2))).toMatchObject({
      taken: { known: 1, flagged: 0, takenBack: 0 },
    });
    expect(bought()).toEqual(['315 2 x steam-usd-20 pending']);
    expect(flagged()).toEqual([]);
  });

  it('is the same line when its variation was deleted, and the shop shows it as its product', async () => {
    const { woo, bought, flagged } = await openShops();
    await woo(wooOrder(lineOf({ variation_id: 95 })));
    expect(await woo(wooOrder(lineOf({ sku: 'STEAM-3PACK' }), 2))).toMatchObject({
      taken: { known: 1 },
    });
    expect([bought(), flagged()]).toEqual([['315 2 x steam-usd-20 pending'], []]);
  });

  it.each([
    ['the same line when its variant got another SKU', 8, 'pending'],
    ['held when staff chose another variant', 9, 'held'],
  ])('of Shopify is %s', async (_, variant_id, state) => {
    const { shopify, bought } = await openShops();
    const line = {
      id: 11,
      sku: 'STEAM-20',
      product_id: 7,
      variant_id: 8,
      quantity: 2,
      properties: [],
    };
    await shopify(shopifyOrder({ line_items: [line] }));
    await shopify(shopifyOrder({ line_items: [{ ...line, sku: 'STEAM-3PACK', variant_id }] }, 2));
    expect(bought()).toEqual([`11 2 x steam-usd-20 ${state}`]);
  });

  it('is cancelled like any other when it is refunded after that', async () => {
    const { woo, bought } = await openShops();
    await woo(wooOrder(lineOf({})));
    await woo(wooOrder({ ...lineOf({ sku: 'STEAM-TWENTY' }), status: 'refunded' }, 2));
    expect(bought()).toEqual(['315 2 x steam-usd-20 cancelled']);
  });

  it.each([
    ['product', { product_id: 94, sku: 'STEAM-3PACK' }],
    ['variation', { variation_id: 95, sku: 'STEAM-3PACK' }],
  ])('is held when staff chose another %s', async (_, change) => {
    const { woo, bought } = await openShops();
    await woo(wooOrder(lineOf({})));
    await woo(wooOrder(lineOf(change), 2));
    expect(bought()).toEqual(['315 2 x steam-usd-20 held']);
  });
});

const variation = (lineId: string, sku: string) =>
  wooBody(lineId, {
    line_items: [
      { id: lineId, sku, product_id: '16', variation_id: '18', quantity: 1, meta_data: [] },
    ],
  });

describe('a variation that the shop shows with a SKU of the map', () => {
  it('is flagged when the SKU is the SKU of its product, also after a webhook, and bought when it is its own', async () => {
    const stub = await new StubWooCommerce().open();
    stub.products.set('STEAM-20', 'variable').set('STEAM-50', 'variation');
    const { run, bought, flagged, handler } = await readBackOf('woocommerce', stub);
    const first = stub.put({
      id: '1',
      modifiedMs: minutesAgo(60),
      body: variation('11', 'STEAM-20'),
    });
    stub.put({ id: '2', modifiedMs: minutesAgo(50), body: variation('21', 'STEAM-50') });
    const webhook = {
      isTest: false,
      topic: 'order.updated',
      isListed: false,
      refunds: 'unknown',
    } as const;
    const document = numbersAsText(stub.shown(first));
    expect(await handler.take({ document, ...webhook })).toMatchObject({ kind: 'needs_refunds' });
    expect(bought()).toEqual([]);
    await run();
    expect(bought()).toEqual(['2/21 1 x steam-usd-50 pending']);
    expect(flagged()).toEqual(['1/11 variation_without_sku']);
    // The SKU of the second is known as its own: its webhook is taken in at once.
    const third = stub.put({
      id: '3',
      modifiedMs: minutesAgo(1),
      body: variation('31', 'STEAM-50'),
    });
    const later = { document: numbersAsText(stub.shown(third)), ...webhook };
    expect(await handler.take(later)).toMatchObject({ kind: 'taken', taken: { accepted: 1 } });
  });

  it('is bought once the shop has moved the SKU to the variation', async () => {
    const stub = await new StubWooCommerce().open();
    stub.products.set('STEAM-20', 'variable');
    const { run, bought } = await readBackOf('woocommerce', stub);
    stub.put({ id: '1', modifiedMs: minutesAgo(60), body: variation('11', 'STEAM-20') });
    await run();
    stub.products.set('STEAM-20', 'variation');
    stub.put({ id: '2', modifiedMs: minutesAgo(1), body: variation('21', 'STEAM-20') });
    await run();
    expect(bought()).toEqual(['1/11 1 x steam-usd-20 held', '2/21 1 x steam-usd-20 pending']);
  });

  it('is flagged when the key may not read products, and stops no other order', async () => {
    const stub = await new StubWooCommerce().open();
    const refusal = {
      code: 'woocommerce_rest_cannot_view',
      message: 'Sorry, you cannot list resources.',
    };
    stub.misbehave = ({ url }, response) =>
      url.pathname.endsWith('/products') && send(response, 403, refusal);
    const { run, bought, flagged } = await readBackOf('woocommerce', stub);
    stub.put({ id: '1', modifiedMs: minutesAgo(60), body: variation('11', 'STEAM-20') });
    stub.put({ id: '2', modifiedMs: minutesAgo(50), body: wooBody('21') });
    expect(await run()).toMatchObject({ complete: true, accepted: 1, error: null });
    expect(bought()).toEqual(['2/21 2 x steam-usd-20 pending']);
    expect(flagged()).toEqual(['1/11 variation_without_sku']);
  });

  it('waits for a shop that cannot say whose SKU it is', async () => {
    const stub = await new StubWooCommerce().open();
    stub.products.set('STEAM-20', 'variation');
    stub.misbehave = ({ url }, response) =>
      url.pathname.endsWith('/products') && send(response, 500, {});
    const { run, bought } = await readBackOf('woocommerce', stub);
    stub.put({ id: '1', modifiedMs: minutesAgo(60), body: variation('11', 'STEAM-20') });
    expect(await run()).toMatchObject({ complete: false, error: { kind: 'unavailable' } });
    expect(bought()).toEqual([]);
    stub.misbehave = () => false;
    await run();
    expect(bought()).toEqual(['1/11 1 x steam-usd-20 pending']);
  });
});

it.each([
  [
    'bought when the shop says that the SKU is its own',
    'variation',
    ['1/315 2 x new-1 pending'],
    [],
  ],
  [
    'not bought when the SKU is the SKU of its product',
    'variable',
    [],
    ['1/315 unknown_sku', '1/315 variation_without_sku'],
  ],
] as const)(
  'a flagged variation whose SKU came into the map is %s',
  async (_, type, bought, flagged) => {
    const stub = await new StubWooCommerce().open();
    const clock = new MovableClock();
    const shop = await readBackOf('woocommerce', stub, { clock });
    await shop.handler.followMap();
    const line_items = [
      { id: '315', sku: 'STEAM20', product_id: 93, variation_id: 95, quantity: 2, meta_data: [] },
    ];
    stub.put({ id: '1', modifiedMs: minutesAgo(60), body: wooBody('315', { line_items }) });
    await shop.run(minutesAgo(120));
    expect(shop.flagged()).toEqual(['1/315 unknown_sku']);
    stub.products.set('STEAM20', type);
    clock.useSkus(shop.shop.skuMap, '{ STEAM20: { type: gift_card_order, variant: new-1 } }');
    await shop.handler.followMap();
    expect(shop.bought()).toEqual([]);
    await shop.run();
    expect([shop.bought(), shop.flagged()]).toEqual([bought, flagged]);
  },
);
