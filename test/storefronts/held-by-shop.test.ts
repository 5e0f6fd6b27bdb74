import { stepsOf } from '../support/steps.ts';
import { describe, expect, it } from 'vitest';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import { close, emptyBalance, nothing } from '../support/outbox.ts';
import { actOn, type Shops, startShops, wooOrder, writeLongAgo } from './storefront-shops.ts';

const toSendAgain: Settlement = {
  ...nothing,
  nextStep: 'send',
  inFlightWindowEndMs: null,
};

const onHold = { status: 'on-hold' };
const deleted = { 'X-WC-Webhook-Topic': 'order.deleted' };
const open = ({ outbox }: Shops) => outbox.opened({ nowMs: Date.now() });
const tryToSend = ({ outbox }: Shops) =>
  stepsOf(outbox.store).openAttempt(outbox.claim({ nowMs: Date.now() + 1000 }));
const states = (shops: Shops) => shops.bought().map((text) => text.split(' ').at(-1));

describe('an unsent line whose order is not paid any more', () => {
  it('is released to the state that it had when the order is paid again, and leaves an audit entry', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    await stepsOf(shops.outbox.store).closeAttempt(close(await open(shops), emptyBalance));
    await shops.woo(wooOrder(onHold, 1));
    const notified = shops.notifications();
    await shops.woo(wooOrder({}, 2));
    expect([states(shops), shops.flagged()]).toEqual([['waiting'], []]);
    expect(shops.notifications()).toBe(notified + 1);
    expect(shops.outbox.auditLog()).toMatchObject([
      { actor: 'woocommerce:main', action: 'hold', reason: expect.stringContaining('"on-hold"') },
      { actor: 'woocommerce:main', action: 'release' },
    ]);
    expect((await tryToSend(shops))?.purpose).toBe('submit');
  });

  it('names the present status in its reason', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    await shops.woo(wooOrder(onHold, 1));
    await shops.woo(wooOrder({ status: 'fraud-check' }, 2));
    expect(shops.reasons()).toEqual([expect.stringContaining('"fraud-check"')]);
  });

  it('stays held when an operator held it, and is held for the shop when the operator releases it', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    await actOn(shops, '315', { action: 'hold' });
    await shops.woo(wooOrder(onHold, 1));
    await shops.woo(wooOrder({}, 2));
    expect(shops.reasons()).toEqual(['315 for the test']);
    await shops.woo(wooOrder(onHold, 3));
    await actOn(shops, '315', { action: 'release' });
    expect(await tryToSend(shops)).toBeNull();
    expect(shops.reasons()).toEqual([expect.stringContaining('"on-hold"')]);
    await shops.woo(wooOrder({}, 4));
    expect([states(shops), shops.flagged()]).toEqual([['pending'], []]);
  });

  it('is bought when an operator releases it, until the state of the order changes', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    await shops.woo(wooOrder(onHold, 1));
    await actOn(shops, '315', { action: 'release' });
    await shops.woo(wooOrder({ ...onHold, note: 'another address' }, 2));
    expect(states(shops)).toEqual(['pending']);
    await shops.woo(wooOrder({ status: 'fraud-check' }, 3));
    expect(states(shops)).toEqual(['held']);
    await actOn(shops, '315', { action: 'release' });
    expect((await tryToSend(shops))?.purpose).toBe('submit');
  });

  it('is not sent again when its call was in flight, and ended without a purchase', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    const attempt = await open(shops);
    await shops.woo(wooOrder(onHold, 1));
    await stepsOf(shops.outbox.store).closeAttempt(close(attempt, emptyBalance));
    expect(states(shops)).toEqual(['waiting']);
    expect(await tryToSend(shops)).toBeNull();
    expect(states(shops)).toEqual(['held']);
    await shops.woo(wooOrder({}, 2));
    expect((await tryToSend(shops))?.purpose).toBe('submit');
  });

  it('does not make the line behind it wait for another claim', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    const attempt = await open(shops);
    await shops.woo(wooOrder(onHold, 1));
    // Its call ended without a purchase, so it is due again; an order of another customer comes
    // after it.
    await stepsOf(shops.outbox.store).closeAttempt(close(attempt, { ...emptyBalance, dueAtMs: 0 }));
    await shops.woo(
      wooOrder({ id: 728, number: '728', line_items: [{ id: 316, sku: 'STEAM-20', quantity: 1 }] }),
    );
    const next = await tryToSend(shops);
    expect([next?.entry.quantity, states(shops)]).toEqual([1, ['held', 'sending']]);
  });

  it('is not sent in parts either, nor under its own reference after an unknown outcome', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    const attempt = await open(shops);
    await shops.woo(wooOrder({ status: 'refunded' }, 1));
    const part = (number: number) => ({
      generation: 1,
      part: number,
      quantity: 1,
      currency: 'USD',
    });
    const split: Settlement = {
      ...emptyBalance,
      state: 'rejected',
      row: 'limit_exceeded',
      replacements: [part(0), part(1)],
    };
    await stepsOf(shops.outbox.store).closeAttempt(close(attempt, split));
    for (let tries = 0; tries < 3; tries += 1) expect(await tryToSend(shops)).toBeNull();
    expect(states(shops)).toEqual(['rejected', 'held', 'held']);

    const unsure = await startShops();
    await unsure.woo(wooOrder());
    await stepsOf(unsure.outbox.store).closeAttempt(close(await open(unsure), toSendAgain));
    await unsure.woo(wooOrder(onHold, 1));
    expect(await tryToSend(unsure)).toBeNull();
    expect(states(unsure)).toEqual(['held']);
    await unsure.woo(wooOrder({}, 2));
    expect(states(unsure)).toEqual(['unknown']);
    expect((await tryToSend(unsure))?.entry.outcomeUnknown).toBe(true);
  });

  it('keeps on_refund: ignore: what was refunded is bought, also when its call comes back', async () => {
    const shops = await startShops({ woo: { onRefund: 'ignore' } });
    await shops.woo(wooOrder());
    const attempt = await open(shops);
    await shops.woo({ id: 727 }, deleted);
    await stepsOf(shops.outbox.store).closeAttempt(close(attempt, emptyBalance));
    expect((await tryToSend(shops))?.purpose).toBe('submit');
  });

  it('stays held when its order was paid again too late', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    await shops.woo(wooOrder(onHold, 1));
    await shops.woo(wooOrder({ date_paid_gmt: '2026-01-01T00:00:00' }, 2));
    expect([states(shops), shops.reasons()]).toEqual([
      ['held'],
      [expect.stringContaining('max_age_h')],
    ]);
  });
});

