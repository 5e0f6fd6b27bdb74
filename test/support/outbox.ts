import { stepsOf } from './steps.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import type { OrderAnswer } from '../../src/core/answers/order-answer.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { SealKey } from '../../src/core/sealing/seal-keys.ts';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import type { ResendRules } from '../../src/buying/queue/choose.ts';
import type { RecheckRule } from '../../src/store/entries/rechecks.ts';
import type { ResultSink } from '../../src/store/sqlite/outbox.ts';
import { openStore } from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import type { AttemptClose } from '../../src/buying/commit-sql.ts';
import type { AttemptClaim, OpenAttempt } from '../../src/buying/queue/claim-sql.ts';
import { writeNewDatabase } from './new-database.ts';

/** A store on a real file, with the steps that most tests need. */
export class Outbox {
  readonly path: string;
  readonly #folder: string;
  readonly #sinks: readonly ResultSink[];
  /** The keys of the next opening. */
  sealKeys: readonly SealKey[] = [];
  readonly #minFreeBytes: () => number;
  store: Store;
  #reader: SqliteDatabase.Database | null = null;

  private constructor(sinks: readonly ResultSink[], minFreeBytes: () => number) {
    this.#sinks = sinks;
    this.#minFreeBytes = minFreeBytes;
    this.#folder = mkdtempSync(join(tmpdir(), 'order-sync-outbox-'));
    this.path = join(this.#folder, 'order-sync.db');
    writeNewDatabase(this.path);
    this.store = this.#open();
  }

  static async open(
    sinks: readonly ResultSink[] = [{ name: 'folder', sources: null }],
    minFreeBytes = () => 0,
  ): Promise<Outbox> {
    const outbox = new Outbox(sinks, minFreeBytes);
    return outbox;
  }

  #open(): Store {
    return openStore({
      path: this.path,
      init: 'if-missing',
      namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
      upstream: 'sandbox',
      sinks: this.#sinks,
      sealKeys: this.sealKeys,
      minFreeBytes: this.#minFreeBytes,
    });
  }

  async reopen(sealKeys = this.sealKeys): Promise<void> {
    this.sealKeys = sealKeys;
    this.#closeReader();
    await this.store.close();
    this.store = this.#open();
  }

  async close(): Promise<void> {
    this.#closeReader();
    await this.store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  accept(lines: ReturnType<typeof line>[], fileId: string | null = null, nowMs = 1000) {
    return this.store.intake.acceptBatch({ nowMs, fileId, lines, rejections: [] });
  }

  /** Both clocks show this time from now on. */
  setTime(nowMs: number): void {
    const time = () => nowMs;
    this.store.outbox.clock = { wallMs: time, steadyMs: time, mark: () => null };
  }

  claim(changes: Partial<AttemptClaim> = {}): AttemptClaim {
    const render: AttemptClaim['render'] = ({ reference }) => ({
      ...usualClaim.render(),
      body: JSON.stringify({ reference }),
    });
    const nowMs = changes.nowMs ?? 2000;
    return { ...usualClaim, render, nowMs, steadyMs: nowMs, latestMs: nowMs, ...changes };
  }

  auditLog(): readonly Record<string, unknown>[] {
    return this.rows('SELECT * FROM audit_log');
  }

  /** The sources that have a call in flight. */
  sendingSources(): readonly string[] {
    const sql = "SELECT source FROM outbox WHERE state = 'sending'";
    return this.rows(sql).map(({ source }) => String(source));
  }

  /**
   * What is committed, read by a connection of its own: a new one for each question would read the
   * whole schema again.
   */
  rows<Row = Record<string, unknown>>(sql: string): Row[] {
    this.#reader ??= new SqliteDatabase(this.path, { readonly: true });
    return this.#reader.prepare<[], Row>(sql).all();
  }

  #closeReader(): void {
    this.#reader?.close();
    this.#reader = null;
  }

  async opened(changes: Partial<AttemptClaim> = {}): Promise<OpenAttempt> {
    const attempt = await stepsOf(this.store).openAttempt(this.claim(changes));
    if (attempt === null) throw new Error('nothing was due');
    return attempt;
  }
}

/**
 * What is of unknown outcome is sent again; looked up where its scope is paused, or a lost outbox
 * may have sent it.
 */
