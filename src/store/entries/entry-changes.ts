import { missingUnits } from '../../core/answers/units.ts';
import type { OperatorMove } from '../../core/operator/operator-decision.ts';
import { canTransition, isFinal, type EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { rememberUnits } from './delivered-units.ts';
import { resultChanged } from '../results/due-results.ts';
import { columnOf, longestText, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { findRequestOfEsim } from './esim-origins.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';

/*
 * The only writer of an entry's state. Each change is legal, conditional on the state that was
 * read, and counted. Every function is called inside a transaction.
 */

/** Final states in which nothing was bought. */
export const endedUnbought: ReadonlySet<EntryState> = new Set(['cancelled', 'expired', 'rejected']);

/** States that are written back to the shop. The other states lead to one of them. */
export const reported: ReadonlySet<EntryState> = new Set([
  ...endedUnbought,
  'placed',
  'fulfilled',
  'refunded',
  'needs_review',
]);

/** New units take the place of those before; with `keepsUnits`, none leave them as they are. */
const replaced = (column: string, value: string): string =>
  `${column} = CASE WHEN :units IS NULL AND :keepsUnits = 1 THEN ${column} ELSE ${value} END`;
export const setUnits = [
  replaced('units', ':units'),
  replaced('unit_count', 'coalesce(:unitCount, 0)'),
  replaced('sealed_by', ':sealedBy'),
].join(', ');

export const updateOf = (sql: string) => statementOf<Values, never>(sql);
type Update = ReturnType<typeof updateOf>;
type Values = Readonly<Record<string, unknown>>;

const updateByOperator = updateOf(
  `UPDATE entries SET state = :state, next_step = :nextStep, due_steady = :dueAtMs, outcome_unknown = :outcomeUnknown,
     in_flight_window_end_steady = :inFlightWindowEndMs, review_reason = :reviewReason,
     held_from = :heldFrom, held_by = NULL, over_limit = NULL,
     order_number = :orderNumber, in_question = CASE WHEN state = 'needs_review' AND :final = 1 THEN NULL ELSE in_question END,
     ${setUnits}, units_missing = :unitsMissing,
     resolved_by = coalesce(:resolvedBy, resolved_by), tries = CASE WHEN :restartsSchedule = 1 THEN 0 ELSE tries END, absences = 0,
     error_code = CASE WHEN :keepError = 1 THEN error_code ELSE :errorCode END,
     error_message = CASE WHEN :keepError = 1 THEN error_message ELSE :errorMessage END,
     error_buffered = CASE WHEN :keepError = 1 THEN error_buffered ELSE 2 * :isEnding END, updated_at_ms = :nowMs,
     settled_at_ms = CASE WHEN :final = 1 THEN :nowMs ELSE settled_at_ms END
   WHERE id = :id AND state = :from
     AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = entries.id AND a.closed_at_ms IS NULL)`,
);
const updateEnded = updateOf(
  `UPDATE entries SET state = :state, updated_at_ms = :nowMs, settled_at_ms = :nowMs,
     error_code = CASE WHEN :keepError = 1 THEN coalesce(error_code, :errorCode) ELSE :errorCode END,
     error_message = CASE WHEN :keepError = 1 THEN coalesce(error_message, :errorMessage) ELSE :errorMessage END
   WHERE id = :id AND state = :from`,
);
// Its outcome is no more unknown than before: it holds nobody up.
const updateEnding = updateOf(
  `UPDATE entries SET state = :state, next_step = 'send', due_steady = 0, absences = 0, held_from = NULL, held_by = NULL,
     error_code = CASE WHEN :isEnding = 1 THEN :errorCode END, error_message = CASE WHEN :isEnding = 1 THEN :errorMessage END,
     error_buffered = 2 * :isEnding, updated_at_ms = :nowMs
   WHERE id = :id AND state = :from`,
);
const updateFlagged = updateOf(
  `UPDATE entries SET state = 'needs_review', review_reason = :reason, updated_at_ms = :nowMs WHERE id = :id AND state = :from`,
);
const updateNextStep = updateOf(
  `UPDATE entries SET next_step = 'lookup', due_steady = 0, updated_at_ms = :nowMs WHERE id = :id AND state = 'unknown'`,
);
const updateRecovered = updateOf(
  `UPDATE entries SET state = 'unknown', outcome_unknown = 1, next_step = 'send', absences = 0, due_steady = 0,
     asked_after_loss = iif(:isAfterLoss, 0, asked_after_loss), updated_at_ms = :nowMs WHERE id = :id AND state = :from`,
);
/**
 * After a loss, a refusal that only a lookup was to confirm says nothing: its entry waits, as if it
 * had never been looked up. Its outcome becomes unknown when the number of those allows it.
 */
export const forgetRefusals = statementOf<[], never>(
  `UPDATE entries SET state = CASE state WHEN 'unknown' THEN 'waiting' ELSE state END, error_buffered = 0,
     held_from = CASE state WHEN 'held' THEN 'waiting' END
   WHERE outcome_unknown = 0 AND error_buffered < 2 AND (state = 'unknown' OR (state = 'held' AND held_from = 'unknown'))`,
);
const updateHeld = updateOf(
  `UPDATE entries SET state = 'held', held_from = coalesce(held_from, :from), held_by = :by, over_limit = :limit, review_reason = :why,
     updated_at_ms = :nowMs
   WHERE id = :id AND state = :from`,
);
const updateReleased = updateOf(
  `UPDATE entries SET state = :state, held_from = NULL, held_by = NULL, over_limit = NULL, review_reason = NULL,
     updated_at_ms = :nowMs
   WHERE id = :id AND state = 'held'`,
);
/**
 * Records whether the shop refunded the line, or cancelled its order: then nobody waits for what
 * was not bought.
 */
export const setTakenBack = statementOf<{ lineId: number; takenBack: 0 | 1 }, never>(
  'UPDATE entries SET taken_back = :takenBack WHERE line_id = :lineId AND taken_back <> :takenBack',
);
const updateQuantity = updateOf(
  `UPDATE entries SET quantity = :quantity, updated_at_ms = :nowMs WHERE id = :id AND quantity <> :quantity
   AND state IN ('pending', 'held') AND attempts = 0 AND request_body IS NULL AND outcome_unknown = 0 AND generation = 0`,
);
const updateTurn = updateOf(
  `UPDATE entries SET state = 'waiting', replaced = 0, rules = :rules, lane = :lane, due_steady = :dueAtMs, settled_at_ms = NULL,
     updated_at_ms = :nowMs WHERE id = :id AND state = 'rejected' AND replaced = 1`,
);
const findRequest = columnOf<[number], number>('SELECT request_id FROM lines WHERE id = ?');

/**
 * Performs what an operator decided; `resolvedBy` is who settled the entry. Fails while a call for it
 * is in flight.
 */
export function applyCommand(
  outbox: Outbox,
  row: EntryRow,
  move: OperatorMove & { readonly resolvedBy: string | null },
  nowMs: number,
): void {
  const { database, units: sealed } = outbox;
  const { state, error, units } = move;
  const newError = error === 'keep' ? null : error;
  changeOrKeep(database, row, state, updateByOperator, {
    ...move,
    outcomeUnknown: move.outcomeUnknown ? 1 : 0,
    ...sealed.toStore(row.reference, units ?? []),
    keepsUnits: units === null ? 1 : 0,
    unitsMissing: unitsMissingOf(row, move, sealed),
    restartsSchedule: move.restartsSchedule ? 1 : 0,
    keepError: error === 'keep' ? 1 : 0,
    isEnding: move.isEnding ? 1 : 0,
    errorCode: newError?.code ?? null,
    errorMessage: newError?.message.slice(0, longestText) ?? null,
    nowMs,
    final: isFinal(state) ? 1 : 0,
  });
  if (units !== null) rememberUnits(outbox, row, sealed.known(row), units);
  if (row.state !== state || units !== null) report(outbox, row, nowMs, state);
}

/** How many units nobody has of what an operator found to be bought. */
function unitsMissingOf(
  row: EntryRow,
  { state, orderNumber, units }: OperatorMove,
  sealed: SealedUnits,
): number {
  if (state !== 'fulfilled') return 0;
  return missingUnits({ ...row, orderNumber }, units ?? sealed.of(row));
}

/**
 * Ends an entry for which nothing was charged, because its deadline passed.
 * @param wasRefused the API refused the order itself: its refusal stays the error
 */
export function endOverdue(
  outbox: Outbox,
  row: EntryRow,
  wasRefused: boolean,
  nowMs: number,
): void {
  assert(
    row.state === 'pending' || row.state === 'waiting',
    `nothing was charged for ${row.reference}`,
  );
  // A pending entry was never sent; a waiting one was answered.
  end(outbox, row, row.state === 'pending' ? 'expired' : 'rejected', {
    keepError: wasRefused ? 1 : 0,
    errorCode: 'not_after_passed',
    errorMessage: 'the deadline of the order passed before it could be bought; nothing was charged',
    nowMs,
  });
}

/**
 * Ends an entry as unbought. One that was sent since it was last looked up is looked up first: the
 * call may have been repeated on its way, and the answer may be that to its second copy.
 */
function end(
  outbox: Outbox,
  row: EntryRow,
  state: 'expired' | 'rejected' | 'cancelled',
  values: Values & { readonly nowMs: number },
): void {
  const isEnding = state === 'cancelled' ? 1 : 0;
  if (row.sent_since_lookup === 0) change(outbox.database, row, state, updateEnded, values);
  else change(outbox.database, row, 'unknown', updateEnding, { ...values, isEnding });
  report(outbox, row, values.nowMs);
}

/** Cancels an entry that was never sent, or that was answered and waits to be sent again. */
export function cancelEntry(outbox: Outbox, row: EntryRow, message: string, nowMs: number): void {
  assert(row.outcome_unknown === 0, `${row.reference} was surely not bought`);
  const error = {
    keepError: 1,
    errorCode: 'taken_back',
    errorMessage: message.slice(0, longestText),
  };
  end(outbox, row, 'cancelled', { ...error, nowMs });
}

/** Flags an entry that the worker cannot settle by itself. */
export function flagForReview(outbox: Outbox, row: EntryRow, reason: string, nowMs: number): void {
  change(outbox.database, row, 'needs_review', updateFlagged, { nowMs, reason });
  report(outbox, row, nowMs);
}

/**
 * Holds an entry that is not sent now; of one that is held, changes why. `by`: null for an operator,
 * who must release it. `limit`: the limit on spending that it is over.
 */
export function holdEntry(
  outbox: Outbox,
  row: EntryRow,
  hold: { readonly why: string } & (
    | { readonly by: 'shop' | null }
    | { readonly by: 'limit'; readonly limit: string }
  ),
  nowMs: number,
): void {
  changeOrKeep(outbox.database, row, 'held', updateHeld, { limit: null, ...hold, nowMs });
  report(outbox, row, nowMs);
}

/** Releases a held entry to the state that it had. */
export function releaseEntry(outbox: Outbox, row: EntryRow, nowMs: number): void {
  assert(row.held_from !== null, `${row.reference} is held`);
  change(outbox.database, row, row.held_from, updateReleased, { nowMs });
  report(outbox, row, nowMs);
}

/** Has an entry looked up that was due to be sent again. */
export function lookUpNext(database: Sqlite, row: EntryRow, nowMs: number): void {
  changeOrKeep(database, row, 'unknown', updateNextStep, { nowMs });
}

/**
 * The outcome of an entry is unknown from now on: an outbox that was lost may have sent it, or a
 * copy of its last call may have bought it.
 */
export function recoverEntry(
  database: Sqlite,
  row: EntryRow,
  isAfterLoss: boolean,
  nowMs: number,
): void {
  change(database, row, 'unknown', updateRecovered, { isAfterLoss: isAfterLoss ? 1 : 0, nowMs });
}

/** A rejected entry is tried again in place of the one that replaced it. */
export function takeTurn(
  database: Sqlite,
  row: EntryRow,
  turn: { rules: string; lane: string; dueAtMs: number; nowMs: number },
): void {
  change(database, row, 'waiting', updateTurn, turn);
}

/**
 * Changes the quantity of an entry that was not sent. False when its request was rendered before: a
 * reference stands for its request.
 */
export function setQuantity(
  outbox: Outbox,
  row: EntryRow,
  quantity: number,
  nowMs: number,
): boolean {
  const { changes } = updateQuantity(outbox.database).run({ id: row.id, quantity, nowMs });
  if (changes === 1) report(outbox, row, nowMs);
  return changes === 1;
}

/** Runs the UPDATE of one entry, if it may go from the state that was read to this one. */
function change(
  database: Sqlite,
  row: EntryRow,
  to: EntryState,
  update: Update,
  values: Values,
): void {
  assert(canTransition(row.state, to), `${row.reference} may go from ${row.state} to ${to}`);
  const { changes } = update(database).run({ ...values, id: row.id, from: row.state, state: to });
  assert(
    changes === 1,
    `${row.reference} is still in ${row.state}, and no call for it is in flight`,
  );
}

/** As `change`, also where the entry is in this state already. */
export function changeOrKeep(
  database: Sqlite,
  row: EntryRow,
  to: EntryState,
  update: Update,
  values: Values,
): void {
  if (row.state !== to) return change(database, row, to, update, values);
  const { changes } = update(database).run({ ...values, id: row.id, from: to, state: to });
  assert(changes === 1, `${row.reference} is still in ${to}, and no call for it is in flight`);
}

export function report(outbox: Outbox, row: EntryRow, nowMs: number, to = row.state): void {
  const requestId = findRequest(outbox.database).get(row.line_id);
  assert(requestId !== undefined, `the line of ${row.reference} exists`);
  resultChanged(outbox, requestId, nowMs, to === 'fulfilled');
  if (row.operation !== 'esim_cancel' || to !== 'fulfilled') return;
  // The order that delivered the eSIM says that it is cancelled.
  const origin = findRequestOfEsim(outbox.database).get(row.iccid);
  if (origin !== undefined && origin !== requestId) resultChanged(outbox, origin, nowMs);
}
