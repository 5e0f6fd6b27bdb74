import { canTransition, type EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { operations, type Operation, type Purchase } from '../../core/order/purchase.ts';
import { keyFingerprint } from '../../core/order/reference.ts';
import { productScope } from '../../core/scopes/scope.ts';
import type { Settlement } from '../../core/decision/settlement.ts';
import { columnOf, inTransaction, longestText, statementOf, type Sqlite } from '../sqlite/database.ts';
import { OutboxSteps, type Outbox } from '../sqlite/outbox.ts';
import { entryOf, type Entry, type EntryRow } from '../sqlite/rows.ts';
import { lostOutboxMayHaveBoughtParts, lostOutboxMayHaveSent } from './after-loss.ts';
import { AccountKeys, otherSenderOf, proveFirstKey } from './account-keys.ts';
import type { AttemptClaim, AttemptClose, OpenAttempt, RenderedRequest } from './attempt.ts';
import { recordAcceptedPath, wasAccepted, type SpendingCall } from './call-paths.ts';
import { collisionOf, markShownTwice, reviewOfCollision, type Collision } from './collisions.ts';
import { Budget, settleAttemptSlots, stampBackOff, takeSlotsOfAttempt } from './budget.ts';
import { adoptConnector, proveConnectorByOrder } from './connector-canary.ts';
import { DueEntries, selectOverdue } from './due-entries.ts';
import { endOverdue, flagForReview, recoverEntry, settleEntry } from './entry-changes.ts';
import { originOf } from './esim-origins.ts';
import { KeptAnswers, keepAnswer } from './kept-answers.ts';
import { LookupProofs } from './lookup-proofs.ts';
import { findNextToSend, notHeldUp, rememberCost, trialOf } from './next-to-send.ts';
import { readExposure } from './open-calls.ts';
import { Pauses, pausesBut, readPauses, recordPause } from './pauses.ts';
import { firstReplacementOf } from './replacements.ts';
import { applyScopeChange, readScopeFindings } from './scope-evidence.ts';
import { restartDelays } from './settlement-delays.ts';

type AttemptRow = Pick<OpenAttempt, 'attemptId' | 'purpose' | 'openedAtMs'> & { readonly entryId: number };

const insertAttempt = statementOf<Record<string, unknown>, never>(
  `INSERT INTO attempts (entry_id, number, purpose, key_name, key_fingerprint, incarnation_id, opened_at_ms)
   VALUES (:entryId, (SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE entry_id = :entryId), :purpose, :keyName,
           :fingerprint, :incarnationId, :nowMs)`,
);
const updateSending = statementOf<Record<string, unknown>, never>(
  `UPDATE entries SET state = 'sending', key_name = :keyName, last_sent_at_ms = :nowMs, updated_at_ms = :nowMs,
                      due_before_recheck_ms = NULL, request_method = :method, request_path = :path, request_body = :body, request_headers = :headers
   WHERE id = :id AND state = :from`,
);
const updateClosed = statementOf<Record<string, unknown>, never>(
  `UPDATE attempts SET closed_at_ms = :nowMs, sent = :sent, outcome = :row, http_status = :http, error_code = :code,
                       error_message = :message, duration_ms = :durationMs
   WHERE id = :attemptId AND entry_id = :entryId AND closed_at_ms IS NULL`,
);
const attemptColumns = 'id AS attemptId, entry_id AS entryId, purpose, opened_at_ms AS openedAtMs';
const findAttempt = statementOf<[number], AttemptRow>(`SELECT ${attemptColumns} FROM attempts WHERE id = ?`);
const findLineNames = statementOf<[number], ClosedAttempt['line']>(
  `SELECT r.source, r.order_id, l.line_id FROM lines l JOIN requests r ON r.id = l.request_id WHERE l.id = ?`,
);
const findEntry = statementOf<[number], EntryRow>('SELECT * FROM entries WHERE id = ?');
// By the index of the open ones, which are few: to have them in order, SQLite would read all.
const selectOpenOfOthers = statementOf<[number], AttemptRow>(
  `SELECT ${attemptColumns} FROM attempts INDEXED BY attempts_open WHERE closed_at_ms IS NULL AND incarnation_id <> ? ORDER BY id`,
);

// By the index of what was bought: the cost does not grow with the outbox.
const selectBought = statementOf<[Operation], Pick<Purchase, 'variant' | 'plan'>>(
  `SELECT variant, plan FROM (
     SELECT id, variant, plan FROM entries INDEXED BY entries_bought
     WHERE state = 'fulfilled' AND outcome_row = 'accepted' AND operation = ? ORDER BY id DESC LIMIT 5000)
   GROUP BY variant, plan ORDER BY max(id)`,
);

const selectFailing = columnOf<[], string>('SELECT DISTINCT scope FROM scope_evidence WHERE scope = product');

/** States in which an entry is looked up. */
const lookedUp: readonly EntryState[] = ['unknown', 'placed'];

/** What the end of an attempt led to: whether a pause was opened, postponed or ended, and the settlement that was recorded. */
interface ClosedAttempt {
  readonly pausesChanged: boolean;
  readonly settlement: Settlement;
  /** The names of the line under which its shop knows it. */
  readonly line: { readonly source: string; readonly order_id: string; readonly line_id: string };
}

/** Claims due entries and records what their calls led to. */
export class Submission extends OutboxSteps {
  readonly budget = new Budget(this.outbox);
  readonly pauses = new Pauses(this.outbox);
  readonly lookups = new LookupProofs(this.outbox);
  readonly accountKeys = new AccountKeys(this.outbox);
  readonly answers = new KeptAnswers(this.outbox);
  readonly #due = new DueEntries(this.outbox);

  /** Claims the next due entry and opens its attempt, with the slots of its budget, in one transaction. */
  readonly openAttempt = this.step((outbox, claim: AttemptClaim): OpenAttempt | null => {
    const { database } = outbox;
    const { keyName, incarnationId, nowMs } = claim;
    const pauses = readPauses(database);
    const paused = pausesBut(pauses, notHeldUp(pauses, claim));
    if (paused.account || paused.keys.includes(keyName)) return null;
    const isSend = claim.step === 'send';
    const fingerprint = claim.keyValue === undefined ? null : keyFingerprint(outbox.namespace, claim.keyValue);
    const search = { outbox, due: this.#due, claim, paused, fingerprint };
    const row = isSend ? findNextToSend(search) : this.#due.toLookUp(nowMs, fingerprint);
    if (row === null) return null;
    const entry = entryOf(outbox, row);
    const request = isSend ? requestOf(row, entry, claim) : null;
    if (request instanceof Error) {
      // An entry whose request cannot be rendered is never sent, and must not stop the others.
      flagForReview(outbox, row, `its request could not be rendered: ${request.message}`, nowMs);
      return null;
    }
    const mayBeOtherAccount = !isSend && otherSenderOf(database, row.id, fingerprint) !== null;
    const purpose = isSend ? 'submit' : 'lookup';
    const inserted = insertAttempt(database).run({
      entryId: row.id,
      purpose,
      keyName,
      fingerprint,
      incarnationId,
      nowMs,
    });
    const attemptId = Number(inserted.lastInsertRowid);
    if (request !== null) startSending(database, row, request, claim);
    takeSlotsOfAttempt(database, attemptId, claim);
    return {
      attemptId,
      purpose,
      openedAtMs: nowMs,
      openedMono: claim.nowMono,
      entry,
      request,
      originReference: originOf(database, row),
      successorReference: entry.recoveryStage === 'replacement' ? firstReplacementOf(outbox, row) : null,
      mayBeOtherAccount,
      trialOf: trialOf(row, claim),
    };
  });

  /**
   * Closes an attempt with its outcome, settles its slots, moves its entry and changes the paused scopes, in one
   * transaction. Returns whether a pause was opened, postponed or ended.
   */
  readonly closeAttempt = this.step(closeAttempt);

  /** Whether such a call was ever accepted under its path: see `wasAccepted`. */
  async hasAccepted(call: SpendingCall): Promise<boolean> {
    return wasAccepted(this.database, call);
  }

  /** The products that were bought last, by their scopes; of each operation the one that was bought last comes last. */
  async productsBought(): Promise<readonly string[]> {
    const bought = operations.flatMap((operation) => selectBought(this.database).all(operation));
    return bought.flatMap((purchase) => productScope(purchase) ?? []);
  }

  /** The products that something counts against since, by their scopes. */
  async productsFailing(): Promise<readonly string[]> {
    return selectFailing(this.database).all();
  }

  /** The connector of this run, by its hash: until an order was fulfilled under it, few orders of a family are open. */
  async adoptConnector(connector: string, nowMs: number, onAdopted?: () => void): Promise<void> {
    adoptConnector(this.database, connector, nowMs);
    // At once: no order may be opened between the two, under the one mapping for the other.
    onAdopted?.();
  }

  /** Attempts that another run of the worker left open. */
  async openAttemptsOfOthers(incarnationId: number): Promise<readonly OpenAttempt[]> {
    return selectOpenOfOthers(this.database)
      .all(incarnationId)
      .map(({ entryId, ...attempt }) => {
        const row = existingEntry(this.database, entryId);
        const facts = { entry: entryOf(this.outbox, row), originReference: originOf(this.database, row) };
        return { ...attempt, ...facts, openedMono: null, request: null, successorReference: null, trialOf: [] };
      });
  }

  /**
   * Lets the settlement delays that were stamped in another run of the machine end at `untilMono`. Without a boot id
   * every stamp may be of another run, and all of them end then.
   */
  async restartSettlementDelays(restart: { untilMono: number; bootId: string | null }): Promise<void> {
    inTransaction(this.database, () => {
      for (const statement of restartDelays) statement(this.database).run(restart);
    });
    this.outbox.delaysAreOfThisRun = true;
  }

  /** When the next entry is due: a time, or null when none is waiting for one. */
  async nextDueAt(step: AttemptClaim['step'], nowMs: number): Promise<number | null> {
    return this.#due.nextAt(step, nowMs);
  }

  /**
   * Ends entries whose deadline had passed at `nowMs` while nothing was charged. Returns how many. An entry that an outbox which was
   * lost may have bought becomes `unknown` instead, while fewer than `maxUnknownOutcomes` are.
   */
  async expireOverdue(nowMs: number, maxUnknownOutcomes: number): Promise<number> {
    const { outbox, database } = this;
    const overdue = selectOverdue(database).all(nowMs);
    if (overdue.length === 0) return 0;
    return inTransaction(database, () => {
      let allowed = maxUnknownOutcomes - readExposure(database).total;
      let ended = 0;
      for (const row of overdue) {
        // An entry that a lost outbox may have bought in time must not be reported as expired.
        if (lostOutboxMayHaveSent(database, row)) {
          if (allowed > 0) recoverEntry(database, row, nowMs);
          allowed -= 1;
        } else if (lostOutboxMayHaveBoughtParts(row)) {
          flagForReview(outbox, row, boughtInParts, nowMs);
        } else {
          endOverdue(outbox, row, nowMs);
          ended += 1;
        }
      }
      return ended;
    });
  }
}

const boughtInParts =
  'the outbox was lost, its order may have been bought in parts, and its deadline passed before they were found: look for them in the list of the supplier';

function existingEntry(database: Sqlite, id: number): EntryRow {
  const row = findEntry(database).get(id);
  assert(row !== undefined, `entry ${id} exists`);
  return row;
}

/** A request that was sent once is sent again to the byte; only that of an entry that was never sent is rendered. */
function requestOf(row: EntryRow, entry: Entry, claim: AttemptClaim): RenderedRequest | Error {
  if (row.request_method !== null && row.request_path !== null) {
    const headers: Readonly<Record<string, string>> = JSON.parse(row.request_headers ?? '{}');
    return { method: row.request_method, path: row.request_path, body: row.request_body, headers };
  }
  try {
    return claim.render(entry);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function startSending(
  database: Sqlite,
  row: EntryRow,
  request: RenderedRequest,
  { keyName, nowMs }: AttemptClaim,
): void {
  assert(canTransition(row.state, 'sending'), `${row.reference} may be sent from the state ${row.state}`);
  const { headers: given = {} } = request;
  const headers = Object.keys(given).length === 0 ? null : JSON.stringify(given);
  const { changes } = updateSending(database).run({ ...request, headers, id: row.id, from: row.state, keyName, nowMs });
  assert(changes === 1, `${row.reference} is claimed once`);
}

/** Called inside a transaction. */
function closeAttempt(outbox: Outbox, close: AttemptClose): ClosedAttempt {
  const { database } = outbox;
  const { attemptId, entryId, nowMs, durationMs, outcome } = close;
  const attempt = findAttempt(database).get(attemptId);
  assert(attempt !== undefined && attempt.entryId === entryId, `attempt ${attemptId} belongs to its entry`);
  const stored = { ...outcome, sent: outcome.sent ? 1 : 0, message: outcome.message.slice(0, longestText) };
  const { changes } = updateClosed(database).run({ ...stored, attemptId, entryId, nowMs, durationMs });
  assert(changes === 1, `attempt ${attemptId} is closed once`);
  settleAttemptSlots(database, close);
  if (outcome.kept && outcome.http !== null)
    keepAnswer(database, {
      kind: attempt.purpose,
      attemptId,
      isError: outcome.http >= 300,
      http: outcome.http,
      body: outcome.kept,
      nowMs,
    });
  if (close.backOff) stampBackOff(database, close.backOff, close);
  // First what the call ends: the denial that it brings may be of the same scope.
  const pausesChanged = judgeScopes(database, close) || close.pause !== null;
  if (close.pause !== null) recordPause(database, { ...close.pause, nowMs });
  const row = existingEntry(database, entryId);
  const isSubmit = attempt.purpose === 'submit';
  // A person may have held the entry while it was looked up: that decision stands.
  const line = findLineNames(database).get(row.line_id);
  assert(line !== undefined, `the line of ${row.reference} exists`);
  if (!isSubmit && !lookedUp.includes(row.state)) return { pausesChanged, settlement: close.settlement, line };
  const collision = collisionOf(outbox, row, close.settlement);
  const settlement = collision === null ? close.settlement : reviewOfCollision(close.settlement, collision);
  settleEntry(outbox, row, {
    settlement,
    now: close,
    expected: isSubmit ? ['sending'] : lookedUp,
    // The clock may have been set back since: an entry must not seem to be sent in the future.
    sentAtMs: isSubmit && outcome.sent ? Math.min(attempt.openedAtMs, nowMs) : null,
  });
  if (isSubmit && outcome.row === 'accepted' && row.request_path !== null)
    recordAcceptedPath(database, { operation: row.operation, iccid: row.iccid, path: row.request_path });
  if (settlement.answer?.cost) rememberCost(database, row, settlement.answer.cost);
  if (settlement.state === 'fulfilled') proveFirstKey(database, attemptId);
  if (settlement.state === 'fulfilled') proveConnectorByOrder(database, row.operation, attemptId, nowMs);
  if (collision !== null) flagOther(outbox, collision, row, nowMs);
  return { pausesChanged, settlement, line };
}

/** The other entry of a collision needs review, too; one that was delivered stands in the attention list instead. */
function flagOther(outbox: Outbox, { other, what }: Collision, row: EntryRow, nowMs: number): void {
  const { database } = outbox;
  const shared = `${what} is also that of ${row.reference}: one of them has the other's`;
  if (other.state === 'placed')
    flagForReview(outbox, existingEntry(database, other.id), `${shared}, so it is not delivered`, nowMs);
  else markShownTwice(database).run({ id: other.id, shared: `${shared}, and this one was delivered`, nowMs });
}

function judgeScopes(database: Sqlite, { scopes, nowMs }: AttemptClose): boolean {
  if (scopes === undefined) return false;
  const findings = readScopeFindings(database, scopes.judged, nowMs);
  return applyScopeChange(database, scopes.judge(findings), nowMs);
}
