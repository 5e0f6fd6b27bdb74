import { keptUnits, withDelivered } from '../core/answers/units.ts';
import { isFinal, type EntryState } from '../core/entry/states.ts';
import { assert } from '../core/order-sync-error.ts';
import { proveConnectorByOrder } from '../store/entries/connector-canary.ts';
import {
  changeOrKeep,
  endedUnbought,
  flagForReview,
  report,
  reported,
  setUnits,
  updateOf,
} from '../store/entries/entry-changes.ts';
import { rememberUnits, type Shared } from '../store/entries/delivered-units.ts';
import { keepAnswer } from '../store/entries/kept-answers.ts';
import { recordPause, type NewPause } from '../store/entries/pauses.ts';
import { putBalance } from '../store/entries/balances.ts';
import { rememberCost } from './spending/unit-costs-sql.ts';
import { addReplacements } from '../store/entries/replacements.ts';
import { inTransaction, longestText, statementOf, type Sqlite } from '../store/sqlite/database.ts';
import type { Outbox } from '../store/sqlite/outbox.ts';
import { writeMark } from '../store/sqlite/steady-time.ts';
import { findEntry, isInQuestion, type EntryRow } from '../store/sqlite/rows.ts';
import { stampBackOff, type KeyBackOff } from '../store/wholesale-keys.ts';
import { applyScopeChange, readScopeFindings } from './breakers/evidence-sql.ts';
import type { ScopeChange, ScopeFindings } from './breakers/judge-call.ts';
import { settleAttemptSlots } from './budget/budget-sql.ts';
import type { Settlement } from './decision/settlement.ts';
import { proveFirstKey } from './proofs/account-keys-sql.ts';
import { recordAcceptedPath } from './proofs/call-paths-sql.ts';
import { collisionOf, markShownTwice, sharedText } from './proofs/collisions-sql.ts';
import type { OpenAttempt } from './queue/claim-sql.ts';

type AttemptRow = Pick<OpenAttempt, 'attemptId' | 'purpose'> & { readonly entryId: number };

export interface AttemptClose {
  readonly attemptId: number;
  readonly entryId: number;
  readonly nowMs: number;
  readonly steadyMs: number;
  readonly durationMs: number | null;
  readonly outcome: {
    row: string;
    sent: boolean;
    http: number | null;
    code: string | null;
    message: string;
    kept?: string | null;
  };
  readonly settlement: Settlement;
  /**
   * When the window of the slots began; null when the call surely never left, and they are free
   * again.
   */
  readonly slotsSettledMs: number | null;
  /** A key or the account, paused from now on because this outcome denies it. */
  readonly pause: Omit<NewPause, 'nowMs'> | null;
  /** Judges the scopes of the call, before the transaction begins. Absent: they are not judged. */
  readonly scopes?: {
    readonly judged: readonly string[];
    readonly judge: (found: ScopeFindings) => ScopeChange;
  };
  /** See `spend.max_rise_percent`. Absent: any. */
  readonly maxRisePercent?: number;
  /** The back-off of the key, when the call was rate-limited. */
  readonly backOff?: KeyBackOff | null;
}

const updateClosed = statementOf<Record<string, unknown>, never>(
  `UPDATE attempts SET closed_at_ms = :nowMs, sent = :sent, outcome = :row, http_status = :http, error_code = :code,
                       error_message = :message, duration_ms = :durationMs
   WHERE id = :attemptId AND entry_id = :entryId AND closed_at_ms IS NULL`,
);
const findAttempt = statementOf<[number], AttemptRow>(
  'SELECT id AS attemptId, entry_id AS entryId, purpose FROM attempts WHERE id = ?',
);
const findLineNames = statementOf<[number], ClosedAttempt['line']>(
  `SELECT r.source, r.order_id, l.line_id FROM lines l JOIN requests r ON r.id = l.request_id WHERE l.id = ?`,
);
/** States in which an entry is looked up. */
const lookedUp: readonly EntryState[] = ['unknown', 'placed'];

/**
 * What the end of an attempt led to: whether a pause was opened, postponed or ended, and the
 * settlement that was recorded.
 */
export interface ClosedAttempt {
  readonly pausesChanged: boolean;
  readonly settlement: Settlement;
  /** The names of the line under which its shop knows it. */
  readonly line: { readonly source: string; readonly order_id: string; readonly line_id: string };
}