describe('a deleted order of a shop', () => {
  it('is not bought when its deletion comes before the webhooks of its states', async () => {
    const shops = await startShops();
    expect((await shops.woo({ id: 727 }, deleted)).json).toMatchObject({
      result: 'deleted',
      order_id: '727',
    });
    expect((await shops.woo(wooOrder())).json).toMatchObject({
      result: 'older_than_known',
      flagged: 1,
    });
    expect((await shops.woo(wooOrder())).json).toMatchObject({ flagged: 0 });
    expect([states(shops), shops.flagged()]).toEqual([[], ['315 paid_and_deleted']]);
  });

  it('is flagged and not bought when it is restored', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    await shops.woo({ id: 727 }, deleted);
    expect(states(shops)).toEqual(['cancelled']);
    const later = new Date(Date.now() + 60_000).toISOString().slice(0, 19);
    await shops.woo(wooOrder({ date_modified_gmt: later }));
    expect([states(shops), shops.flagged()]).toEqual([
      ['cancelled'],
      ['315 paid_after_taken_back'],
    ]);
  });

  it('is flagged again when what was flagged and corrected happens again', async () => {
    const shops = await startShops();
    const closed = { status: 'cancelled' };
    await shops.woo(wooOrder(closed, 1));
    await shops.woo(wooOrder({}, 1));
    expect([states(shops), shops.flagged()]).toEqual([[], ['315 paid_and_closed']]);
    await shops.woo(wooOrder({}, 2));
    expect([states(shops), shops.flagged()]).toEqual([['pending'], []]);
    await shops.woo(wooOrder(closed, 3));
    expect((await shops.woo(wooOrder({}, 3))).json).toMatchObject({
      result: 'older_than_known',
      flagged: 1,
    });
    expect([states(shops), shops.flagged()]).toEqual([['cancelled'], ['315 paid_and_closed']]);
  });

  it('needs its topic, and a body with nothing but its id', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder());
    expect((await shops.woo({ id: 727 })).json.result).toBe('not_an_order');
    expect(
      (await shops.woo({ id: 727 }, { 'X-WC-Webhook-Topic': 'product.deleted' })).json.result,
    ).toBe('not_an_order');
    expect((await shops.woo(wooOrder({}, 1), deleted)).json.result).toBe('paid');
    expect((await shops.woo({ id: 'x' }, deleted)).json.result).toBe('unusable');
    expect([states(shops), shops.flagged()]).toEqual([['pending'], ['null unusable_no_order']]);
  });
});

