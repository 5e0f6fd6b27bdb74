import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import { answer, close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';
import { outOfStock } from '../../support/operator.ts';

/** Counts anew what the triggers have counted; money by the rows of what was charged and refunded. */
const countAgain = `INSERT INTO hourly_statistics (hour, name, key, n)
  SELECT received_at_ms / 3600000, 'received', '', count(*) FROM requests GROUP BY 1
  UNION ALL
  SELECT opened_at_ms / 3600000, 'calls', purpose, count(*) FROM attempts GROUP BY 1, 3
  UNION ALL
  SELECT settled_at_ms / 3600000, 'settled', state, count(*) FROM entries
    WHERE settled_at_ms IS NOT NULL AND state IN ('fulfilled', 'refunded', 'rejected', 'expired', 'cancelled') GROUP BY 1, 3
  UNION ALL
  SELECT settled_at_ms / 3600000, 'latency',
    CAST(max(0, ceil(4 * log2(max(1, settled_at_ms - created_at_ms) / 100.0))) AS INTEGER), count(*) FROM entries
    WHERE state = 'fulfilled' AND settled_at_ms IS NOT NULL GROUP BY 1, 3
  UNION ALL
  SELECT at_ms / 3600000, 'bought', currency, count(*) FROM charges WHERE kind = 'charge' AND number = 0 GROUP BY 1, 3
  UNION ALL
  SELECT at_ms / 3600000, 'spent', currency, sum(millionths) FROM charges WHERE kind = 'charge' GROUP BY 1, 3
  UNION ALL
  SELECT at_ms / 3600000, 'uncounted', currency, count(*) FROM charges WHERE kind = 'estimate' GROUP BY 1, 3
  UNION ALL
  SELECT at_ms / 3600000, 'refunded', currency, -sum(millionths) FROM charges WHERE kind = 'refund' GROUP BY 1, 3
    HAVING sum(millionths) IS NOT NULL
  UNION ALL
  SELECT at_ms / 3600000, 'unrefunded', currency, count(*) FROM charges WHERE kind = 'refund' AND millionths IS NULL
    GROUP BY 1, 3`;
const hour = 3_600_000;
/** A beginning of a day. */
const day = Date.parse('2026-11-22T00:00:00.000Z');

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const costing = (
  cost: string | null,
  currency = 'USD',
  changes: Partial<Settlement> = {},
): Settlement => ({
  ...fulfilled,
  answer: { ...answer, cost, currency },
  ...changes,
});

let orders = 0;
/** Takes in an order and settles it after `tookMs`. */
async function settle(settlement: Settlement, receivedMs: number, tookMs = 1000): Promise<void> {
  orders += 1;
  await outbox.accept([line({ orderId: String(orders) })], null, receivedMs);
  const attempt = await outbox.opened({ nowMs: receivedMs });
  await stepsOf(outbox.store).closeAttempt(
    close(attempt, settlement, { nowMs: receivedMs + tookMs }),
  );
}

const hoursOf = (fromMs: number, untilMs: number) =>
  outbox.store.read.hourStatistics({ fromMs, untilMs });
const spendingOf = (fromMs = day, untilMs = day + 24 * hour) =>
  outbox.store.read.spending({ fromMs, untilMs });

describe('the statistics of an hour', () => {
  it('count orders, calls and what entries ended as, also in hours in which nothing happened', async () => {
    await outbox.accept(
      [line({ orderId: 'two lines' }), line({ orderId: 'two lines', lineId: '2' })],
      null,
      day,
    );
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened({ nowMs: day }), fulfilled, { nowMs: day + 500 }),
    );
    await stepsOf(outbox.store).closeAttempt(
      close(
        await outbox.opened({ nowMs: day }),
        { ...outOfStock, state: 'rejected' },
        { nowMs: day + 2 * hour },
      ),
    );
    const none = { fulfilled: 0, refunded: 0, rejected: 0, expired: 0, cancelled: 0 };
    const nothingElse = {
      received: 0,
      settled: none,
      latency: null,
      spent: {},
      calls: { submit: 0, lookup: 0 },
    };
    expect(hoursOf(day - 1, day + 2 * hour + 1)).toEqual([
      { hour: '2026-11-21T23:00:00.000Z', ...nothingElse },
      {
        hour: '2026-11-22T00:00:00.000Z',
        received: 1,
        settled: { ...none, fulfilled: 1 },
        latency: { medianMs: expect.closeTo(500, -2), p95Ms: expect.closeTo(500, -2) },
        spent: { USD: 10 },
        calls: { submit: 2, lookup: 0 },
      },
      { hour: '2026-11-22T01:00:00.000Z', ...nothingElse },
      { hour: '2026-11-22T02:00:00.000Z', ...nothingElse, settled: { ...none, rejected: 1 } },
    ]);
  });

  it('count an order once, however it comes in: by lines, by parts, refused, or flagged', async () => {
    const { intake, read } = outbox.store;
    const rejection = {
      lineNumber: 1,
      source: 'shop1',
      lineId: null,
      code: 'invalid',
      field: null,
      rule: 'r',
      value: null,
    };
    const rejections = ['1', '2', '2'].map((orderId, index) => ({
      ...rejection,
      orderId,
      lineNumber: index,
    }));
    await intake.acceptBatch({
      nowMs: day,
      fileId: null,
      lines: [line({ orderId: '1' })],
      rejections,
    });
    await intake.acceptBatch({
      nowMs: day,
      fileId: null,
      lines: [line({ orderId: '1' }), line({ orderId: '3' })],
      rejections: [],
    });
    expect(read.listOrders({ limit: 10 })).toHaveLength(3);
    expect(hoursOf(day, day + hour)[0]?.received).toBe(3);
  });

  it('tell the 95th percentile of the time to a fulfilled order to 10 %', async () => {
    const times = Array.from({ length: 40 }, (_, index) => Math.round(300 * 1.25 ** index));
    for (const tookMs of times.toReversed()) await settle(fulfilled, day + hour - tookMs, tookMs);
    const [first] = hoursOf(day + hour, day + hour + 1);
    // 38 of the 40 are at most so long.
    expect(Math.abs((first?.latency?.p95Ms ?? 0) / (times[37] ?? 0) - 1)).toBeLessThan(0.1);
    expect(Math.abs((first?.latency?.medianMs ?? 0) / (times[19] ?? 0) - 1)).toBeLessThan(0.1);
  });

  it('are the same when a call ends after the clock was set back behind the intake', async () => {
    await settle(fulfilled, day + hour, -2 * hour);
    expect(hoursOf(day - hour, day)[0]?.latency?.p95Ms).toBeLessThan(110);
  });

  it('count nothing twice: a result that is read again, an entry that is settled again by an operator', async () => {
    await settle({ ...costing(null), state: 'needs_review' }, day);
    const reference =
      outbox.store.read.showOrder('shop1', String(orders))?.entries[0]?.reference ?? '';
    const resolve = {
      action: 'resolve',
      as: 'fulfilled',
      orderNumber: 'GC-1',
      note: 'Nothing was delivered.',
    } as const;
    const asked = { reference, actor: 'cli:anna', reason: 'seen in their list', nowMs: day + 5000 };
    const policy = { steadyMs: 0, referenceExpiryMs: 1e9, lookupFamilies: [] };
    await outbox.store.operator.actOnEntry({
      ...asked,
      ...policy,
      order: { ...resolve, units: [] },
    });
    expect(hoursOf(day, day + hour)[0]?.settled.fulfilled).toBe(1);
  });
});

