import { canTransition, type EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';
import type { Rechecks } from '../storefronts/rechecks.ts';
import type { ShopHolds } from '../storefronts/shop-holds.ts';
import { inTransaction, longestText, type Sqlite } from '../sqlite/database.ts';
import { entryFrom, type EntryRow } from '../sqlite/rows.ts';
import type { AfterLoss } from './after-loss.ts';
import type { SqliteBudget } from './budget.ts';
import type { ConnectorCanary } from './connector-canary.ts';
import { DueEntries } from './due-entries.ts';
import type { EntryChanges } from './entry-changes.ts';
import { originOf } from './esim-origins.ts';
import { SqliteLookupProofs } from './lookup-proofs.ts';
import { NextToSend, notHeldUp, trialOf } from './next-to-send.ts';
import { readExposure } from './open-calls.ts';
import { readPausedScopes } from './paused-scopes.ts';
import type { SqlitePauses } from './pauses.ts';
import { ProductCosts } from './product-costs.ts';
import { ScopeEvidence } from './scope-evidence.ts';
import type { Replacements } from './replacements.ts';
import type { SettlementDelays } from './settlement-delays.ts';
import { readOldestUnsent } from './unsent-entries.ts';
import type { AttemptClaim, AttemptClose, Entry, OpenAttempt, RenderedRequest, Submission } from './submission.ts';

interface AttemptRow {
  readonly id: number;
  readonly entry_id: number;
  readonly purpose: 'submit' | 'lookup';
  readonly opened_at_ms: number;
}

/** States in which an entry is looked up. */
const lookedUp: readonly EntryState[] = ['unknown', 'placed'];

/** Claims entries and opens their attempts; closes the attempts and settles their entries. */
export class SqliteSubmission implements Submission {
  readonly budget: SqliteBudget;
  readonly pauses: SqlitePauses;
  readonly lookups: SqliteLookupProofs;
  readonly #database: Sqlite;
  readonly #due: DueEntries;
  readonly #entries: EntryChanges;
  readonly #replacements: Replacements;
  readonly #afterLoss: AfterLoss;
  readonly #settlementDelays: SettlementDelays;
  readonly #canary: ConnectorCanary;
  readonly #evidence: ScopeEvidence;
  readonly #costs: ProductCosts;
  readonly #next: NextToSend;
  readonly #units: SealedUnits;
  readonly #statements;

  constructor(
    database: Sqlite,
    parts: {
      budget: SqliteBudget;
      pauses: SqlitePauses;
      entries: EntryChanges;
      replacements: Replacements;
      afterLoss: AfterLoss;
      settlementDelays: SettlementDelays;
      canary: ConnectorCanary;
      shopHolds: ShopHolds;
      rechecks: Rechecks;
      units: SealedUnits;
    },
  ) {
    this.#database = database;
    this.#units = parts.units;
    this.budget = parts.budget;
    this.pauses = parts.pauses;
    this.lookups = new SqliteLookupProofs(database);
    this.#due = new DueEntries(database);
    this.#entries = parts.entries;
    this.#replacements = parts.replacements;
    this.#afterLoss = parts.afterLoss;
    this.#settlementDelays = parts.settlementDelays;
    this.#canary = parts.canary;
    this.#evidence = new ScopeEvidence(database, parts.pauses);
    this.#costs = new ProductCosts(database);
    const own = { due: this.#due, evidence: this.#evidence, costs: this.#costs };
    this.#next = new NextToSend(database, { ...parts, ...own, entryOf: (row) => this.#entryOf(row) });
    this.#statements = {
      insert: database.prepare(
        `INSERT INTO attempts (entry_id, number, purpose, key_name, incarnation_id, opened_at_ms)
         VALUES (:entryId, (SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE entry_id = +:entryId), :purpose, :keyName,
                 :incarnationId, :nowMs)`,
      ),
      startSending: database.prepare(
        `UPDATE entries SET state = 'sending', key_name = :keyName, last_sent_at_ms = :nowMs, updated_at_ms = :nowMs,
                            due_before_recheck_ms = NULL, request_method = :method, request_path = :path, request_body = :body
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
        // By the index of the open ones, which are few: to have them in order, SQLite would read all.
        'SELECT id, entry_id, purpose, opened_at_ms FROM attempts INDEXED BY attempts_open WHERE closed_at_ms IS NULL AND incarnation_id <> ? ORDER BY id',
      ),
      knownLimit: database
        .prepare<[string], number>('SELECT known_limit FROM variant_limits WHERE variant = ?')
        .pluck(),
    };
  }

  async openAttempt(claim: AttemptClaim): Promise<OpenAttempt | null> {
    return inTransaction(this.#database, () => {
      const paused = readPausedScopes(this.#database, notHeldUp(this.#database, claim));
      if (paused.account || paused.keys.includes(claim.keyName)) return null;
      const isSend = claim.step === 'send';
      const row = isSend ? this.#next.find(claim, paused) : this.#due.toLookUp(claim.nowMs);
      if (row === null) return null;
      const entry = this.#entryOf(row);
      const request = isSend ? requestOf(row, entry, claim) : null;
      if (request instanceof Error) {
        // An entry whose request cannot be rendered is never sent, and must not stop the others.
        this.#entries.flagForReview(row, `its request could not be rendered: ${request.message}`, claim.nowMs);
        return null;
      }
      const purpose = isSend ? 'submit' : 'lookup';
      const { keyName, incarnationId, nowMs, nowMono, bootId } = claim;
      const inserted = this.#statements.insert.run({ entryId: row.id, purpose, keyName, incarnationId, nowMs });
      const attemptId = Number(inserted.lastInsertRowid);
      if (request !== null) this.#startSending(row, request, claim);
      this.budget.takeForAttempt({ keyName, attemptId, spends: isSend, takenMono: nowMono, bootId });
      const isReplacement = entry.recoveryStage === 'replacement';
      return {
        attemptId,
        purpose,
        openedAtMs: nowMs,
        openedMono: nowMono,
        entry,
        request,
        originReference: originOf(this.#database, row),
        successorReference: isReplacement ? this.#replacements.firstReferenceOf(row) : null,
        trialOf: trialOf(row, claim),
      };
    });
  }

  #startSending(row: EntryRow, request: RenderedRequest, { keyName, nowMs }: AttemptClaim): void {
    assert(canTransition(row.state, 'sending'), `${row.reference} may be sent from the state ${row.state}`);
    const { changes } = this.#statements.startSending.run({ ...request, id: row.id, from: row.state, keyName, nowMs });
    assert(changes === 1, `${row.reference} is claimed once`);
  }

  #entryOf(row: EntryRow): Entry {
    const knownLimit = row.variant === null ? null : (this.#statements.knownLimit.get(row.variant) ?? null);
    return entryFrom(row, this.#units.known(row), knownLimit);
  }

  async closeAttempt(close: AttemptClose): Promise<{ pausesChanged: boolean }> {
    const { attemptId, entryId, nowMs, durationMs, outcome, settlement } = close;
    return inTransaction(this.#database, () => {
      const attempt = this.#statements.findAttempt.get(attemptId);
      assert(attempt !== undefined && attempt.entry_id === entryId, `attempt ${attemptId} belongs to its entry`);
      const { changes } = this.#statements.close.run({
        attemptId,
        entryId,
        nowMs,
        durationMs,
        row: outcome.row,
        http: outcome.http,
        code: outcome.code,
        sent: outcome.sent ? 1 : 0,
        message: outcome.message.slice(0, longestText),
      });
      assert(changes === 1, `attempt ${attemptId} is closed once`);
      this.budget.settleAttempt(attemptId, close.slotsSettledMono, close.bootId);
      if (close.backOff) this.budget.stampBackOff(close.backOff, close);
      // First what the call ends: the denial that it brings may be of the same scope.
      const pausesChanged = this.#judgeScopes(close) || close.pause !== null;
      if (close.pause !== null) this.pauses.record({ ...close.pause, nowMs });
      const row = this.#existingEntry(entryId);
      const isSubmit = attempt.purpose === 'submit';
      // A person may have held the entry while it was looked up: that decision stands.
      if (!isSubmit && !lookedUp.includes(row.state)) return { pausesChanged };
      this.#entries.settle(row, {
        settlement,
        now: close,
        expected: isSubmit ? ['sending'] : lookedUp,
        // The clock may have been set back since: an entry must not seem to be sent in the future.
        sentAtMs: isSubmit && outcome.sent ? Math.min(attempt.opened_at_ms, nowMs) : null,
      });
      if (settlement.answer?.cost) this.#costs.remember(row, settlement.answer.cost);
      if (settlement.state === 'fulfilled') this.#canary.proveByOrder(row.operation, nowMs);
      return { pausesChanged };
    });
  }

  #judgeScopes({ scopes, nowMs }: AttemptClose): boolean {
    if (scopes === undefined) return false;
    return this.#evidence.apply(scopes.judge(this.#evidence.find(scopes.judged, nowMs)), nowMs);
  }

  async adoptConnector(connector: string): Promise<void> {
    this.#canary.adopt(connector);
  }

  #existingEntry(id: number): EntryRow {
    const row = this.#statements.findEntry.get(id);
    assert(row !== undefined, `entry ${id} exists`);
    return row;
  }

  async openAttemptsOfOthers(incarnationId: number): Promise<readonly OpenAttempt[]> {
    return this.#statements.openOfOthers.all(incarnationId).map((attempt) => {
      const row = this.#existingEntry(attempt.entry_id);
      return {
        attemptId: attempt.id,
        purpose: attempt.purpose,
        openedAtMs: attempt.opened_at_ms,
        openedMono: null,
        entry: this.#entryOf(row),
        request: null,
        originReference: originOf(this.#database, row),
        successorReference: null,
        trialOf: [],
      };
    });
  }

  async restartSettlementDelays(restart: { untilMono: number; bootId: string | null }): Promise<void> {
    this.#settlementDelays.restart(restart);
  }

  async nextDueAt(step: AttemptClaim['step'], nowMs: number): Promise<number | null> {
    return this.#due.nextAt(step, nowMs);
  }

  async expireOverdue(nowMs: number, maxUnknownOutcomes: number): Promise<number> {
    const overdue = this.#due.overdue(nowMs);
    if (overdue.length === 0) return 0;
    return inTransaction(this.#database, () => {
      // An entry that a lost outbox may have bought in time must not be reported as expired.
      const unsure = new Set(overdue.filter((row) => this.#afterLoss.mayHaveSent(row)));
      const allowed = Math.max(0, maxUnknownOutcomes - readExposure(this.#database).total);
      for (const row of [...unsure].slice(0, allowed)) this.#entries.recover(row, nowMs);
      const inParts = new Set(overdue.filter((row) => !unsure.has(row) && this.#afterLoss.mayHaveBoughtParts(row)));
      for (const row of inParts) this.#entries.flagForReview(row, boughtInParts, nowMs);
      const ended = overdue.filter((row) => !unsure.has(row) && !inParts.has(row));
      for (const row of ended) this.#entries.endOverdue(row, nowMs);
      return ended.length;
    });
  }

  async oldestUnsent(upToEntry: number): ReturnType<Submission['oldestUnsent']> {
    const row = readOldestUnsent(this.#database, upToEntry);
    return row === null || this.#afterLoss.mayHaveSent(row) ? null : row;
  }
}

const boughtInParts =
  'the outbox was lost, its order may have been bought in parts, and its deadline passed before they were found: look for them in the list of the supplier';

/** A request that was sent once is sent again to the byte; only that of an entry that was never sent is rendered. */
function requestOf(row: EntryRow, entry: Entry, claim: AttemptClaim): RenderedRequest | Error {
  if (row.request_method !== null && row.request_path !== null) {
    return { method: row.request_method, path: row.request_path, body: row.request_body };
  }
  try {
    return claim.render(entry);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
