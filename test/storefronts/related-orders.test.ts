import { describe, expect, it } from 'vitest';
import { actOn, type Shops, shopifyOrder, startShops, wooOrder } from './storefront-shops.ts';

const line = (id: number, sku = 'STEAM-20', changes: object = {}) => ({
  id,
  sku,
  quantity: 1,
  product_id: id + 5000,
  meta_data: [],
  ...changes,
});
const meta = (key: string, value: unknown) => ({ id: 1, key, value });
const woo = (id: number, changes: Record<string, unknown> = {}) =>
  wooOrder({
    id,
    number: String(id),
    order_key: `wc_order_${id}`,
    line_items: [line(id * 10)],
    ...changes,
  });
const named = (key: string, value: unknown) => ({ meta_data: [meta(key, value)] });
const paidWith = (transaction_id: string) => ({ transaction_id });

/** `line state` of every entry, in the order in which they came. */
const states = ({ bought }: Shops) => bought().map((text) => text.replace(/ .* /, ' '));

/** The states after each order was delivered twice. */
async function statesOf(orders: readonly unknown[], platform: 'woo' | 'shopify' = 'woo') {
  const shops = await startShops();
  for (let times = 0; times < 2; times += 1) for (const body of orders) await shops[platform](body);
  return states(shops);
}

const whole = woo(700, {
  ...paidWith('pi_3Nabc'),
  ...named('has_sub_order', '1'),
  line_items: [line(1), line(2, 'FR-7D')],
});
const first = woo(701, { parent_id: 700, line_items: [line(3)] });
const second = woo(702, {
  parent_id: 700,
  ...paidWith('pi_3Nabc'),
  line_items: [line(4, 'FR-7D')],
});

// Dokan, order-splitter functions: a parent with `has_sub_order`, and an order for each vendor with
// `parent_id`.
describe('an order of which a marketplace makes orders for its vendors', () => {
  it.each([
    [
      'the whole order first',
      [whole, first, second],
      ['1 pending', '2 pending', '3 held', '4 held'],
    ],
    ['its parts first', [first, second, whole], ['3 pending', '4 pending', '1 held', '2 held']],
    [
      'the whole order between its parts',
      [first, whole, second],
      ['3 pending', '2 pending', '1 held', '4 held'],
    ],
  ])('is bought once when the shop shows %s', async (_, orders, expected) => {
    expect((await statesOf(orders)).toSorted()).toEqual(expected.toSorted());
  });

  it('is named where a part is held, and in the log of the whole order', async () => {
    const shops = await startShops();
    await shops.woo(whole);
    await shops.woo(first);
    const other = shops.outbox.store.read.showOrder('woo', '700');
    expect(shops.reasons()[0]).toContain(
      `order 700 of the shop, which was ordered under ${other?.entries[0]?.reference}`,
    );
    expect(other?.audit).toMatchObject([
      { action: 'hold', reason: expect.stringContaining('order 701') },
    ]);
  });

  it('is bought in the part when an operator releases it, and stays released', async () => {
    const shops = await startShops();
    await shops.woo(whole);
    const part = woo(727, { parent_id: 700 });
    await shops.woo(part);
    await actOn(shops, '7270', { action: 'release' });
    await shops.woo({ ...part, status: 'completed' });
    expect(states(shops)).toEqual(['1 pending', '2 pending', '7270 pending']);
  });
});

