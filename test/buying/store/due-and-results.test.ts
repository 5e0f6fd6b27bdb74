import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { close, closeConfirmed, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

describe('due entries', () => {
  it('are claimed in the order unknown, waiting, pending; and no new ones while too many outcomes are unknown', async () => {
    await outbox.accept([line()]);
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened(), { ...nothing, nextStep: 'send' }),
    );
    await outbox.accept([line({ lineId: '2' })]);
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened(), { ...nothing, state: 'waiting', outcomeUnknown: false }),
    );
    await outbox.accept([line({ lineId: '3' })]);
    const taken = [];
    for (;;) {
      const attempt = await stepsOf(outbox.store).openAttempt(
        outbox.claim({ nowMs: 9000, maxUnknownOutcomes: taken.length === 0 ? 1 : 9 }),
      );
      if (attempt === null) break;
      taken.push(attempt.entry.state);
    }
    expect(taken).toEqual(['unknown', 'waiting', 'pending']);
    await outbox.accept([line({ lineId: '4' })]);
    expect(
      await stepsOf(outbox.store).openAttempt(outbox.claim({ nowMs: 9000, maxUnknownOutcomes: 3 })),
    ).toBeNull();
  });

  it('are announced by the earliest due time of all shops and balances', async () => {
    expect(await stepsOf(outbox.store).nextDueAt('send', 0)).toBeNull();
    outbox.setTime(3000);
    await outbox.accept([line({ source: 'a', orderId: 'late' })]);
    expect(await stepsOf(outbox.store).nextDueAt('send', 0)).toBe(3000);
    outbox.setTime(1500);
    await outbox.accept([line({ source: 'b', currency: 'EUR' })]);
    outbox.setTime(2500);
    await outbox.accept([line({ source: 'c' })]);
    expect(await stepsOf(outbox.store).nextDueAt('send', 0)).toBe(1500);
  });

  it('are announced by another time after a claim, after a settlement, and while an attempt is open', async () => {
    outbox.setTime(3000);
    await outbox.accept([line()]);
    expect(await stepsOf(outbox.store).nextDueAt('send', 0)).toBe(3000);
    expect(await stepsOf(outbox.store).nextDueAt('lookup', 0)).toBeNull();
    const attempt = await outbox.opened({ nowMs: 3000 });
    expect(await stepsOf(outbox.store).nextDueAt('send', 0)).toBeNull();
    await stepsOf(outbox.store).closeAttempt(
      close(attempt, { ...nothing, nextStep: 'lookup', dueAtMs: 4000 }),
    );
    expect(await stepsOf(outbox.store).nextDueAt('lookup', 0)).toBe(4000);
    expect(await stepsOf(outbox.store).nextDueAt('send', 0)).toBeNull();
    const looked = await outbox.opened({ nowMs: 4000, step: 'lookup' });
    expect(await stepsOf(outbox.store).nextDueAt('lookup', 0)).toBeNull();
    await stepsOf(outbox.store).closeAttempt(
      close(looked, { ...nothing, nextStep: 'send', dueAtMs: 5000 }),
    );
    expect(await stepsOf(outbox.store).nextDueAt('lookup', 0)).toBeNull();
    expect(await stepsOf(outbox.store).nextDueAt('send', 0)).toBe(5000);
  });

  it('are looked up by turns: those of unknown outcome first, and the one that is due longest', async () => {
    const looksUp = { ...nothing, nextStep: 'lookup' } as const;
    const units = { ...looksUp, state: 'placed', outcomeUnknown: false, dueAtMs: 2000 } as const;
    const esim = { operation: 'esim_order', variant: null, plan: 'p' } as const;
    await outbox.accept([
      line({ lineId: 'a' }),
      line({ lineId: 'b' }),
      line({ lineId: 'units', ...esim }),
    ]);
    for (const _ of 'abc') {
      const sent = await outbox.opened();
      const settlement =
        sent.entry.operation === 'esim_order' ? units : { ...looksUp, dueAtMs: 5000 };
      await stepsOf(outbox.store).closeAttempt(close(sent, settlement));
    }
    const looked = [];
    for (const _ of 'abc')
      looked.push((await outbox.opened({ step: 'lookup', nowMs: 9000 })).entry.state);
    expect(looked).toEqual(['unknown', 'placed', 'unknown']);
  });

  it('of a paused balance are not claimed, while those of another balance are', async () => {
    await outbox.accept([line(), line({ lineId: '2', currency: 'EUR' })]);
    const pause = {
      scope: 'balance:USD',
      reason: 'insufficient_balance',
      message: '',
      openedBy: 'worker',
    };
    await outbox.store.pauses.open({ ...pause, probeAtMs: 9000, nowMs: 100 });
    expect((await stepsOf(outbox.store).openAttempt(outbox.claim()))?.entry.currency).toBe('EUR');
    expect(await stepsOf(outbox.store).openAttempt(outbox.claim())).toBeNull();
  });

  it('of one eSIM are claimed one after another, in the order in which they came', async () => {
    const iccid = '8988211000000000000';
    await outbox.accept([
      line({ operation: 'esim_topup', variant: null, plan: 'p', iccid, quantity: null }),
      line({
        lineId: '2',
        operation: 'esim_cancel',
        variant: null,
        iccid,
        quantity: null,
        currency: null,
      }),
    ]);
    const topup = await outbox.opened();
    expect(topup.entry.operation).toBe('esim_topup');
    expect(await stepsOf(outbox.store).openAttempt(outbox.claim())).toBeNull();
    await stepsOf(outbox.store).closeAttempt(close(topup, { ...fulfilled, answer: null }));
    expect((await outbox.opened()).entry.operation).toBe('esim_cancel');
  });

  it('expire when their deadline passes before anything was charged, and the shop gets the result', async () => {
    await outbox.accept([line({ notAfterMs: 1500 })]);
    expect(await stepsOf(outbox.store).openAttempt(outbox.claim())).toBeNull();
    expect(await stepsOf(outbox.store).expireOverdue(2000, 5)).toBe(1);
    const [due] = await outbox.store.results.dueDeliveries('folder', 9999, 10);
    expect(due?.document).toMatchObject({ state: 'failed', lines: [{ state: 'expired' }] });
  });
});