const updateSettled = updateOf(
  `UPDATE entries SET state = :state, next_step = :nextStep, due_steady = :dueAtMs, outcome_unknown = :outcomeUnknown,
     in_flight_window_end_steady = :inFlightWindowEndMs, tries = :tries, absences = :absences, asked_after_loss = :askedAfterLoss,
     attempts = attempts + :counted, outcome_row = :row,
     first_sent_steady = coalesce(first_sent_steady, CASE WHEN :isSent = 1 THEN due_steady END),
     error_code = :errorCode, error_message = :errorMessage, error_buffered = max(:errorBuffered, CASE WHEN :errorBuffered = 1 THEN error_buffered ELSE 0 END),
     sent_since_lookup = CASE WHEN :isSent = 1 THEN 1 WHEN :isProvenAbsent = 1 THEN 0 ELSE sent_since_lookup END,
     review_reason = :reviewReason,
     order_number = :orderNumber, in_question = CASE WHEN :isAnswered = 1 THEN :inQuestion ELSE in_question END, status = coalesce(:status, status),
     cost = coalesce(:cost, cost), uncounted_cost = CASE WHEN coalesce(:cost, cost) IS NULL THEN coalesce(:uncountedCost, uncounted_cost) END, charged_currency = coalesce(:chargedCurrency, charged_currency), refund = coalesce(:refund, refund),
     ${setUnits}, updated_at_ms = :nowMs,
     settled_at_ms = CASE WHEN :final = 1 THEN :nowMs ELSE settled_at_ms END
   WHERE id = :id AND state = :from`,
);
const learnLimit = statementOf<{ variant: string; limit: number; nowMs: number }, never>(
  `INSERT INTO variant_limits (variant, known_limit, learned_at_ms) VALUES (:variant, :limit, :nowMs)
   ON CONFLICT (variant) DO UPDATE SET known_limit = min(known_limit, :limit), learned_at_ms = :nowMs`,
);

/**
 * Closes an attempt with its outcome, settles its slots, moves its entry and changes the paused
 * scopes, in one transaction. The scopes are judged at once before it, without a wait: nobody
 * writes between the two.
 */
export function closeAttempt(outbox: Outbox, close: AttemptClose): ClosedAttempt {
  const { database } = outbox;
  const { scopes, steadyMs } = close;
  const change =
    scopes === undefined
      ? null
      : scopes.judge(readScopeFindings(database, scopes.judged, steadyMs));
  return inTransaction(database, () => recordEnd(outbox, close, change));
}

/** Called inside a transaction. */
function recordEnd(outbox: Outbox, close: AttemptClose, change: ScopeChange | null): ClosedAttempt {
  const { database } = outbox;
  const { attemptId, entryId, nowMs, durationMs, outcome } = close;
  const attempt = findAttempt(database).get(attemptId);
  assert(
    attempt !== undefined && attempt.entryId === entryId,
    `attempt ${attemptId} belongs to its entry`,
  );
  const sent = outcome.sent ? 1 : 0;
  const message = outcome.message.slice(0, longestText);
  const ended = { ...outcome, sent, message, attemptId, entryId, nowMs, durationMs };
  const { changes } = updateClosed(database).run(ended);
  assert(changes === 1, `attempt ${attemptId} is closed once`);
  settleAttemptSlots(database, close);
  writeMark(database, outbox.clock);
  if (outcome.kept && outcome.http !== null)
    keepAnswer(database, {
      kind: attempt.purpose,
      attemptId,
      isError: outcome.http >= 300,
      http: outcome.http,
      body: outcome.kept,
      nowMs,
    });
  if (close.backOff) stampBackOff(database, close.backOff, nowMs);
  // First what the call ends: the denial that it brings may be of the same scope.
  const isChanged = change !== null && applyScopeChange(database, change, close);
  const pausesChanged = isChanged || close.pause !== null;
  if (close.pause !== null) recordPause(database, { ...close.pause, nowMs });
  const row = findEntry(database, entryId);
  const isSubmit = attempt.purpose === 'submit';
  // An operator may have held the entry while it was looked up: that decision stands.
  const line = findLineNames(database).get(row.line_id);
  assert(line !== undefined, `the line of ${row.reference} exists`);
  if (!isSubmit && !lookedUp.includes(row.state))
    return { pausesChanged, settlement: close.settlement, line };
  const collision = collisionOf(outbox, row, close.settlement);
  const alsoShown = collision === null ? null : sharedText(collision);
  const settlement = alsoShown === null ? close.settlement : flagged(close.settlement, alsoShown);
  settleEntry(outbox, row, {
    settlement,
    alsoShown,
    nowMs,
    expected: isSubmit ? ['sending'] : lookedUp,
    isSent: isSubmit && outcome.sent,
  });
  if (isSubmit && outcome.row === 'accepted' && row.request_path !== null)
    recordAcceptedPath(database, {
      operation: row.operation,
      iccid: row.iccid,
      path: row.request_path,
    });
  const priceRose = rememberCost(database, row, settlement.answer?.cost, close);
  if (settlement.state === 'fulfilled') {
    proveFirstKey(database, attemptId);
    proveConnectorByOrder(database, row.operation, attemptId, nowMs);
  }
  if (collision !== null) flagOther(outbox, collision, row, nowMs);
  return { pausesChanged: pausesChanged || priceRose, settlement, line };
}