describe('a copy of an order', () => {
  const original = woo(700, paidWith('pi_3Nabc'));

  it.each([
    ['names it by its id', named('_copied_from', '700')],
    ['names it in a list', named('_original_orders', [700, 650])],
    ['names it in JSON', named('split_from', '{"id":700,"items":[1]}')],
    ['names it by its number', named('_duplicate_of_order', '#700')],
    ['names it in a serialised list', named('_reship_order_ids', 'a:1:{i:0;i:700;}')],
    ['names it in a note of the staff', { customer_note: 'Replacement: part of order #700' }],
    ['has its payment', paidWith('pi_3Nabc')],
    ['has its payment and names it', { ...named('_source_order', '700'), ...paidWith('pi_3Nabc') }],
    [
      'has its payment, and another line',
      { ...paidWith('pi_3Nabc'), line_items: [line(8010), line(8011, 'FR-7D')] },
    ],
  ])('is held as a whole when it %s', async (_, changes) => {
    const copy = woo(801, changes);
    const count = Array.isArray(copy['line_items']) ? copy['line_items'].length : 0;
    const expected = ['7000 pending', '8010 held', '8011 held'].slice(0, count + 1);
    expect(await statesOf([original, copy])).toEqual(expected);
    expect((await statesOf([copy, original])).slice(-1)).toEqual(['7000 held']);
  });

  it.each([
    ['the payment of a subscription', { ...named('_subscription_renewal', '650'), parent_id: 700 }],
    [
      'the payment of a subscription that names its first order',
      { meta_data: [meta('wps_sfw_renewal_order', 'yes'), meta('wps_sfw_parent_order_id', '700')] },
    ],
    [
      'an order with a payment of its own that names it',
      { ...named('_reordered_from_order', '700'), ...paidWith('pi_9Zyx') },
    ],
    ['an upsell with other goods', { parent_id: 700, line_items: [line(8010, 'FR-7D')] }],
    ['an order that is paid on its own', paidWith('pi_9Zyx')],
    ['an order without a payment id', {}],
    ['an order with a number that is no order', named('_order_total_paid', '700')],
  ])('is not %s', async (_, changes) => {
    expect(await statesOf([original, woo(801, changes)])).toEqual(['7000 pending', '8010 pending']);
  });

  it('is bought when nothing of the original was bought', async () => {
    const shops = await startShops();
    await shops.woo(woo(727));
    await shops.woo({
      ...woo(727, { status: 'cancelled' }),
      date_modified_gmt: wooOrder({}, 2)['date_modified_gmt'],
    });
    await shops.woo(woo(801, named('_copied_from', '727')));
    expect(states(shops)).toEqual(['7270 cancelled', '8010 pending']);
  });

  it.each([
    ['0', '0'],
    ['1', '1'],
    ['cash', 'cash'],
  ])('is not taken for one where the payment of both is "%s"', async (one, other) => {
    expect(await statesOf([woo(700, paidWith(one)), woo(801, paidWith(other))])).toEqual([
      '7000 pending',
      '8010 pending',
    ]);
  });
});

describe('a copy of an order whose SKU had left the map', () => {
  const steam = '{ STEAM-20: { type: gift_card_order, variant: steam-usd-20 } }';
  const other = '{ NEW: { type: gift_card_order, variant: new-1 } }';
  const pair = [woo(700, paidWith('pi_3Nabc')), woo(801, paidWith('pi_3Nabc'))];

  it.each([
    ['the original was bought', 1],
    ['neither of them was bought', 0],
  ])('is held when the map has it again and %s', async (_, before) => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    for (const body of pair.slice(0, before)) await shops.woo(body);
    shops.mapSkus(other);
    await shops.storefronts.followMaps();
    for (const body of pair.slice(before)) await shops.woo(body);
    expect(states(shops)).toHaveLength(before);
    shops.mapSkus(steam);
    await shops.storefronts.followMaps();
    expect(states(shops)).toEqual(['7000 pending', '8010 held']);
  });
});

describe('a copy of an order of Shopify', () => {
  const items = (id: number) => ({
    line_items: [{ id, sku: 'STEAM-20', quantity: 1, properties: [] }],
  });
  const original = shopifyOrder({
    id: 1,
    name: '#1001',
    checkout_token: 'c0ffee1234',
    ...items(11),
  });

  it.each([
    ['a tag', { tags: 'vip, split from #1001' }],
    ['another tag', { tags: 'copy-of-1001' }],
    ['an attribute', { note_attributes: [{ name: 'original_order', value: '#1001' }] }],
    ['its source', { source_identifier: '1001' }],
    ['its note', { note: 'Exchange for #1001' }],
    ['its checkout', { checkout_token: 'c0ffee1234' }],
  ])('is held by %s', async (_, changes) => {
    expect(
      await statesOf(
        [original, shopifyOrder({ id: 2, name: '#1002', ...items(12), ...changes })],
        'shopify',
      ),
    ).toEqual(['11 pending', '12 held']);
  });

  it.each([
    ['a checkout of its own', { checkout_token: 'beef987654', tags: 'again, exchange 1001' }],
    ['no sign of it', { tags: 'vip, 1001', note: 'call before you come, flat 1001' }],
  ])('is bought with %s', async (_, changes) => {
    expect(
      await statesOf(
        [original, shopifyOrder({ id: 2, name: '#1002', ...items(12), ...changes })],
        'shopify',
      ),
    ).toEqual(['11 pending', '12 pending']);
  });
});