describe('an order whose deadline passed before its outbox was lost', () => {
  it('is looked up, but no more of them at a time than outcomes may be unknown', async () => {
    const request = { actor: 'an operator', reason: 'the disk is new', nowMs: 1000, untilMs: 9000 };
    await outbox.store.operator.beginAfterLoss(request);
    await outbox.accept(['1', '2', '3'].map((lineId) => line({ lineId, notAfterMs: 1500 })));
    for (const maxUnknownOutcomes of [1, 1, 2]) {
      expect(await stepsOf(outbox.store).expireOverdue(2000, maxUnknownOutcomes)).toBe(0);
      expect(outbox.store.read.counts().unknown).toBe(maxUnknownOutcomes);
    }
  });
});

describe('an order whose deadline passes while it waits', () => {
  it.each([
    ['account_not_allowed', 'not_after_passed'],
    ['rate_limited', 'not_after_passed'],
    ['unreachable', 'not_after_passed'],
    ['out_of_stock', 'out_of_stock'],
    ['insufficient_balance', 'insufficient_balance'],
  ] as const)(
    'ends with the refusal of the order itself, and not with what kept it from being judged: %s',
    async (row, code) => {
      await outbox.accept([line({ notAfterMs: 5000 })]);
      const waiting = {
        ...nothing,
        state: 'waiting',
        nextStep: 'send',
        outcomeUnknown: false,
        row,
      } as const;
      const error = { code: row, message: 'said then', buffered: false };
      await closeConfirmed(outbox, await outbox.opened(), { ...waiting, error });
      expect(await stepsOf(outbox.store).expireOverdue(5000, 5)).toBe(1);
      const [due] = await outbox.store.results.dueDeliveries('folder', 9999, 10);
      expect(due?.document.lines[0]?.entries[0]).toMatchObject({
        state: 'rejected',
        error: { code },
      });
    },
  );
});

describe('budget slots', () => {
  it('survive a restart: settled ones with their time, open ones as settled now', async () => {
    await outbox.accept([line(), line({ lineId: '2' })]);
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
    await outbox.opened();
    const slots = await stepsOf(outbox.store).budget.restoreSlots(7000);
    expect(slots.map((slot) => [slot.limitName, slot.settledMs])).toEqual([
      ['requests', 1000],
      ['orders', 1000],
      ['requests', 7000],
      ['orders', 7000],
    ]);
  });

  it('are free at once when their call never left', async () => {
    await outbox.accept([line()]);
    await stepsOf(outbox.store).closeAttempt(
      close(
        await outbox.opened(),
        { ...nothing, state: 'pending', outcomeUnknown: false, row: 'unreachable' },
        { slotsSettledMs: null },
      ),
    );
    expect(await stepsOf(outbox.store).budget.restoreSlots(1)).toEqual([]);
  });
});

