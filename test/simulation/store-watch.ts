import type { Database } from 'better-sqlite3';
import { isReplacementSought } from '../../src/core/entry/after-loss.ts';
import {
  familyOf,
  lookedUpKinds,
  type LookedUp,
  type Operation,
} from '../../src/core/order/purchase.ts';
import type { Store } from '../../src/store/store.ts';
import type { AttemptClose } from '../../src/buying/commit-sql.ts';
import type { OpenAttempt } from '../../src/buying/queue/claim-sql.ts';
import type { ApiCall } from './api-call.ts';
import type { Coverage } from './coverage.ts';
import { EvidenceWatch } from './evidence-watch.ts';
import { ExposureWatch } from './exposure-watch.ts';
import { wrappedStore } from '../support/wrapped-store.ts';
import type { SimDisk } from './sim-disk.ts';
import type { SimProcess } from './sim-process.ts';
import { withFault, type SqliteFault } from './sqlite-tap.ts';
import type { SpendWatch } from './spend-watch.ts';
import type { Invariant } from './invariants.ts';

/** The legal transitions, written down a second time: the program's own table is not used. */
const legal: Readonly<Record<string, string>> = {
  pending: 'sending unknown held cancelled expired needs_review',
  sending: 'pending waiting unknown placed fulfilled refunded rejected needs_review',
  waiting: 'sending unknown held rejected cancelled needs_review',
  unknown: 'sending waiting placed fulfilled refunded rejected expired needs_review held cancelled',
  placed: 'fulfilled refunded needs_review held',
  // Its balance has a turn again.
  rejected: 'waiting',
  needs_review: 'unknown waiting placed fulfilled refunded rejected cancelled',
  held: 'pending waiting unknown placed cancelled needs_review',
};

/**
 * Calls that change nothing: to crash at one of them is the same as to crash at the port call
 * before it.
 */
const reads = new Set([
  'buying.nextDueAt',
  'buying.showUnproven',
  'results.nextDeliveryAt',
  'buying.countUnknownOutcomes',
  'results.dueDeliveries',
  'pauses.all',
  'buying.attemptsLeftOpen',
  'buying.expireOverdue',
  'buying.releaseWithinLimits',
  'results.retireSinks',
  'buying.lookups.proven',
  'buying.lookups.boughtReference',
  'buying.recentVerdicts',
  'continueTime',
  'writeTime',
  'progress',
  'buying.hasAccepted',
  'intake.files.find',
  'intake.files.rejections',
  'storefronts.connectedAt',
  'storefronts.unknownSkus',
  'storefronts.lostSkus',
  'storefronts.mappedBefore',
  'storefronts.seenOrder',
  'storefronts.sitesOf',
]);
const changesEntries = new Set([
  'intake.acceptBatch',
  'intake.acceptRequests',
  'intake.cancelUnsent',
  'storefronts.takeOrder',
  'buying.openAttempt',
  'buying.closeAttempt',
  'buying.expireOverdue',
  'buying.releaseWithinLimits',
  'operator.actOnEntry',
]);

const takesIn = new Set([...changesEntries].filter((name) => /^(intake|storefronts)\./.test(name)));

/** The kind whose lookup is recorded as proven; null for another call. */
function kindOf(value: unknown): LookedUp | null {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : null;
  return lookedUpKinds.find((one) => one === kind) ?? null;
}

