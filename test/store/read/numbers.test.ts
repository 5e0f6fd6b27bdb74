import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { outOfStock } from '../../support/operator.ts';
import { stepsOf } from '../../support/steps.ts';

const hour = 3_600_000;
/** A beginning of a day. */
const day = Date.parse('2026-11-22T00:00:00.000Z');
const refused: Settlement = { ...outOfStock, state: 'rejected' };

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const costing = (cost: string, currency = 'USD'): Settlement => ({
  ...fulfilled,
  answer: { ...answer, cost, currency },
});

let orders = 0;
/** Takes in an order of a shop and settles its line after `tookMs`; null: it stays open. */
async function buy(
  settlement: Settlement | null,
  receivedMs: number,
  tookMs = 1000,
  of: Parameters<typeof line>[0] = {},
): Promise<void> {
  orders += 1;
  await outbox.accept([line({ orderId: String(orders), ...of })], null, receivedMs);
  if (settlement === null) return;
  const attempt = await outbox.opened({ nowMs: receivedMs });
  await stepsOf(outbox.store).closeAttempt(
    close(attempt, settlement, { nowMs: receivedMs + tookMs }),
  );
}

const numbers = (more: { source?: string; product?: string } = {}) =>
  outbox.store.read.numbers({ fromMs: day, untilMs: day + 48 * hour, ...more });

describe('the numbers', () => {
  it('are sums of money, orders and refusals, and the median time to the code', async () => {
    await buy(costing('19.000001'), day - 1);
    await buy(costing('0.1'), day, 1000);
    await buy(costing('0.2'), day, 5000);
    await buy(costing('7', 'EUR'), day + 25 * hour, 2000);
    await buy(refused, day + 26 * hour);
    await buy(null, day + 27 * hour);
    await buy(null, day + 48 * hour);
    const { total, by, isWhole } = numbers();
    expect(isWhole).toBe(true);
    const spent = [
      { currency: 'EUR', amount: '7.00' },
      { currency: 'USD', amount: '0.30' },
    ];
    const nothing = { uncounted: 0, refunded: [], refundsUnknown: 0 };
    expect(total).toEqual({ orders: 5, bought: 3, refused: 1, spent, ...nothing, medianMs: 2000 });
    expect(by('day').map((sum) => [sum.day, sum.orders, sum.bought, sum.refused])).toEqual([
      ['2026-11-23', 3, 1, 1],
      ['2026-11-22', 2, 2, 0],
    ]);
  });

  it('have what came back, and how many costs and refunds nobody knows', async () => {
    const unknown = { ...answer, cost: null };
    await buy({ ...costing('5'), state: 'refunded' }, day);
    await buy({ ...fulfilled, answer: unknown }, day);
    await buy({ ...fulfilled, state: 'refunded', answer: unknown }, day);
    await buy({ ...costing('5'), state: 'placed', nextStep: 'lookup' }, day);
    const attempt = await outbox.opened({ step: 'lookup', nowMs: day });
    await stepsOf(outbox.store).closeAttempt(close(attempt, costing('4.5'), { nowMs: day }));
    expect(numbers().total).toMatchObject({
      orders: 4,
      bought: 2,
      spent: [{ currency: 'USD', amount: '9.50' }],
      uncounted: 2,
      refunded: [{ currency: 'USD', amount: '5.00' }],
      refundsUnknown: 1,
    });
  });

  it('count an order of several lines once, and tell shops and products apart', async () => {
    const lines = ['1', '2'].map((lineId) => line({ orderId: 'A', lineId, source: 'one' }));
    await outbox.accept(
      [...lines, line({ orderId: 'B', source: 'two', variant: 'other' })],
      null,
      day,
    );
    const { total, by } = numbers();
    expect(total).toMatchObject({ orders: 2, bought: 0, spent: [], medianMs: null });
    expect(by('source').map((sum) => [sum.source, sum.orders])).toEqual([
      ['two', 1],
      ['one', 1],
    ]);
    expect(by('source', 'product').map(({ source, product }) => `${source}/${product}`)).toEqual([
      'two/other',
      `one/${line({}).variant}`,
    ]);
    expect(numbers({ source: 'one' }).total.orders).toBe(1);
    expect(
      numbers({ product: 'other' })
        .by('source')
        .map((sum) => sum.source),
    ).toEqual(['two']);
  });
});

describe('what waited', () => {
  it('is counted backwards from now by what came in and what ended, hour by hour', async () => {
    await buy(costing('1'), day, 2 * hour);
    await buy(refused, day + 3 * hour);
    await buy(null, day + hour);
    await buy(null, day + 3 * hour);
    const { read } = outbox.store;
    const hours = read.hourStatistics({ fromMs: day - hour, untilMs: day + 4 * hour });
    expect(read.waiting(hours)).toEqual([0, 1, 2, 1, 2]);
  });
});