describe('the result of an order', () => {
  it('follows from the database alone, is marked as sandbox, and contains the rejected lines', async () => {
    await outbox.accept([line()]);
    await outbox.store.intake.acceptBatch({
      nowMs: 1100,
      fileId: null,
      lines: [],
      rejections: [
        {
          lineNumber: 2,
          source: 'shop1',
          orderId: '1001',
          lineId: '2',
          code: 'invalid_field',
          field: 'quantity',
          rule: 'must be at least 1',
          value: '0',
        },
      ],
    });
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
    const [due] = await outbox.store.results.dueDeliveries('folder', 9999, 10);
    expect(due?.document).toMatchObject({
      source: 'shop1',
      order_id: '1001',
      state: 'partial',
      sandbox: true,
      updated_at: new Date(2500).toISOString(),
      lines: [
        {
          line_id: '1',
          state: 'fulfilled',
          entries: [
            { order_number: 'GC-1', cost: '10.00', units: [{ code: 'SECRET-CODE' }], error: null },
          ],
        },
        {
          line_id: '2',
          state: 'rejected',
          entries: [],
          error: { code: 'invalid_field', message: 'quantity: must be at least 1, got 0' },
        },
      ],
    });
  });

  it('is written again when it changed while it was being written', async () => {
    await outbox.accept([line(), line({ lineId: '2' })]);
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
    const [due] = await outbox.store.results.dueDeliveries('folder', 9999, 10);
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
    await outbox.store.results.closeDelivery({
      requestId: due?.requestId ?? 0,
      sink: 'folder',
      version: due?.version ?? 0,
      nowMs: 3000,
    });
    const [next] = await outbox.store.results.dueDeliveries('folder', 9999, 10);
    expect(next?.version).toBeGreaterThan(due?.version ?? 0);
  });
});

describe('pauses', () => {
  it('outlive the process, keep their first reason, and are in the audit log', async () => {
    const pause = {
      scope: 'account',
      reason: 'api_disabled',
      message: 'maintenance',
      openedBy: 'worker',
      probeAtMs: 5000,
    };
    await outbox.store.pauses.open({ ...pause, nowMs: 100 });
    await outbox.store.pauses.open({ ...pause, reason: 'redirect', nowMs: 200 });
    await outbox.reopen();
    expect(await outbox.store.pauses.all()).toMatchObject([
      { scope: 'account', reason: 'api_disabled', sinceMs: 100 },
    ]);
    expect(await outbox.store.pauses.end('account', 'maintenance is over', 300)).toBe(true);
    const raw = new SqliteDatabase(outbox.path, { readonly: true });
    expect(raw.prepare('SELECT actor, action, subject FROM audit_log ORDER BY id').all()).toEqual([
      { actor: 'worker', action: 'pause', subject: 'account' },
      { actor: 'worker', action: 'resume', subject: 'account' },
    ]);
    raw.close();
  });
});

describe('the turns of shops and queues', () => {
  it('let a single order of one shop overtake the backlog of another', async () => {
    await outbox.accept(
      Array.from({ length: 300 }, (_, order) => line({ source: 'large', orderId: `a${order}` })),
    );
    await outbox.accept([line({ source: 'small', orderId: 'b' })]);
    await outbox.opened();
    await outbox.opened();
    expect([...outbox.sendingSources()].toSorted()).toEqual(['large', 'small']);
  });

  it('let new orders and retried orders overtake each other', async () => {
    await outbox.accept(Array.from({ length: 20 }, (_, order) => line({ orderId: `old${order}` })));
    for (let order = 0; order < 20; order += 1) {
      await stepsOf(outbox.store).closeAttempt(
        close(await outbox.opened(), {
          ...nothing,
          state: 'waiting',
          outcomeUnknown: false,
          dueAtMs: 2000,
        }),
      );
    }
    await outbox.accept(Array.from({ length: 20 }, (_, order) => line({ orderId: `new${order}` })));
    const states = [];
    for (let turn = 0; turn < 6; turn += 1) states.push((await outbox.opened()).entry.state);
    expect(states.toSorted()).toEqual([
      'pending',
      'pending',
      'pending',
      'waiting',
      'waiting',
      'waiting',
    ]);
  });
});