function flagged(settlement: Settlement, why: string): Settlement {
  const reviewReason = [settlement.reviewReason ?? [], why].flat().join('; ');
  return { ...settlement, state: 'needs_review', reviewReason };
}

/**
 * The other entry of a collision needs review, too; one that was delivered stands in the attention
 * list instead.
 */
function flagOther(outbox: Outbox, { other, what }: Shared, row: EntryRow, nowMs: number): void {
  const { database } = outbox;
  const isPlaced = other.state === 'placed';
  const shared = sharedText(
    { other: row, what },
    isPlaced ? undefined : 'and this one was delivered',
  );
  if (isPlaced) flagForReview(outbox, findEntry(database, other.id), shared, nowMs);
  markShownTwice(database).run({ id: other.id, shared, nowMs });
}

interface SettledCall {
  readonly settlement: Settlement;
  /** Which number or unit of its answer another entry has; null: none. */
  readonly alsoShown: string | null;
  readonly nowMs: number;
  readonly expected: readonly EntryState[];
  /** A byte of it may have left. */
  readonly isSent: boolean;
}

function settleEntry(
  outbox: Outbox,
  row: EntryRow,
  { settlement, alsoShown, nowMs, expected, isSent }: SettledCall,
): void {
  const { database, units: sealed } = outbox;
  const { state, answer, error } = settlement;
  assert(
    expected.includes(row.state),
    `${row.reference} is in ${expected.join(' or ')}, found ${row.state}`,
  );
  const isUnbought = state === 'waiting' || endedUnbought.has(state);
  const before = sealed.known(row);
  const isReplaced = isInQuestion(row) && answer !== null;
  const units = withDelivered(answer?.units ?? [], isReplaced ? [] : before).slice(
    0,
    keptUnits(row.quantity),
  );
  // One of them is not its own.
  const isMore = state === 'needs_review' && units.length > (row.quantity ?? 1);
  changeOrKeep(database, row, state, updateSettled, {
    ...settlement,
    outcomeUnknown: settlement.outcomeUnknown ? 1 : 0,
    counted: settlement.counted ? 1 : 0,
    isSent: isSent ? 1 : 0,
    isProvenAbsent: expected === lookedUp && isUnbought ? 1 : 0,
    errorCode: error?.code ?? null,
    errorMessage: error?.message.slice(0, longestText) ?? null,
    errorBuffered: error?.buffered === true ? 1 : 0,
    orderNumber: answer?.orderNumber ?? (isReplaced ? null : row.order_number),
    inQuestion: isMore ? settlement.reviewReason : alsoShown,
    isAnswered: answer === null ? 0 : 1,
    status: answer?.status ?? null,
    cost: answer?.cost ?? null,
    // A cancel spends nothing.
    uncountedCost: row.operation === 'esim_cancel' ? null : (answer?.uncountedCost ?? null),
    chargedCurrency: answer?.currency ?? null,
    refund: answer?.refund ?? null,
    ...sealed.toStore(row.reference, units),
    keepsUnits: isReplaced ? 0 : 1,
    nowMs,
    final: isFinal(state) ? 1 : 0,
  });
  rememberUnits(outbox, row, before, units);
  learnFromRejection(database, row, settlement, nowMs);
  rememberBalance(database, row, answer, nowMs);
  addReplacements(outbox, row, settlement, nowMs);
  // A poll that finds nothing new is not reported.
  if (reported.has(state) && (row.state !== state || answer !== null))
    report(outbox, row, nowMs, state);
}

/** A rejection above the per-order limit shows the limit. */
function learnFromRejection(
  database: Sqlite,
  row: EntryRow,
  { row: outcome, error }: Settlement,
  nowMs: number,
): void {
  const { variant, quantity } = row;
  if (
    outcome !== 'limit_exceeded' ||
    error?.buffered !== false ||
    quantity === null ||
    variant === null
  )
    return;
  learnLimit(database).run({ variant, limit: quantity - 1, nowMs });
}

/** Only of first calls: a copy may answer others. Charges made meanwhile may not be in it yet. */
function rememberBalance(
  database: Sqlite,
  { first_sent_steady: sent, due_steady: steadyMs, state, ...row }: EntryRow,
  answer: Settlement['answer'],
  nowMs: number,
): void {
  const millionths = Math.round((Number(answer?.balanceLeft) + Number(answer?.cost ?? 0)) * 1e6);
  const currency = answer?.currency ?? row.currency;
  if (state === 'sending' && sent === null && currency !== null && millionths < 9e15)
    putBalance(database).run({ currency, millionths, nowMs, steadyMs, actor: 'answer' });
}