describe('two states of an order within one second', () => {
  const two = [
    { id: 315, sku: 'STEAM-20', quantity: 2, meta_data: [] },
    { id: 316, sku: 'STEAM-20', quantity: 1, meta_data: [] },
  ];

  it('do not buy a line that one of them does not have, or what one of them refunded', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder({ line_items: two.slice(1) }, 1));
    await shops.woo(wooOrder({ line_items: two }, 1));
    await shops.woo(wooOrder({ line_items: two }, 1));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['316 1 x steam-usd-20 pending'],
      ['315 two_states_in_one_second'],
    ]);
    // A later state is the newest for sure.
    await shops.woo(wooOrder({ line_items: two }, 2));
    expect(states(shops)).toEqual(['pending', 'pending']);
  });

  // A shop that keeps orders as posts changes lines without moving the time of the order.
  it('flag a line whose quantity is larger in one of them, and buy no more of it; a later state says what changed', async () => {
    const shops = await startShops();
    const asking = (quantity: number) => ({ line_items: [{ ...two[1], quantity }] });
    await shops.woo(wooOrder(asking(1), 1));
    for (let time = 0; time < 2; time += 1) await shops.woo(wooOrder(asking(5), 1));
    const bought = ['316 1 x steam-usd-20 pending'];
    expect([shops.bought(), shops.flagged()]).toEqual([bought, ['316 two_states_in_one_second']]);
    await open(shops);
    await shops.woo(wooOrder(asking(5), 2));
    expect(shops.flagged()).toEqual(['316 changed_after_purchase', '316 two_states_in_one_second']);
    expect(shops.bought()).toEqual(['316 1 x steam-usd-20 sending']);
  });

  it('do not undo a refund when the older one comes second', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder({ refunds: [{ id: 9, total: '-20.00' }] }, 1));
    expect((await shops.woo(wooOrder({}, 1))).json.result).toBe('older_than_known');
    expect(states(shops)).toEqual([]);
    expect(shops.flagged()).toEqual(['315 partially_refunded', '315 two_states_in_one_second']);
  });

  it.each([
    ['pending, then paid', { status: 'pending', date_paid_gmt: null }, {}, ['pending'], 0],
    ['paid, then pending', {}, { status: 'pending', date_paid_gmt: null }, ['pending'], 0],
    ['paid, then on hold', {}, onHold, ['held'], 1],
    ['on hold, then paid', onHold, {}, [], 1],
    ['cancelled, then on hold', { status: 'cancelled' }, onHold, [], 0],
  ])('of which one is %s, lead to the more careful one', async (_, first, second, found, flags) => {
    const shops = await startShops();
    await shops.woo(wooOrder(first, 1));
    await shops.woo(wooOrder(second, 1));
    expect([states(shops), shops.flagged().length]).toEqual([found, flags]);
  });
});

describe('a line that was flagged, and of which nothing was bought', () => {
  it('is never bought by itself once it was acknowledged: after the SKU map was corrected, an operator releases or cancels it', async () => {
    const shops = await startShops({ woo: { unmatched: 'review' } });
    const line_items = [{ id: 315, sku: 'NEW-50', quantity: 1, meta_data: [] }];
    await shops.woo(wooOrder({ line_items }));
    expect([states(shops), shops.flagged()]).toEqual([[], ['315 unknown_sku']]);
    const ids = shops.outbox.store.read.attention(1).map(({ id }) => id);
    const who = { actor: 'test', reason: 'delivered by hand', nowMs: Date.now() };
    await shops.outbox.store.operator.acknowledge({ which: { ids }, ...who });
    await new Promise((resolve) => void setTimeout(resolve, 1050));
    writeLongAgo(shops.skuFile, 'skus: { NEW-50: { type: gift_card_order, variant: new-50 } }');
    await shops.woo(wooOrder({ line_items, status: 'completed' }, 1));
    await shops.woo(wooOrder({ line_items, status: 'on-hold' }, 2));
    await shops.woo(wooOrder({ line_items, status: 'completed' }, 3));
    expect(await tryToSend(shops)).toBeNull();
    // The entry answers for the line from now on.
    expect([states(shops), shops.reasons()]).toEqual([
      ['held'],
      [expect.stringContaining('flagged before as unknown_sku')],
    ]);
    await actOn(shops, '315', { action: 'release' });
    expect((await tryToSend(shops))?.entry.variant).toBe('new-50');
  });
});
