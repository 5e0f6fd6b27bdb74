import { stepsOf } from '../support/steps.ts';
import { describe, expect, it } from 'vitest';
import { close, fulfilled } from '../support/outbox.ts';
import { actOn, type Shops, startShops, wooOrder } from './storefront-shops.ts';

const states = ({ bought }: Shops) => bought().map((text) => text.replace(/ .* /, ' '));
const line = (id: number, sku = 'STEAM-20') => ({ id, sku, quantity: 2, meta_data: [] });

const known = (changes: Record<string, unknown> = {}, minute = 0) =>
  wooOrder({ order_key: 'wc_order_first', customer_id: 5, ...changes }, minute);
/** The same ids of order and line, as WooCommerce gives them again. */
const other = (changes: Record<string, unknown> = {}, minute = 30) =>
  wooOrder(
    {
      order_key: 'wc_order_second',
      customer_id: 6,
      date_created_gmt: wooOrder({}, minute)['date_modified_gmt'],
      ...changes,
    },
    minute,
  );
const withoutKey = { order_key: undefined };
const deleted = { 'X-WC-Webhook-Topic': 'order.deleted' };

async function deliverAll({ outbox }: Shops): Promise<void> {
  const attempt = await outbox.opened({ nowMs: Date.now() });
  await stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled));
}

describe('an id that the shop gave to another sale', () => {
  it('is flagged once and changes nothing of what was bought, until the order is deleted', async () => {
    const shops = await startShops();
    await shops.woo(known());
    await deliverAll(shops);
    await shops.woo(other());
    await shops.woo(other({ status: 'completed' }, 31));
    expect([states(shops), shops.flagged()]).toEqual([['315 fulfilled'], ['null id_given_again']]);
    expect(shops.reasons()[0]).toContain('send it under another order id');
    await shops.woo({ id: 727 }, deleted);
    expect(shops.flagged()).toEqual(['315 refunded_in_storefront']);
  });

  it('is flagged also after a state whose time was ahead of its receipt', async () => {
    const shops = await startShops();
    const ahead = new Date(Date.now() + 7_200_000).toISOString().slice(0, 19);
    await shops.woo(known({ date_modified_gmt: ahead }));
    await deliverAll(shops);
    await shops.woo(other());
    expect([states(shops), shops.flagged()]).toEqual([['315 fulfilled'], ['null id_given_again']]);
  });

  it('stays flagged when a state of the known sale comes late', async () => {
    const shops = await startShops();
    await shops.woo(known({}, 5));
    await deliverAll(shops);
    await shops.woo(other());
    await shops.woo(known({ status: 'completed' }, 4));
    expect(shops.flagged()).toEqual(['null id_given_again']);
  });

  it('holds what was not sent of the known sale, and buys it when an operator releases it', async () => {
    const shops = await startShops();
    await shops.woo(known());
    await shops.woo(other());
    expect([states(shops), shops.flagged()]).toEqual([
      ['315 held'],
      ['315 held', 'null id_given_again'],
    ]);
    await actOn(shops, '315', { action: 'release' });
    await shops.woo(other({}, 31));
    expect(states(shops)).toEqual(['315 pending']);
  });

  it('is told apart by time and customer where the orders have no key', async () => {
    const shops = await startShops();
    await shops.woo(known(withoutKey));
    await deliverAll(shops);
    await shops.woo(other(withoutKey));
    expect(shops.flagged()).toEqual(['null id_given_again']);
  });

  it('is flagged when the known sale was deleted before', async () => {
    const shops = await startShops();
    await shops.woo(known());
    await shops.woo({ id: 727 }, deleted);
    await shops.woo(other());
    expect([states(shops), shops.flagged()]).toEqual([['315 cancelled'], ['null id_given_again']]);
  });

  it.each([
    ['was never paid', { status: 'pending', date_paid_gmt: null }],
    ['had nothing of ours', { line_items: [line(300, 'MUG')] }],
  ])('is bought when the known sale %s', async (_, changes) => {
    const shops = await startShops();
    await shops.woo(known(changes));
    await shops.woo({ id: 727 }, deleted);
    await shops.woo(other());
    expect([states(shops), shops.flagged()]).toEqual([['315 pending'], []]);
  });
});

describe('the same sale', () => {
  it.each([
    ['its customer was corrected', { customer_id: 9 }],
    ['its time was corrected', { date_created_gmt: '2026-01-01T00:00:00' }],
    ['its key is not shown any more', withoutKey],
  ])('stays the same when %s', async (_, changes) => {
    const shops = await startShops();
    await shops.woo(known(withoutKey));
    await shops.woo(known({ ...withoutKey, ...changes }, 1));
    expect([states(shops), shops.flagged()]).toEqual([['315 pending'], []]);
  });
});

describe('a bought order that was in the trash', () => {
  it('needs no attention when it is restored, and its result is due again', async () => {
    const shops = await startShops();
    await shops.woo(known());
    await deliverAll(shops);
    await shops.woo(known({ status: 'trash' }, 1));
    expect(shops.flagged()).toEqual(['315 refunded_in_storefront']);
    await shops.woo(known({ status: 'on-hold' }, 2));
    expect(shops.flagged()).toEqual(['315 refunded_in_storefront']);
    const before = shops.outbox.store.read.showOrder('woo', '727')?.updatedAt;
    await shops.woo(known({}, 3));
    expect([states(shops), shops.flagged()]).toEqual([['315 fulfilled'], []]);
    expect(shops.outbox.store.read.showOrder('woo', '727')?.updatedAt).not.toBe(before);
    await shops.woo(known({ status: 'trash' }, 4));
    expect(shops.flagged()).toEqual(['315 refunded_in_storefront']);
  });

  it('needs attention no more when a raised quantity is put back', async () => {
    const shops = await startShops();
    await shops.woo(known());
    await deliverAll(shops);
    await shops.woo(known({ line_items: [{ ...line(315), quantity: 3 }] }, 1));
    expect(shops.flagged()).toEqual(['315 changed_after_purchase']);
    await shops.woo(known({}, 2));
    expect(shops.flagged()).toEqual([]);
  });
});