describe('what was spent', () => {
  it('is the sum of the costs of a day, for each balance, exactly', async () => {
    for (const cost of ['0.10', '0.20', '12.345']) await settle(costing(cost), day);
    await settle(costing('7.00', 'EUR'), day + 23 * hour);
    await settle(costing('1'), day + 24 * hour);
    expect(spendingOf()).toEqual([
      {
        day: '2026-11-22',
        currency: 'EUR',
        orders: 1,
        spent: '7.00',
        uncounted: 0,
        refunded: '0.00',
        refunds_unknown: 0,
      },
      {
        day: '2026-11-22',
        currency: 'USD',
        orders: 3,
        spent: '12.645',
        uncounted: 0,
        refunded: '0.00',
        refunds_unknown: 0,
      },
    ]);
    expect(spendingOf(day + 24 * hour, day + 25 * hour)).toMatchObject([
      { day: '2026-11-23', spent: '1.00' },
    ]);
  });

  it('counts a cost that changes later by its difference, and a refund by what the order had cost', async () => {
    await settle({ ...costing('5.00'), state: 'placed', nextStep: 'lookup' }, day);
    const attempt = await outbox.opened({ step: 'lookup', nowMs: day + hour });
    const refunded = costing('4.50', 'USD', { state: 'refunded' });
    await stepsOf(outbox.store).closeAttempt(close(attempt, refunded, { nowMs: day + hour }));
    expect(spendingOf()).toEqual([
      {
        day: '2026-11-22',
        currency: 'USD',
        orders: 1,
        spent: '4.50',
        uncounted: 0,
        refunded: '4.50',
        refunds_unknown: 0,
      },
    ]);
  });

  it('says how many orders it does not have, because no cost of them is known', async () => {
    const { cost: _cost, ...rest } = answer;
    await settle({ ...fulfilled, answer: { ...rest, cost: null } }, day);
    await settle(costing('5.00'), day);
    await settle({ ...costing('5.00'), answer: { ...rest, cost: null, currency: 'EUR' } }, day);
    expect(spendingOf()).toMatchObject([
      { currency: 'EUR', orders: 0, spent: '0.00', uncounted: 1 },
      { currency: 'USD', orders: 1, spent: '5.00', uncounted: 1 },
    ]);
  });

  it('moves to the other balance with a cost that turns out to be charged there', async () => {
    await settle({ ...costing('5.00'), state: 'placed', nextStep: 'lookup' }, day);
    const attempt = await outbox.opened({ step: 'lookup', nowMs: day + hour });
    const inEuro = costing('5.00', 'EUR');
    await stepsOf(outbox.store).closeAttempt(close(attempt, inEuro, { nowMs: day + hour }));
    expect(spendingOf()).toMatchObject([
      { currency: 'EUR', spent: '5.00' },
      { currency: 'USD', spent: '0.00' },
    ]);
  });

  it('lists a refund as unknown where nobody knows what the order had cost', async () => {
    await settle(costing(null, 'USD', { state: 'refunded' }), day);
    expect(spendingOf()).toMatchObject([
      { spent: '0.00', uncounted: 1, refunded: '0.00', refunds_unknown: 1 },
    ]);
  });

  it('has nothing of an outcome that is unknown, and nothing of what was refused', async () => {
    await settle(nothing, day);
    await settle(outOfStock, day);
    expect(spendingOf()).toEqual([]);
  });

  it.each(['999999999999999999', '-999999999999999999', '0.000000000000000001'])(
    'never keeps a call from being recorded, whatever the API says that it cost: %s',
    async (cost) => {
      for (let times = 0; times < 3; times += 1) await settle(costing(cost), day);
      expect(outbox.store.read.counts().fulfilled).toBe(3);
      expect(spendingOf()[0]?.orders).toBe(3);
    },
  );

  it('stops at the largest number that can be stored', async () => {
    const write = new SqliteDatabase(outbox.path);
    const hours = day / hour;
    write
      .prepare(
        `INSERT INTO hourly_statistics (hour, name, key, n) VALUES (?, 'spent', 'USD', 9000000000000000000)`,
      )
      .run(hours);
    write.close();
    await settle(costing('999999999999999999'), day);
    expect(spendingOf()[0]?.spent).toBe('9000000000000.00');
  });
});

it('are the same when they are counted from the rows', async () => {
  await settle(costing('0.10'), day);
  await settle(costing('5', 'EUR', { state: 'refunded' }), day + 1);
  await settle(costing(null), day + 2);
  await settle(costing(null, 'EUR', { state: 'refunded' }), day + 3);
  await settle({ ...outOfStock, state: 'rejected' }, day + hour);
  await settle(nothing, day + 2 * hour);
  const write = new SqliteDatabase(outbox.path);
  const all = () => write.prepare('SELECT * FROM hourly_statistics ORDER BY name, hour, key').all();
  const kept = all();
  write.exec('DELETE FROM hourly_statistics');
  write.exec(countAgain);
  expect(all()).toEqual(kept);
  expect(kept.length).toBeGreaterThan(10);
  write.close();
});