export const resendAgain: ResendRules = {
  referenceExpiryMs: Number.POSITIVE_INFINITY,
  canLookUp: () => true,
  lookupsProven: () => true,
};

/** A claim without its times: all products were bought, and none failed. */
export const usualClaim = {
  step: 'send',
  keyName: 'main',
  maxUnknownOutcomes: 1000,
  products: { isProven: () => true, isFailing: () => false, manyFail: () => false },
  trials: [],
  spendLimits: [],
  render: () => ({ method: 'POST', path: '/orders', body: '{}' }),
  resend: resendAgain,
  maxAgeMs: () => null,
  onSetAside: () => undefined,
} as const;

/** Has a claim follow a rule about orders that are to be read again. */
export const rechecking = (rule: RecheckRule): Pick<AttemptClaim, 'maxAgeMs' | 'onSetAside'> => ({
  maxAgeMs: rule.maxAgeMs,
  onSetAside: (aside) => {
    for (const { step } of aside) if (step.step === 'recheck') rule.onDelayed(step.source);
  },
});

export function line(
  changes: Partial<AcceptableLine> = {},
): AcceptableLine & { lineNumber: number | null } {
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

export const nothing: Settlement = {
  state: 'unknown',
  nextStep: 'lookup',
  dueAtMs: 3000,
  outcomeUnknown: true,
  inFlightWindowEndMs: 120_000,
  askedAfterLoss: null,
  absences: 0,
  tries: 1,
  counted: true,
  row: 'dropped',
  error: { code: 'dropped', message: 'other side closed', buffered: false },
  reviewReason: null,
  answer: null,
  pause: null,
  replacements: [],
};

/** Refused for want of money: nothing was charged, and it is sent again later. */
export const emptyBalance: Settlement = {
  ...nothing,
  state: 'waiting',
  nextStep: 'send',
  outcomeUnknown: false,
  inFlightWindowEndMs: null,
  row: 'insufficient_balance',
  error: { code: 'insufficient_balance', message: 'no money', buffered: false },
};

export const answer: OrderAnswer = {
  orderNumber: 'GC-1',
  reference: null,
  status: 'completed',
  statusClass: 'done',
  cost: '10.00',
  currency: 'USD',
  units: [{ code: 'SECRET-CODE' }],
};

export const fulfilled: Settlement = {
  ...nothing,
  state: 'fulfilled',
  nextStep: 'send',
  outcomeUnknown: false,
  inFlightWindowEndMs: null,
  row: 'accepted',
  error: null,
  answer,
};

/**
 * What another entry already has is not delivered: each entry but the first has a number and a code
 * of its own.
 */
export function ownAnswer(settlement: Settlement, id: number): Settlement {
  const shown = settlement.answer;
  if (shown?.orderNumber !== answer.orderNumber || id === 1) return settlement;
  const units = shown.units === answer.units ? [{ code: `SECRET-CODE-${1000 + id}` }] : shown.units;
  return { ...settlement, answer: { ...shown, orderNumber: `GC-${id}`, units } };
}

export function close(
  attempt: OpenAttempt,
  settlement: Settlement,
  changes: Partial<AttemptClose> = {},
): AttemptClose {
  return {
    attemptId: attempt.attemptId,
    entryId: attempt.entry.id,
    nowMs: 2500,
    steadyMs: changes.nowMs ?? 2500,
    durationMs: 500,
    outcome: { row: settlement.row, sent: true, http: 200, code: null, message: '' },
    settlement: ownAnswer(settlement, attempt.entry.id),
    slotsSettledMs: 1000,
    pause: null,
    ...changes,
  };
}

/** Closes an attempt by a rejection, which a lookup then confirms. */
export async function closeConfirmed(
  outbox: Outbox,
  attempt: OpenAttempt,
  settlement: Settlement,
  nowMs = 2500,
  steadyMs = nowMs,
): Promise<void> {
  const error = settlement.error && { ...settlement.error, buffered: true };
  const asking = {
    ...settlement,
    state: 'unknown',
    nextStep: 'lookup',
    dueAtMs: 0,
    error,
  } as const;
  await stepsOf(outbox.store).closeAttempt(close(attempt, asking, { nowMs }));
  const lookup = await outbox.opened({ step: 'lookup', nowMs, steadyMs });
  await stepsOf(outbox.store).closeAttempt(close(lookup, settlement, { nowMs }));
}
