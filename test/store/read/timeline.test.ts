import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { outOfStock } from '../../support/operator.ts';
import { close, emptyBalance, fulfilled, line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const pause = (scope: string, nowMs: number) =>
  outbox.store.pauses.open({
    scope,
    reason: 'r',
    message: 'm',
    openedBy: 'worker',
    probeAtMs: null,
    nowMs,
  });

const requestOf = (orderId: string): number => {
  const found = outbox.store.read.findOrder('shop1', orderId);
  if (found === null) throw new Error('it was accepted');
  return found.requestId;
};
const timelineOf = (orderId: string, limit = 100, after?: string) =>
  outbox.store.read.timeline(requestOf(orderId), { limit, after });
const shortly = (orderId: string): readonly string[] =>
  timelineOf(orderId).rows.map(({ at, kind, code, subject }) =>
    [Date.parse(at), kind, code, ...(subject === null ? [] : [subject])].join(' '),
  );

async function call(settlement: typeof fulfilled, nowMs: number): Promise<void> {
  const attempt = await outbox.opened({ nowMs });
  await stepsOf(outbox.store).closeAttempt(close(attempt, settlement, { nowMs: nowMs + 500 }));
}

describe('the timeline of an order', () => {
  it('has everything that happened to it, in the order of time', async () => {
    await outbox.accept([line()], null, 1000);
    await call(outOfStock, 2000);
    const reference = timelineOf('1001').rows.find(({ kind }) => kind === 'entry')?.reference ?? '';
    const who = { actor: 'cli:anna', reason: 'asked by the shop', nowMs: 3000 };
    const policy = {
      steadyMs: 0,
      referenceExpiryMs: 1e9,
      lookupFamilies: ['gift_card'] as const,
    };
    await outbox.store.operator.actOnEntry({
      ...who,
      ...policy,
      reference,
      order: { action: 'retry' },
    });
    await call(fulfilled, 4000);
    const [due] = await outbox.store.results.dueDeliveries('folder', 9000, 10);
    const { requestId = 0, version = 0 } = due ?? {};
    await outbox.store.results.closeDelivery({ requestId, sink: 'folder', version, nowMs: 6000 });

    expect(shortly('1001')).toEqual([
      '1000 received shop1',
      '1000 entry new',
      '2000 call submit',
      '2500 answer out_of_stock',
      `3000 decision retry ${reference}`,
      '4000 call submit',
      '4500 answer accepted',
      '4500 settled fulfilled GC-1',
      '6000 delivered folder',
    ]);
    const [, , , answer, decision] = timelineOf('1001').rows;
    expect(answer).toMatchObject({
      reference,
      lineId: '1',
      number: 1,
      keyName: 'main',
      httpStatus: 200,
      durationMs: 500,
    });
    expect(decision).toMatchObject({ actor: 'cli:anna', message: 'asked by the shop' });
  });

  it('has the pauses that it had to wait for, and no others', async () => {
    await pause('balance:USD', 500);
    await pause('variant:other', 600);
    await outbox.accept([line()], null, 1000);
    await pause('account', 1500);
    await outbox.store.pauses.end('account', 'the API accepts orders again', 1600);
    await outbox.store.pauses.end('balance:USD', 'an order was accepted', 1700);
    await call(fulfilled, 2000);
    await pause('family:gift_card', 3000);
    expect(shortly('1001').filter((text) => text.includes('pause'))).toEqual([
      '500 pause pause balance:USD',
      '1500 pause pause account',
      '1600 pause resume account',
      '1700 pause resume balance:USD',
    ]);
  });

  it('has no pause that was over before the order came', async () => {
    await pause('account', 500);
    await outbox.store.pauses.end('account', 'the API accepts orders again', 600);
    await outbox.accept([line()], null, 1000);
    expect(shortly('1001')).toEqual(['1000 received shop1', '1000 entry new']);
  });

  it('has the lines that were not accepted, and nothing of another order', async () => {
    await outbox.accept([line(), line({ orderId: 'other', lineId: 'x' })], null, 1000);
    await outbox.accept([line({ quantity: 5 })], null, 2000);
    await call(emptyBalance, 3000);
    expect(shortly('other')).toEqual(['1000 received shop1', '1000 entry new']);
    expect(timelineOf('1001').rows.find(({ kind }) => kind === 'not_accepted')).toMatchObject({
      code: 'conflict',
      lineId: '1',
    });
  });

  it('is read in pages that neither repeat nor skip anything', async () => {
    const lines = Array.from({ length: 7 }, (_, index) => line({ lineId: String(index) }));
    await outbox.accept(lines, null, 1000);
    const all = timelineOf('1001').rows;
    const paged = [];
    for (let after: string | null | undefined; after !== null; ) {
      const page = timelineOf('1001', 3, after);
      expect(page.rows.length).toBeLessThanOrEqual(3);
      paged.push(...page.rows);
      after = page.next;
    }
    expect(paged).toEqual(all);
    expect(all).toHaveLength(8);
    expect(() => timelineOf('1001', 3, 'nonsense')).toThrow(/is not a position in this list/);
  });
});
