import { canTransition, type EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { Family } from '../../core/order/operation.ts';
import type { RecentVerdict } from '../../core/decision/consecutive-rejections.ts';
import type { SqliteResults } from '../results/sqlite-results.ts';
import type { AfterLoss } from './after-loss.ts';
import type { SqliteBudget } from './budget.ts';
import { DueEntries } from './due-entries.ts';
import type { EntryChanges } from './entry-changes.ts';
import { SqliteLookupProofs } from './lookup-proofs.ts';
import { readPausedScopes, type PausedScopes } from './paused-scopes.ts';
import type { SqlitePauses } from './pauses.ts';
import { readRecentVerdicts } from './recent-verdicts.ts';
import type { SettlementDelays } from './settlement-delays.ts';
import { entryFrom, type EntryRow } from '../sqlite/rows.ts';
import type { AttemptClaim, AttemptClose, OpenAttempt, RenderedRequest, Submission } from './submission.ts';

interface AttemptRow {
  readonly id: number;
  readonly entry_id: number;
  readonly purpose: 'submit' | 'lookup';
  readonly opened_at_ms: number;
}

/** States in which an entry is looked up. */
const lookedUp: readonly EntryState[] = ['unknown', 'placed'];

/** How many entries one claim moves on that may not be sent again: it must not hold the others up. */
const movedAtOnce = 100;

/** Claiming an entry and opening its attempt; closing the attempt and moving the entry. Append-only. */
export class SqliteSubmission implements Submission {
  readonly budget: SqliteBudget;
  readonly pauses: SqlitePauses;
  readonly lookups: SqliteLookupProofs;
  readonly #database: Sqlite;
  readonly #due: DueEntries;
  readonly #entries: EntryChanges;
  readonly #afterLoss: AfterLoss;
  readonly #settlementDelays: SettlementDelays;
  readonly #results: SqliteResults;
  readonly #statements;

  constructor(
    database: Sqlite,
    parts: {
      budget: SqliteBudget;
      pauses: SqlitePauses;
      entries: EntryChanges;
      afterLoss: AfterLoss;
      settlementDelays: SettlementDelays;
      results: SqliteResults;
    },
  ) {
    this.#database = database;
    this.budget = parts.budget;
    this.pauses = parts.pauses;
    this.lookups = new SqliteLookupProofs(database);
    this.#due = new DueEntries(database);
    this.#entries = parts.entries;
    this.#afterLoss = parts.afterLoss;
    this.#settlementDelays = parts.settlementDelays;
    this.#results = parts.results;
    this.#statements = {
      insert: database.prepare(
        `INSERT INTO attempts (entry_id, number, purpose, key_name, incarnation_id, opened_at_ms)
         VALUES (:entryId, (SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE entry_id = +:entryId), :purpose, :keyName,
                 :incarnationId, :nowMs)`,
      ),
      startSending: database.prepare(
        `UPDATE entries SET state = 'sending', key_name = :keyName, last_sent_at_ms = :nowMs, updated_at_ms = :nowMs,
                            request_method = :method, request_path = :path, request_body = :body
         WHERE id = :id AND state = :from`,
      ),
      close: database.prepare(
        `UPDATE attempts SET closed_at_ms = :nowMs, sent = :sent, outcome = :row, http_status = :http, error_code = :code,
                             error_message = :message, duration_ms = :durationMs
         WHERE id = :attemptId AND entry_id = :entryId AND closed_at_ms IS NULL`,
      ),
      findAttempt: database.prepare<[number], AttemptRow>(
        'SELECT id, entry_id, purpose, opened_at_ms FROM attempts WHERE id = ?',
      ),
      findEntry: database.prepare<[number], EntryRow>('SELECT * FROM entries WHERE id = ?'),
      openOfOthers: database.prepare<[number], AttemptRow>(
        'SELECT id, entry_id, purpose, opened_at_ms FROM attempts WHERE closed_at_ms IS NULL AND incarnation_id <> ? ORDER BY id',
      ),
      knownLimit: database
        .prepare<[string], number>('SELECT known_limit FROM variant_limits WHERE variant = ?')
        .pluck(),
      // An order whose money came back by itself tells nothing about a cancel of its eSIM: it reads the same before and after.
      origin: database
        .prepare<[string], string>(
          "SELECT e.reference FROM esims s JOIN entries e ON e.id = s.entry_id WHERE s.iccid = +? AND e.state = 'fulfilled'",
        )
        .pluck(),
    };
  }

  async openAttempt(claim: AttemptClaim): Promise<OpenAttempt | null> {
    return inTransaction(this.#database, () => {
      const still = readPausedScopes(this.#database);
      if (still.account || still.keys.includes(claim.keyName)) return null;
      const row = claim.step === 'send' ? this.#nextToSend(claim, still) : this.#due.toLookUp(claim.nowMs);
      if (row === null || row === undefined) return null;
      const entry = entryFrom(row, this.#knownLimit(row));
      const purpose = claim.step === 'send' ? 'submit' : 'lookup';
      const request = claim.step === 'send' ? this.#requestOf(row, claim) : null;
      if (request instanceof Error) {
        // A request that cannot be written down is never sent, and must not stop the others.
        this.#entries.putBeforePerson(row, `its request could not be rendered: ${request.message}`, claim.nowMs);
        return null;
      }
      const inserted = this.#statements.insert.run({
        entryId: row.id,
        purpose,
        keyName: claim.keyName,
        incarnationId: claim.incarnationId,
        nowMs: claim.nowMs,
      });
      const attemptId = Number(inserted.lastInsertRowid);
      if (request !== null) this.#startSending(row, request, claim);
      this.budget.takeForAttempt({
        keyName: claim.keyName,
        attemptId,
        spends: purpose === 'submit',
        takenMono: claim.nowMono,
        bootId: claim.bootId,
      });
      const successorReference = entry.recoveryStage === 'replacement' ? this.#entries.successorOf(row) : null;
      const originReference = this.#originOf(row);
      return { attemptId, purpose, openedAtMs: claim.nowMs, entry, request, originReference, successorReference };
    });
  }

  /** The next entry to send. What is in doubt and must not be sent again any more is moved on, a few at a time. */
  #nextToSend(claim: AttemptClaim, still: PausedScopes): EntryRow | null {
    let { allowNew } = claim;
    const stopped = { ...still, operations: [...still.operations, ...(claim.pausedOperations ?? [])] };
    for (let moved = 0; moved < movedAtOnce; moved += 1) {
      const row = this.#due.toSend({ ...claim, allowNew }, stopped);
      if (row === undefined) return null;
      if (row.state !== 'unknown') {
        if (!this.#afterLoss.appliesTo(row)) return row;
        this.#entries.lookUpFirst(row, claim.nowMs);
        // One at a time: each counts as in doubt, and those are limited.
        allowNew = false;
        continue;
      }
      const verdict = claim.judgeResend(entryFrom(row), this.#originOf(row));
      if (verdict.step === 'send') return row;
      if (verdict.step === 'lookup') this.#entries.askFirst(row, claim.nowMs);
      else this.#entries.putBeforePerson(row, verdict.reason, claim.nowMs);
    }
    return null;
  }

  #requestOf(row: EntryRow, claim: AttemptClaim): RenderedRequest | Error {
    // What was sent once is sent again to the byte; only an entry that was never sent is rendered.
    if (row.request_method !== null && row.request_path !== null) {
      return { method: row.request_method, path: row.request_path, body: row.request_body };
    }
    try {
      return claim.render(entryFrom(row));
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #startSending(row: EntryRow, request: RenderedRequest, claim: AttemptClaim): void {
    assert(canTransition(row.state, 'sending'), `${row.reference} may be sent from the state ${row.state}`);
    const { changes } = this.#statements.startSending.run({
      id: row.id,
      from: row.state,
      keyName: claim.keyName,
      nowMs: claim.nowMs,
      method: request.method,
      path: request.path,
      body: request.body,
    });
    assert(changes === 1, `${row.reference} is claimed once`);
  }

  #knownLimit(row: EntryRow): number | null {
    return row.variant === null ? null : (this.#statements.knownLimit.get(row.variant) ?? null);
  }

  #originOf(row: EntryRow): string | null {
    return row.operation === 'esim_cancel' && row.iccid !== null
      ? (this.#statements.origin.get(row.iccid) ?? null)
      : null;
  }

  async closeAttempt(close: AttemptClose): Promise<void> {
    inTransaction(this.#database, () => {
      const attempt = this.#statements.findAttempt.get(close.attemptId);
      assert(
        attempt !== undefined && attempt.entry_id === close.entryId,
        `attempt ${close.attemptId} belongs to its entry`,
      );
      const { changes } = this.#statements.close.run({
        attemptId: close.attemptId,
        entryId: close.entryId,
        nowMs: close.nowMs,
        durationMs: close.durationMs,
        sent: close.outcome.sent ? 1 : 0,
        row: close.outcome.row,
        http: close.outcome.http,
        code: close.outcome.code,
        message: close.outcome.message.slice(0, 500),
      });
      assert(changes === 1, `attempt ${close.attemptId} is closed once`);
      this.budget.settleAttempt(close.attemptId, close.slotsSettledMono, close.bootId);
      if (close.rest) this.budget.rateLimited(close.rest, close);
      if (close.pause !== null) this.pauses.record({ ...close.pause, nowMs: close.nowMs });
      const row = this.#statements.findEntry.get(close.entryId);
      assert(row !== undefined, `entry ${close.entryId} exists`);
      // A person may have held the entry while it was being looked up: what they decided stands.
      if (attempt.purpose === 'lookup' && !lookedUp.includes(row.state)) return;
      this.#entries.settle(row, {
        settlement: close.settlement,
        now: close,
        expected: attempt.purpose === 'submit' ? ['sending'] : lookedUp,
        sentAtMs: attempt.purpose === 'submit' && close.outcome.sent ? attempt.opened_at_ms : null,
      });
    });
  }

  async openAttemptsOfOthers(incarnationId: number): Promise<readonly OpenAttempt[]> {
    return this.#statements.openOfOthers.all(incarnationId).map((attempt) => {
      const row = this.#statements.findEntry.get(attempt.entry_id);
      assert(row !== undefined, `entry ${attempt.entry_id} exists`);
      return {
        attemptId: attempt.id,
        purpose: attempt.purpose,
        openedAtMs: attempt.opened_at_ms,
        entry: entryFrom(row, this.#knownLimit(row)),
        request: null,
        originReference: this.#originOf(row),
        successorReference: null,
      };
    });
  }

  async restartSettlementDelays(restart: { untilMono: number; bootId: string | null }): Promise<void> {
    this.#settlementDelays.restart(restart);
  }

  async nextDueAt(step: 'send' | 'lookup'): Promise<number | null> {
    return this.#due.nextAt(step);
  }

  async expireOverdue(nowMs: number, maxUnknownOutcomes: number): Promise<number> {
    const overdue = this.#due.overdue(nowMs);
    if (overdue.length === 0) return 0;
    return inTransaction(this.#database, () => {
      const unsure = new Set(overdue.filter((row) => this.#afterLoss.appliesTo(row)));
      // Nobody is told "expired" of what an outbox that was lost may have bought in time.
      const room = Math.max(0, maxUnknownOutcomes - this.#due.countUnknownOutcomes());
      for (const row of [...unsure].slice(0, room)) this.#entries.lookUpFirst(row, nowMs);
      const ended = overdue.filter((row) => !unsure.has(row));
      for (const row of ended) this.#entries.endOverdue(row, nowMs);
      return ended.length;
    });
  }

  async bringForward(at: { nowMs: number; furthestMs: number }): Promise<number> {
    return inTransaction(
      this.#database,
      () => this.#due.bringForward(at) + this.pauses.bringForward(at) + this.#results.bringForward(at.nowMs),
    );
  }

  async countUnknownOutcomes(): Promise<number> {
    return this.#due.countUnknownOutcomes();
  }

  async recentVerdicts(family: Family): Promise<readonly RecentVerdict[]> {
    return readRecentVerdicts(this.#database, family);
  }
}