/** Makes every call of the real store a port call, and checks what it did. */
export class StoreWatch {
  readonly #disk: SimDisk;
  readonly #coverage: Coverage;
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  readonly #trace: (what: string) => void;
  readonly #unknownLimit: () => number;
  readonly #touched: () => number;
  readonly #freeBytes: () => number;
  /**
   * A call that was in flight when its process died may have been processed, even if it never left.
   */
  readonly #onCrashedCall: (subject: string) => void;
  /**
   * A 404 came before any call of its kind was accepted: it may say that the path is wrong, so a
   * person decides.
   */
  readonly #onUnprovenPath: (subject: string) => void;
  readonly #onFulfilled: (operation: Operation, product: string | null) => void;
  readonly #onUnreachable: () => void;
  readonly #onIntake: () => void;
  #isUnreachable = false;
  /** What SQLite does to this call of the store; null for nothing. */
  readonly #faultOf: (process: SimProcess, name: string) => SqliteFault | null;
  readonly #onFault: (process: SimProcess, name: string) => void;
  readonly exposure: ExposureWatch;
  readonly #evidence: EvidenceWatch;
  readonly #spending: SpendWatch;
  readonly #states = new Map<string, string>();
  /**
   * The outbox whose states were read last, how often its rows had changed by then, and how many
   * outcomes were unknown.
   */
  #seen: {
    readonly connection: Database;
    readonly changes: number;
    readonly unknown: number;
  } | null = null;
  /** Entries of unknown outcome that were held, and whose hold their shop or an operator ended. */
  readonly #released = new Set<string>();
  readonly #open = new Map<number, OpenAttempt>();
  /** Attempts before which a call of their kind was accepted. */
  readonly #onProvenPath = new Set<number>();
  /** The states of its entries were not seen before. */
  #isOtherOutbox = false;
  /** Something changed since the last check, so everything may be done now. */
  changed = true;
  readonly #tries = new Map<string, number>();

  constructor(options: {
    disk: SimDisk;
    coverage: Coverage;
    violate: (invariant: Invariant, sentence: string) => void;
    trace: (what: string) => void;
    unknownLimit: () => number;
    mostCalls: () => number;
    freeBytes: () => number;
    onCrashedCall: (subject: string) => void;
    onUnprovenPath: (subject: string) => void;
    onFulfilled: (operation: Operation, product: string | null) => void;
    /** The account was paused because the API does not answer. */
    onUnreachable: () => void;
    /** Orders came in, perhaps once more: then their results are due again. */
    onIntake: () => void;
    touched: ReadonlySet<string>;
    faultOf: (process: SimProcess, name: string) => SqliteFault | null;
    onFault: (process: SimProcess, name: string) => void;
    spending: SpendWatch;
  }) {
    this.#spending = options.spending;
    this.#disk = options.disk;
    this.#coverage = options.coverage;
    this.#violate = options.violate;
    this.#trace = options.trace;
    this.#unknownLimit = options.unknownLimit;
    this.#freeBytes = options.freeBytes;
    this.#onCrashedCall = options.onCrashedCall;
    this.#onUnprovenPath = options.onUnprovenPath;
    this.#onFulfilled = options.onFulfilled;
    this.#onUnreachable = options.onUnreachable;
    this.#onIntake = options.onIntake;
    const { violate, touched, unknownLimit } = options;
    this.#touched = () => touched.size;
    this.exposure = new ExposureWatch({
      violate,
      isTouched: (it) => touched.has(it),
      totalLimit: unknownLimit,
      mostCalls: options.mostCalls,
    });
    this.#evidence = new EvidenceWatch({ violate, isTouched: (it) => touched.has(it) });
    this.#faultOf = options.faultOf;
    this.#onFault = options.onFault;
  }

  wrap(store: Store, process: SimProcess, onRecorded: (kind: LookedUp | null) => void): Store {
    return wrappedStore(store, (name, step) => {
      if (name === 'close') return step;
      if (name === 'freeBytes') return () => process.whileAlive(() => this.#freeBytes());
      const records = name === 'buying.closeAttempt' || name === 'buying.lookups.prove';
      const call = (values: readonly unknown[]): unknown => {
        const fault = this.#faultOf(process, name);
        if (fault === null) return step(...values);
        const { result, struck } = withFault<unknown>(fault, () => step(...values));
        if (struck) {
          this.#onFault(process, name);
          // It is on the disk, although the worker believes that it failed: the next step begins
          // from there.
          if (fault.where === 'commit') {
            if (records) onRecorded(kindOf(values[0]));
            if (name === 'buying.closeAttempt' && isClose(values[0])) this.#closed(values[0]);
            if (changesEntries.has(name)) this.#entriesChanged();
          }
        }
        return result;
      };
      if (reads.has(name)) {
        return async (...values) => {
          const result: unknown = await process.whileAlive(() => call(values));
          if (process.alive) this.#look(name, values[0], result);
          // Where they do change something, that is a place to die at.
          if (changesEntries.has(name) && result !== 0)
            await process.port(`store.${name}`, () => undefined);
          return result;
        };
      }
      return (...values) =>
        process.port(`store.${name}`, async () => {
          const result: unknown = await call(values);
          // Another call of the process may have been its last in the meantime.
          if (!process.alive) return result;
          this.#look(name, values[0], result);
          if (records) onRecorded(kindOf(values[0]));
          return result;
        });
    });
  }

  /** Whether the open attempt for this call, and its exact bytes, are committed. */
  isOnDisk(subject: string, call: ApiCall): boolean {
    const { connection } = this.#disk;
    const found = connection
      .prepare<[string, string], { body: string | null; path: string; state: string }>(
        `SELECT e.request_body AS body, e.request_path AS path, e.state FROM entries e JOIN attempts a ON a.entry_id = e.id
         WHERE (e.reference = ? OR 'cancel:' || e.iccid = ?) AND a.closed_at_ms IS NULL AND a.purpose = 'submit'`,
      )
      .get(subject, subject);
    if (connection.inTransaction || found === undefined) return false;
    return found.state === 'sending' && found.body === call.body && found.path === call.path;
  }

  #look(name: string, argument: unknown, result: unknown): void {
    if (name === 'buying.openAttempt' && isOpenAttempt(result)) {
      this.#open.set(result.attemptId, result);
      // Another outbox counts its attempts anew.
      if (this.#hasAccepted(result.entry.operation)) this.#onProvenPath.add(result.attemptId);
      else this.#onProvenPath.delete(result.attemptId);
      this.exposure.opened(result, this.#disk.connection);
      this.#evidence.opened(result, this.#disk.connection);
      this.#spending.claimed(result);
      this.#trace(
        `open attempt ${result.attemptId} ${result.purpose} ${result.entry.operation} ${result.entry.reference}`,
      );
    }
    if (name === 'buying.attemptsLeftOpen' && Array.isArray(result)) {
      this.#evidence.restarted();
      for (const attempt of result)
        if (isOpenAttempt(attempt)) this.#open.set(attempt.attemptId, attempt);
    }
    if (name === 'buying.closeAttempt' && isClose(argument)) this.#closed(argument);
    const proven = name === 'buying.lookups.prove' ? kindOf(argument) : null;
    if (proven !== null) this.#evidence.proved(proven);
    if (name === 'buying.releaseWithinLimits' && result !== 0)
      this.#coverage.hit('released within limits');
    if (takesIn.has(name)) this.#onIntake();
    if (name === 'results.closeDelivery' || name === 'results.giveUpDelivery') this.changed = true;
    if (name === 'results.failDelivery' && isFailedTry(argument)) this.#countTry(argument);
    if (changesEntries.has(name) && result !== 0) this.#entriesChanged();
  }

  /**
   * How many tries of a delivery failed: some fail without a call, while an earlier one may still
   * be processed.
   */
  triesOf(requestId: number, sink: string): number {
    return this.#tries.get(`${requestId} ${sink}`) ?? 0;
  }

  #countTry({ requestId, sink }: FailedTry): void {
    this.#tries.set(`${requestId} ${sink}`, this.triesOf(requestId, sink) + 1);
  }

  #entriesChanged(): void {
    this.changed = true;
    this.#checkStates();
  }

  /** Checks what the last transaction of a dying process changed. */
  lookAtTheEnd(): void {
    if (this.#disk.isOpen) this.#checkStates();
  }

  /**
   * The subjects of the spending calls that are open on disk: the process may have died before it
   * knew that one closed.
   */
  openSubjects(): readonly string[] {
    const sql = 'SELECT id FROM attempts WHERE closed_at_ms IS NULL';
    const open = this.#disk.isOpen
      ? this.#disk.connection.prepare<[], number>(sql).pluck().all()
      : null;
    return [...this.#open.values()]
      .filter(
        ({ attemptId, purpose }) => purpose === 'submit' && (open?.includes(attemptId) ?? true),
      )
      .map(subjectOfEntry);
  }

  /** A process is gone: the next one finds the attempts that it left open. */
  forgetOpen(): void {
    this.#open.clear();
  }

  /** The outbox is an older copy: its entries have the states of then. */
  forgetSinceCopy(): void {
    this.#open.clear();
    this.#states.clear();
    this.#seen = null;
    this.#evidence.forget();
    this.#isOtherOutbox = true;
  }

  /** The outbox is a new one: its entries have no earlier states. */
  forgetAll(): void {
    this.#open.clear();
    this.#states.clear();
    this.#seen = null;
    this.exposure.forget();
    this.#evidence.forget();
  }

  #closed(close: AttemptClose): void {
    const { outcome, settlement } = close;
    const attempt = this.#open.get(close.attemptId);
    this.#open.delete(close.attemptId);
    this.#spending.closed(close.entryId, this.#disk.connection);
    const operation = attempt?.entry.operation === 'esim_cancel' ? 'cancel' : 'buy';
    if (outcome.row === 'crashed' && !outcome.sent)
      this.#violate(
        'I36',
        `attempt ${close.attemptId} was open when the worker died, and is recorded as never sent`,
      );
    if (outcome.code === 'not_found' && attempt?.purpose === 'submit')
      this.#checkNotFound(attempt, settlement.state);
    this.#lookForPause();
    this.#evidence.closed(close, attempt?.purpose ?? null, this.#disk.connection);
    if (outcome.row === 'crashed' && attempt?.purpose === 'submit')
      this.#onCrashedCall(subjectOfEntry(attempt));
    const history = attempt?.entry.outcomeUnknown === true ? 'unknown' : 'clean';
    if (attempt?.purpose === 'submit')
      this.#coverage.hit(`cell ${outcome.row} ${operation} ${history}`);
    else this.#coverage.hit(`lookup ${outcome.row} ${operation} ${attempt?.entry.state}`);
    if (attempt?.entry.errorBuffered === true && !attempt.entry.outcomeUnknown)
      this.#coverage.hit(`refusal looked up: ${outcome.row} ${operation} -> ${settlement.state}`);
    if (attempt !== undefined) this.#coveredOfLoss(attempt.entry, close);
    if (settlement.row === 'out_of_stock' && settlement.replacements.length > 0)
      this.#coverage.hit('fewer ordered');
    this.#coverage.hit(`to ${settlement.state}`);
    if (attempt !== undefined && (outcome.row === 'accepted' || settlement.row === 'accepted'))
      this.exposure.accepted(attempt.entry.variant ?? attempt.entry.plan);
    const isFulfilled = attempt !== undefined && this.#isFulfilled(attempt.entry.reference);
    if (
      settlement.state === 'fulfilled' &&
      isFulfilled &&
      attempt.entry.operation !== 'esim_cancel'
    ) {
      this.exposure.delivered(familyOf(attempt.entry.operation));
      this.#onFulfilled(attempt.entry.operation, attempt.entry.variant ?? attempt.entry.plan);
    }
    this.#trace(
      `close attempt ${close.attemptId} ${outcome.row} -> ${settlement.state}${settlement.outcomeUnknown ? ' outcome unknown' : ''}` +
        ` ${settlement.nextStep}${settlement.reviewReason === null ? '' : ` (${settlement.reviewReason})`}`,
    );
  }

  /** As it is on disk: an order that shows the number of another one needs review instead. */
  #isFulfilled(reference: string): boolean {
    const sql = "SELECT count(*) FROM entries WHERE reference = ? AND state = 'fulfilled'";
    return (this.#disk.connection.prepare<[string], number>(sql).pluck().get(reference) ?? 0) > 0;
  }

  /** By the attempts on disk; the simulated API has one path for each operation. */
  #hasAccepted(operation: Operation): boolean {
    const sql = `SELECT count(*) FROM attempts a JOIN entries e ON e.id = a.entry_id
      WHERE a.purpose = 'submit' AND a.outcome = 'accepted' AND e.operation = ?`;
    return (
      (this.#disk.connection.prepare<[Operation], number>(sql).pluck().get(operation) ?? 0) > 0
    );
  }

  #checkNotFound(attempt: OpenAttempt, state: string): void {
    const { operation, reference } = attempt.entry;
    if (!this.#onProvenPath.delete(attempt.attemptId))
      this.#onUnprovenPath(subjectOfEntry(attempt));
    if (state === 'rejected' && !this.#hasAccepted(operation))
      this.#violate(
        'I4',
        `${reference} is rejected by a 404, and no ${operation} was ever accepted`,
      );
  }

  /** Whether the call that was just closed has paused the account as unreachable. */
  #lookForPause(): void {
    const sql = `SELECT count(*) FROM pauses WHERE scope = 'account' AND reason = 'api_unreachable'`;
    const isUnreachable = this.#disk.connection.prepare<[], number>(sql).pluck().get() === 1;
    if (isUnreachable && !this.#isUnreachable) this.#onUnreachable();
    this.#isUnreachable = isUnreachable;
  }

  /**
   * Counts what an outbox that replaced a lost one found out about entries that it had not sent.
   */
  #coveredOfLoss(entry: OpenAttempt['entry'], { outcome, settlement }: AttemptClose): void {
    if (entry.askedAfterLoss === null) return;
    const asked = isReplacementSought(entry) ? 'replacement' : 'itself';
    const what = entry.askedAfterLoss === 1 ? 'asked' : asked;
    this.#coverage.hit(`after loss ${what} ${outcome.row} -> ${settlement.state}`);
  }

  #checkStates(): void {
    const { connection } = this.#disk;
    const changes = connection.prepare<[], number>('SELECT total_changes()').pluck().get() ?? 0;
    const isSeen =
      this.#seen?.connection === connection &&
      this.#seen.changes === changes &&
      !this.#isOtherOutbox;
    const unknown = isSeen ? (this.#seen?.unknown ?? 0) : this.#checkEach(connection);
    this.#seen = { connection, changes, unknown };
    // An entry that the operator retries, or that is not held any more, can have an unknown
    // outcome, too.
    const limit = this.#unknownLimit() + this.#touched() + this.#released.size;
    if (unknown > limit)
      this.#violate('I13', `the outcome of ${unknown} entries is unknown, the limit is ${limit}`);
  }

  /** Checks how the state of each entry changed. Returns how many have an unknown outcome. */
  #checkEach(connection: Database): number {
    const rows = connection
      .prepare<[], { reference: string; state: string; isUnknown: number }>(
        "SELECT reference, state, state = 'unknown' AND outcome_unknown = 1 AS isUnknown FROM entries",
      )
      .all();
    let unknown = 0;
    for (const { reference, state, isUnknown } of rows) {
      const before = this.#states.get(reference) ?? 'pending';
      unknown += isUnknown;
      if (before === state) continue;
      if (this.#isOtherOutbox) {
        this.#states.set(reference, state);
        continue;
      }
      if (!(legal[before] ?? '').split(' ').includes(state))
        this.#violate('I15', `${reference} went from ${before} to ${state}`);
      if (before === 'held' && state === 'unknown') this.#released.add(reference);
      else if (state !== 'unknown' && state !== 'sending') this.#released.delete(reference);
      this.#states.set(reference, state);
    }
    this.#isOtherOutbox = false;
    return unknown;
  }
}

function subjectOfEntry({ entry }: OpenAttempt): string {
  return entry.operation === 'esim_cancel' ? `cancel:${entry.iccid}` : entry.reference;
}

function isOpenAttempt(value: unknown): value is OpenAttempt {
  return typeof value === 'object' && value !== null && 'attemptId' in value && 'entry' in value;
}

interface FailedTry {
  readonly requestId: number;
  readonly sink: string;
}

/** A failed delivery that counts as a try. */
function isFailedTry(value: unknown): value is FailedTry {
  if (typeof value !== 'object' || value === null || !('requestId' in value)) return false;
  return !('countsTry' in value) || value.countsTry !== false;
}

function isClose(value: unknown): value is AttemptClose {
  return typeof value === 'object' && value !== null && 'settlement' in value && 'outcome' in value;
}
