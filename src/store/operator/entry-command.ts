import { steadyOf } from '../../core/clock.ts';
import type { Unit } from '../../core/answers/order-answer.ts';
import type { BulkAction, BulkFilter, ResultOf } from '../../core/operator/operator-command.ts';
import {
  decideAction,
  type EntryAction,
  type OperatorFacts,
} from '../../core/operator/operator-decision.ts';
import { familyOf, purchaseOf, type Family } from '../../core/order/purchase.ts';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { stillFitting } from '../read/bulk-entries.ts';
import { actionSubjectOf, findActingRow, type ActingRow } from '../read/order-detail.ts';
import { resultChanged } from '../results/due-results.ts';
import { recordAudit, unknownReference, type AuditedRequest } from '../sqlite/audit.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { isInQuestion, type EntryRow } from '../sqlite/rows.ts';
import { purchaseFactsOf } from '../entries/after-loss.ts';
import { applyCommand } from '../entries/entry-changes.ts';
import { findShared, rememberUnits } from '../entries/delivered-units.ts';
import { originOf, takeEsim } from '../entries/esim-origins.ts';
import { reorder } from '../entries/replacements.ts';
import { liftHold, makeOwnPurchase, whyVanished } from '../entries/shop-holds.ts';

export interface EntryCommand extends AuditedRequest {
  readonly reference: string;
  readonly order: EntryAction;
  readonly steadyMs: number;
  /** After this long since the first send a reference is not sent again, in ms. */
  readonly referenceExpiryMs: number;
  readonly lookupFamilies: readonly Family[];
}

/** The same action for at most `mostInStep` entries that a filter found. */
interface BulkCommand extends Omit<EntryCommand, 'reference' | 'order'> {
  readonly references: readonly string[];
  readonly order: BulkAction;
  readonly which: BulkFilter;
}

type PiecesCommand = AuditedRequest & { readonly reference: string; readonly pieces: number };

export type BulkResult = ResultOf<'bulk'>;

const findOtherPart = columnOf<[number, number], number>(
  'SELECT 1 FROM entries WHERE line_id = ? AND replaced = 0 AND id <> ?',
);
const selectInQuestion = statementOf<PiecesCommand, { lineId: number; flagId: number | null }>(
  'SELECT line_id AS lineId, flag_id AS flagId FROM pieces_in_question WHERE reference = :reference AND bought_pieces >= :pieces',
);
const endFlag = statementOf<[number, number | null], never>(
  'UPDATE rejections SET acknowledged_at_ms = ? WHERE id = ?',
);
const decidePieces = columnOf<[number, number | undefined], number>(
  "UPDATE lines SET extra = json_set(extra, '$.given_pieces', printf('%d', ?)) WHERE id = ? RETURNING request_id",
);
const findOpenCall = columnOf<[number], number>(
  'SELECT 1 FROM attempts WHERE entry_id = ? AND closed_at_ms IS NULL',
);

export type EntryCommandResult = ReturnType<typeof actOnEntry>;

/**
 * Reads, judges, writes and records the decision of an operator about an entry. A refusal leaves
 * everything as it was.
 */
export function actOnEntry(
  outbox: Outbox,
  command: EntryCommand & { readonly inBulk?: BulkFilter },
) {
  const { database } = outbox;
  const { reference, order, nowMs, inBulk } = command;
  const row = findActingRow(database).get(reference);
  if (row === undefined) throw unknownReference(reference);
  const verdict = decideAction(factsOf(outbox, row, command), order, {
    ...command,
    nowMs: command.steadyMs,
  });
  if (!verdict.ok) throw new OrderSyncError('NOT_ALLOWED', verdict.why, { hint: verdict.hint });
  const { move } = verdict;
  // A held entry shows why it is held.
  const reviewReason = move.state === 'held' ? command.reason : move.reviewReason;
  const as = order.action === 'reorder' ? (order.as ?? null) : null;
  if (as !== null) requireWholeLine(database, row);
  const newReference = move.reorders ? reorder(outbox, row, as, nowMs) : null;
  const resolvedBy = order.action === 'resolve' ? command.actor : null;
  if (!move.reorders) applyCommand(outbox, row, { ...move, reviewReason, resolvedBy }, nowMs);
  if (order.action === 'resolve' && order.as === 'fulfilled') {
    const iccids = (order.iccids ?? []).map((iccid) => ({ iccid }));
    takeUnits(outbox, row, [...(move.units ?? []), ...iccids]);
  }
  const isReleased = order.action === 'release';
  if (isReleased) liftHold(database, row);
  for (const { reference: subject } of isReleased ? makeOwnPurchase(outbox, row, nowMs) : []) {
    const held = { reason: whyVanished, action: 'hold', subject, detail: { instead: reference } };
    recordAudit(database, { ...command, ...held });
  }
  recordAudit(database, {
    ...command,
    action: order.action,
    subject: reference,
    detail: {
      before: auditedFields(row),
      after: auditedFields(findActingRow(database).get(reference) ?? row),
      ...(order.action === 'resolve' ? auditedResolution(order) : {}),
      ...(newReference === null
        ? {}
        : { new_reference: newReference, ...(as === null ? {} : { orders: as }) }),
      ...(inBulk === undefined ? {} : { in_bulk: inBulk }),
    },
  });
  /** `newReference`: that of the replacement, where the entry was ordered again. */
  return { reference, before: row.state, after: move.state, newReference };
}

