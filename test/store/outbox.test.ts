import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OrderAnswer } from '../../src/core/order-answer.ts';
import type { AcceptableLine } from '../../src/core/order-request.ts';
import type { Settlement } from '../../src/core/settlement.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import type { AttemptClaim, AttemptClose, OpenAttempt, Store } from '../../src/store/store.ts';

let folder: string;
let path: string;
let store: Store;
let incarnationId: number;

const options = () => ({
  path,
  init: 'if-missing' as const,
  namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
  upstream: 'sandbox',
  sinks: ['folder'],
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-outbox-'));
  path = join(folder, 'order-sync.db');
  store = openStore(options());
  incarnationId = await store.beginIncarnation({ bootId: 'boot', version: '0', nowMs: 1 });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

function line(changes: Partial<AcceptableLine> = {}): AcceptableLine & { lineNumber: number | null } {
  return {
    source: 'shop1',
    orderId: '1001',
    lineId: '1',
    operation: 'gift_card_order',
    variant: 'steam-10',
    plan: null,
    iccid: null,
    quantity: 1,
    days: null,
    currency: 'USD',
    notAfterMs: null,
    metadata: {},
    extra: {},
    lineNumber: 1,
    ...changes,
  };
}

const accept = (lines: ReturnType<typeof line>[], fileId: string | null = null, nowMs = 1000) =>
  store.acceptBatch({ nowMs, fileId, lines, rejections: [] });

function claim(changes: Partial<AttemptClaim> = {}): AttemptClaim {
  return {
    step: 'send',
    keyName: 'main',
    incarnationId,
    nowMs: 2000,
    nowMono: 500,
    bootId: 'boot',
    allowNew: true,
    pausedCurrencies: [],
    render: (entry) => ({ method: 'POST', path: '/orders', body: JSON.stringify({ reference: entry.reference }) }),
    ...changes,
  };
}

const nothing: Settlement = {
  state: 'unknown',
  nextStep: 'lookup',
  dueAtMs: 3000,
  inDoubt: true,
  doubtUntilMs: 120_000,
  tries: 1,
  counted: true,
  row: 'dropped',
  error: { code: 'dropped', message: 'other side closed', buffered: false },
  reviewReason: null,
  answer: null,
  pause: null,
};
const answer: OrderAnswer = {
  orderNumber: 'GC-1',
  reference: null,
  status: 'completed',
  statusClass: 'done',
  cost: '10.00',
  currency: 'USD',
  units: [{ code: 'SECRET-CODE' }],
};
const fulfilled: Settlement = {
  ...nothing,
  state: 'fulfilled',
  nextStep: 'send',
  inDoubt: false,
  doubtUntilMs: null,
  row: 'accepted',
  error: null,
  answer,
};

function close(attempt: OpenAttempt, settlement: Settlement, changes: Partial<AttemptClose> = {}): AttemptClose {
  return {
    attemptId: attempt.attemptId,
    entryId: attempt.entry.id,
    nowMs: 2500,
    durationMs: 500,
    outcome: { row: settlement.row, sent: true, http: 200, code: null, message: '' },
    settlement,
    slotsSettledMono: 1000,
    bootId: 'boot',
    pause: null,
    ...changes,
  };
}

async function opened(): Promise<OpenAttempt> {
  const attempt = await store.openAttempt(claim());
  if (attempt === null) throw new Error('nothing was due');
  return attempt;
}

describe('accepting lines', () => {
  it('gives a line its reference in the same step, and the first one again when it is sent again', async () => {
    const [first] = await accept([line()]);
    expect(first).toMatchObject({ status: 'accepted', orderId: '1001' });
    const [again] = await accept([line({ metadata: { note: 'x' }, notAfterMs: 5 })]);
    expect(again).toMatchObject({ status: 'known', reference: first?.reference });
    expect(store.read.counts().pending).toBe(1);
  });

  it('refuses other content under a known identity, says what differs, and sends nothing for it', async () => {
    const [first] = await accept([line()]);
    const [conflict] = await accept([line({ quantity: 2, currency: 'EUR' })]);
    expect(conflict).toMatchObject({
      status: 'conflict',
      reference: first?.reference,
      differences: [
        { field: 'quantity', was: 1, is: 2 },
        { field: 'currency', was: 'USD', is: 'EUR' },
      ],
    });
    expect(store.read.counts().pending).toBe(1);
    expect(store.read.attention(10)).toMatchObject([{ kind: 'rejection', orderId: '1001', reason: 'conflict' }]);
  });

  it('counts a line once when its own file is read again after a crash', async () => {
    await store.beginFile({ id: 'F1', name: 'a.csv', sizeBytes: 10, nowMs: 1 });
    await accept([line(), line({ lineId: '2' })], 'F1');
    const again = await store.beginFile({ id: 'F1', name: 'a.csv', sizeBytes: 10, nowMs: 2 });
    expect(again.starts).toBe(2);
    await accept([line(), line({ lineId: '2' }), line({ lineId: '3' })], 'F1');
    const finished = await store.finishFile({ id: 'F1', sha256: 'x', nowMs: 3 });
    expect(finished).toMatchObject({ acceptedCount: 3, knownCount: 0, state: 'ingested' });
  });

  it('writes the result again when the shop sends a settled line again: it may have lost it', async () => {
    await accept([line()]);
    await store.closeAttempt(close(await opened(), fulfilled));
    const [due] = await store.dueDeliveries('folder', 9999, 10);
    await store.closeDelivery({
      requestId: due?.requestId ?? 0,
      sink: 'folder',
      version: due?.version ?? 0,
      nowMs: 3000,
    });
    expect(await store.dueDeliveries('folder', 9999, 10)).toEqual([]);
    await accept([line()], null, 4000);
    const [again] = await store.dueDeliveries('folder', 9999, 10);
    expect(again?.document).toEqual(due?.document);
  });

  it('accepts all of a batch or none of it', async () => {
    await expect(accept([line(), line({ lineId: '2', operation: 'nonsense' as never })])).rejects.toThrow('CHECK');
    expect(store.read.counts().pending).toBe(0);
  });
});

describe('attempts', () => {
  it('are on disk, with the exact request and the slots of the budget, before the call is made', async () => {
    await accept([line()]);
    const attempt = await opened();
    const other = new SqliteDatabase(path, { readonly: true });
    expect(other.prepare('SELECT state, request_body FROM entries').get()).toEqual({
      state: 'sending',
      request_body: attempt.request?.body,
    });
    expect(other.prepare('SELECT count(*) FROM attempts WHERE closed_at_ms IS NULL').pluck().get()).toBe(1);
    expect(other.prepare('SELECT limit_name FROM budget_slots ORDER BY 1').pluck().all()).toEqual([
      'orders',
      'requests',
    ]);
    other.close();
  });

  it('send the same bytes again, whatever the mapping says by then', async () => {
    await accept([line()]);
    const first = await opened();
    await store.closeAttempt(close(first, { ...nothing, nextStep: 'send' }));
    const second = await store.openAttempt(
      claim({ nowMs: 5000, render: () => ({ method: 'PUT', path: '/other', body: 'other' }) }),
    );
    expect(second?.request).toEqual(first.request);
    expect(second?.entry.inDoubt).toBe(true);
  });

  it('are never two at once for one entry, closed twice, changed or deleted', async () => {
    await accept([line()]);
    const attempt = await opened();
    expect(await store.openAttempt(claim())).toBeNull();
    await store.closeAttempt(close(attempt, fulfilled));
    await expect(store.closeAttempt(close(attempt, fulfilled))).rejects.toMatchObject({ code: 'INVARIANT' });
    const raw = new SqliteDatabase(path);
    expect(() => raw.exec("UPDATE attempts SET outcome = 'x'")).toThrow('never changed');
    expect(() => raw.exec('DELETE FROM attempts')).toThrow('append-only');
    expect(() => raw.exec("UPDATE entries SET reference = 'os-another-one'")).toThrow('one purchase');
    expect(() => raw.exec("UPDATE entries SET request_body = 'x'")).toThrow('never changed');
    expect(() => raw.exec('DELETE FROM entries')).toThrow('never deleted');
    raw.close();
  });

  it('leave nothing behind when the step that closes them fails', async () => {
    await accept([line()]);
    const attempt = await opened();
    await expect(store.closeAttempt(close(attempt, { ...fulfilled, state: 'expired' }))).rejects.toMatchObject({
      code: 'INVARIANT',
    });
    expect(store.read.counts().sending).toBe(1);
    await store.closeAttempt(close(attempt, fulfilled));
    expect(store.read.counts().fulfilled).toBe(1);
  });

  it('put an entry whose request cannot be rendered before a person, and go on with the next', async () => {
    await accept([line(), line({ lineId: '2', variant: 'fine' })]);
    const render: AttemptClaim['render'] = (entry) => {
      if (entry.variant !== 'fine') throw new Error('no such field');
      return { method: 'POST', path: '/orders', body: '{}' };
    };
    expect(await store.openAttempt(claim({ render }))).toBeNull();
    expect((await store.openAttempt(claim({ render })))?.entry.variant).toBe('fine');
    expect(store.read.counts()).toMatchObject({ needs_review: 1, sending: 1 });
  });

  it('of an earlier run are found when the worker starts again', async () => {
    await accept([line()]);
    const attempt = await opened();
    await store.close();
    store = openStore(options());
    const next = await store.beginIncarnation({ bootId: 'boot', version: '0', nowMs: 9 });
    expect((await store.openAttemptsOfOthers(next)).map((it) => it.attemptId)).toEqual([attempt.attemptId]);
    expect(await store.openAttemptsOfOthers(incarnationId)).toEqual([]);
  });
});

describe('what is due', () => {
  it('comes in this order: in doubt, waiting, new; and while too much is in doubt, nothing new', async () => {
    await accept([line()]);
    await store.closeAttempt(close(await opened(), { ...nothing, nextStep: 'send' }));
    await accept([line({ lineId: '2' })]);
    await store.closeAttempt(close(await opened(), { ...nothing, state: 'waiting', inDoubt: false }));
    await accept([line({ lineId: '3' })]);
    expect(await store.countInDoubt()).toBe(1);
    const taken = [];
    for (;;) {
      const attempt = await store.openAttempt(claim({ nowMs: 9000, allowNew: taken.length > 0 }));
      if (attempt === null) break;
      taken.push(attempt.entry.state);
    }
    expect(taken).toEqual(['unknown', 'waiting', 'pending']);
    await accept([line({ lineId: '4' })]);
    expect(await store.openAttempt(claim({ nowMs: 9000, allowNew: false }))).toBeNull();
  });

  it('leaves out a balance that stands still, while another one flows', async () => {
    await accept([line(), line({ lineId: '2', currency: 'EUR' })]);
    const attempt = await store.openAttempt(claim({ pausedCurrencies: ['USD'] }));
    expect(attempt?.entry.currency).toBe('EUR');
    expect(await store.openAttempt(claim({ pausedCurrencies: ['USD'] }))).toBeNull();
  });

  it('takes the calls for one eSIM one after another, in the order in which they were asked for', async () => {
    const iccid = '8988211000000000000';
    await accept([
      line({ operation: 'esim_topup', variant: null, plan: 'p', iccid, quantity: null }),
      line({ lineId: '2', operation: 'esim_cancel', variant: null, iccid, quantity: null, currency: null }),
    ]);
    const topup = await opened();
    expect(topup.entry.operation).toBe('esim_topup');
    expect(await store.openAttempt(claim())).toBeNull();
    await store.closeAttempt(close(topup, { ...fulfilled, answer: null }));
    expect((await opened()).entry.operation).toBe('esim_cancel');
  });

  it('ends what passed its deadline without a charge, and tells the shop', async () => {
    await accept([line({ notAfterMs: 1500 })]);
    expect(await store.openAttempt(claim())).toBeNull();
    expect(await store.expireOverdue(2000)).toBe(1);
    const [due] = await store.dueDeliveries('folder', 9999, 10);
    expect(due?.document).toMatchObject({ state: 'failed', lines: [{ state: 'expired' }] });
  });
});

describe('budget slots', () => {
  it('survive a restart: settled ones with their time, open ones as settled by it, foreign ones as fresh', async () => {
    await accept([line(), line({ lineId: '2' })]);
    await store.closeAttempt(close(await opened(), fulfilled));
    await opened();
    const slots = await store.restoreSlots({ settledMono: 7000, bootId: 'boot' });
    expect(slots.map((slot) => [slot.limitName, slot.settledMono])).toEqual([
      ['requests', 1000],
      ['orders', 1000],
      ['requests', 7000],
      ['orders', 7000],
    ]);
    const rebooted = await store.restoreSlots({ settledMono: 50, bootId: 'another boot' });
    expect(rebooted.map((slot) => slot.settledMono)).toEqual([50, 50, 50, 50]);
  });

  it('are free at once when the call never left', async () => {
    await accept([line()]);
    await store.closeAttempt(
      close(
        await opened(),
        { ...nothing, state: 'pending', inDoubt: false, row: 'unreachable' },
        { slotsSettledMono: null },
      ),
    );
    expect(await store.restoreSlots({ settledMono: 1, bootId: 'boot' })).toEqual([]);
  });
});

describe('the result of an order', () => {
  it('is a function of the database alone, marked as made by the sandbox, with what was not accepted', async () => {
    await accept([line()]);
    await store.acceptBatch({
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
    await store.closeAttempt(close(await opened(), fulfilled));
    const [due] = await store.dueDeliveries('folder', 9999, 10);
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
          entries: [{ order_number: 'GC-1', cost: '10.00', units: [{ code: 'SECRET-CODE' }], error: null }],
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

  it('is written once more when it changed while it was being written', async () => {
    await accept([line(), line({ lineId: '2' })]);
    await store.closeAttempt(close(await opened(), fulfilled));
    const [due] = await store.dueDeliveries('folder', 9999, 10);
    await store.closeAttempt(close(await opened(), fulfilled));
    await store.closeDelivery({
      requestId: due?.requestId ?? 0,
      sink: 'folder',
      version: due?.version ?? 0,
      nowMs: 3000,
    });
    const [next] = await store.dueDeliveries('folder', 9999, 10);
    expect(next?.version).toBeGreaterThan(due?.version ?? 0);
  });
});

describe('pauses', () => {
  it('outlive the process, keep their first reason, and stand in the audit log', async () => {
    const pause = {
      scope: 'account',
      reason: 'api_disabled',
      message: 'maintenance',
      openedBy: 'worker',
      probeAtMs: 5000,
    };
    await store.openPause({ ...pause, nowMs: 100 });
    await store.openPause({ ...pause, reason: 'redirect', nowMs: 200 });
    await store.close();
    store = openStore(options());
    expect(await store.pauses()).toMatchObject([{ scope: 'account', reason: 'api_disabled', sinceMs: 100 }]);
    expect(await store.endPause('account', 'anna', 'maintenance is over', 300)).toBe(true);
    const raw = new SqliteDatabase(path, { readonly: true });
    expect(raw.prepare('SELECT actor, action, subject FROM audit_log ORDER BY id').all()).toEqual([
      { actor: 'worker', action: 'pause', subject: 'account' },
      { actor: 'anna', action: 'resume', subject: 'account' },
    ]);
    raw.close();
  });
});
