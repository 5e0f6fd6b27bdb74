import { describe, expect, it } from 'vitest';
import type { OrderFixture } from './fixtures/order-fixture.ts';
import { shopifyFixtures } from './fixtures/shopify.ts';
import { wooCommerceFixtures } from './fixtures/woocommerce.ts';
import { openShops, shopifyOrder, wooOrder } from './storefront-shops.ts';

const healthy = {
  woocommerce: { id: 315, sku: 'STEAM-20', quantity: 2 },
  shopify: { id: 11, sku: 'STEAM-20', quantity: 2, current_quantity: 2 },
};

type Platform = keyof typeof healthy;

function bodyOf(platform: Platform, { body, order = {}, lines }: OrderFixture): unknown {
  if (body !== undefined) return body;
  const build = platform === 'woocommerce' ? wooOrder : shopifyOrder;
  return build({ line_items: [healthy[platform], ...(lines ?? [])], ...order });
}

/** What the worker makes of a document, in the words of the fixtures. */
async function readingOf(platform: Platform, fixture: OrderFixture) {
  const shops = await openShops();
  const deliver = platform === 'woocommerce' ? shops.woo : shops.shopify;
  // Twice: nothing is bought or flagged again.
  for (let times = 0; times < 2; times += 1)
    await deliver(bodyOf(platform, fixture), fixture.topic);
  const { read } = shops.outbox.store;
  return {
    bought: shops
      .bought()
      .map((text) => text.replace(/ pending$/, '').replace(/ in [A-Z]{3}$/, '')),
    flagged: read
      .attention(1000)
      .map(({ orderId, lineId, code, message }) => {
        const field = /^([^\s:]+): /.exec(message ?? '')?.[1] ?? 'line';
        return `${orderId === null ? 'no order' : (lineId ?? '-')} ${code} ${field}`;
      })
      .toSorted(),
  };
}

describe.each([
  ['woocommerce', wooCommerceFixtures] as const,
  ['shopify', shopifyFixtures] as const,
])('an order of %s', (platform, fixtures) => {
  it.each(fixtures.map((fixture) => [fixture.name, fixture] as const))(
    'with %s',
    async (_, fixture) => {
      const { bought = [], flagged = [], isHealthyBought = true } = fixture;
      const first = isHealthyBought ? [`${healthy[platform].id} 2 x steam-usd-20`] : [];
      expect(await readingOf(platform, fixture)).toEqual({
        bought: [...first, ...bought],
        flagged: flagged.toSorted(),
      });
    },
  );
});