/**
 * Decides, once, how many of the pieces that were bought the customer gets, where the shop's order
 * has fewer now.
 */
export function givePieces(outbox: Outbox, command: PiecesCommand) {
  const { reference, pieces, nowMs } = command;
  const found = selectInQuestion(outbox.database).all(command);
  const requestId = decidePieces(outbox.database).get(pieces, found[0]?.lineId);
  if (requestId === undefined) {
    throw new OrderSyncError(
      'NOT_ALLOWED',
      `for ${reference}, no decision about ${pieces} pieces is needed`,
      {
        hint: "this decision can be made once, for a delivered line of which the shop's paid order has fewer pieces now",
      },
    );
  }
  for (const { flagId } of found) endFlag(outbox.database).run(nowMs, flagId);
  resultChanged(outbox, requestId, nowMs, true);
  recordAudit(outbox.database, {
    ...command,
    action: 'give',
    subject: reference,
    detail: { pieces },
  });
  return { reference, before: 'fulfilled', after: 'fulfilled', newReference: null } as const;
}

/**
 * Acts on one entry after the other: after a refusal the others continue, and any other error ends
 * the step.
 */
export function actInBulk(
  outbox: Outbox,
  { references, order, which, ...command }: BulkCommand,
): BulkResult {
  const fitting = stillFitting(outbox.database, order, which, references);
  const changed: string[] = [];
  const refused: BulkResult['refused'][number][] = [];
  for (const reference of references) {
    try {
      if (!fitting.has(reference)) throw notFitting(outbox.database, reference);
      const one: EntryAction =
        order === 'reorder' ? { action: order, confirm: reference } : { action: order };
      actOnEntry(outbox, { ...command, reference, order: one, inBulk: which });
      changed.push(reference);
    } catch (error) {
      if (!hasCode(error, 'NOT_ALLOWED')) throw error;
      refused.push({ reference, message: error.message, hint: error.hint ?? '' });
    }
  }
  return { changed, refused };
}

/** Somebody or the worker changed the entry after the filter found it. */
function notFitting(database: Sqlite, reference: string): OrderSyncError {
  const state = findActingRow(database).get(reference)?.state;
  const why =
    state === undefined
      ? 'is not in the outbox'
      : `is ${state} now, or has changed since the filter found it`;
  return new OrderSyncError('NOT_ALLOWED', `${reference} ${why}`, {
    hint: 'check again which entries match the filter',
  });
}

/** Another request takes the place of what the whole line ordered, not of a part of it. */
function requireWholeLine(database: Sqlite, row: EntryRow): void {
  if (findOtherPart(database).get(row.line_id, row.id) === undefined) return;
  throw new OrderSyncError(
    'NOT_ALLOWED',
    `${row.reference} is a part of a line that was ordered in several orders`,
    {
      hint: 'order the rest of the line under a new line id, then end this row with `orders ack`',
    },
  );
}

/**
 * One unit, one customer: a delivered unit is not given to a second order. An order
 * that needs review itself was not delivered, so it gives its eSIMs up.
 */
function takeUnits(outbox: Outbox, row: EntryRow, units: readonly Unit[]): void {
  for (const unit of units) {
    const shared = findShared(outbox, row.id, [unit]);
    if (shared !== null && shared.other.state !== 'needs_review') {
      const message = `${shared.what} of these units came with the order ${shared.other.reference}`;
      throw new OrderSyncError('NOT_ALLOWED', message, {
        hint: 'compare the units with the list of the supplier; nothing was changed',
      });
    }
    if (unit.iccid !== undefined) takeEsim(outbox.database).run(unit.iccid, row.id);
  }
  rememberUnits(outbox, row, [], units);
}

function factsOf(outbox: Outbox, row: ActingRow, command: EntryCommand): OperatorFacts {
  const { database } = outbox;
  const isOriginKnown = row.operation !== 'esim_cancel' || originOf(database, row) !== null;
  return {
    ...purchaseOf(row),
    ...purchaseFactsOf(database, row),
    ...actionSubjectOf(database, row),
    reference: row.reference,
    nextStep: row.next_step,
    dueAtMs: row.due_steady,
    inFlightWindowEndMs: row.in_flight_window_end_steady,
    inFlightWindowLeftMs: Math.max(0, (row.in_flight_window_end_steady ?? 0) - command.steadyMs),
    notAfterMs: steadyOf(row.not_after_ms, { wallMs: command.nowMs, steadyMs: command.steadyMs }),
    units: isInQuestion(row) ? [] : outbox.units.of(row),
    inQuestion: isInQuestion(row),
    reviewReason: row.review_reason,
    callOpen: findOpenCall(database).get(row.id) !== undefined,
    canLookUp: command.lookupFamilies.includes(familyOf(row.operation)) && isOriginKnown,
  };
}

/** The fields of a resolution that the audit log keeps: never a code. */
function auditedResolution({
  as,
  note,
  iccids = [],
  units,
}: Extract<EntryAction, { action: 'resolve' }>): object {
  return { as, note, iccids, units_entered: units?.length ?? null };
}

function auditedFields(row: EntryRow): Record<string, unknown> {
  return {
    state: row.state,
    next_step: row.next_step,
    outcome_unknown: row.outcome_unknown === 1,
    held_from: row.held_from,
    replaced: row.replaced === 1,
    order_number: row.order_number,
    error_code: row.error_code,
    review_reason: row.review_reason,
  };
}
