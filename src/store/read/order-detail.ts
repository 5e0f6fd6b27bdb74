import { isoTime } from '../../core/clock.ts';
import { mayBeBought } from '../../core/entry/may-be-bought.ts';
import { productScope } from '../../core/scopes/scope.ts';
import { assert } from '../../core/order-sync-error.ts';
import { rejectionColumns } from '../intake/files.ts';
import type { Rejection } from '../intake/intake.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { orderedText } from '../../core/order/purchase.ts';
import { purchaseFactsOf, readAfterLossUntil } from '../sqlite/lost-outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { readExposure } from '../submission/open-calls.ts';
import { readPauses } from '../submission/paused-scopes.ts';
import type { Pause } from '../submission/submission.ts';
import type { AttemptDetail } from './call-log.ts';
import type { AuditDetail, DeliveryDetail, EntryDetail, OrderDetail } from './outbox-reader.ts';
import { holdUp, isEveryKeyPaused } from './pause-effects.ts';
import { dueStates } from './queue-facts.ts';

const shownDecisions = 1000;
const shownRejections = 1000;

function attemptsOf(database: Sqlite, reference: string): readonly AttemptDetail[] {
  return database
    .prepare<[string], Omit<AttemptDetail, 'sent'> & { sent: number | null }>(
      `SELECT number, purpose, key_name AS keyName, opened_at AS openedAt, closed_at AS closedAt, sent, outcome,
         http_status AS httpStatus, error_code AS errorCode, error_message AS errorMessage, duration_ms AS durationMs
       FROM attempt_log WHERE reference = ? ORDER BY number`,
    )
    .all(reference)
    .map((attempt) => ({ ...attempt, sent: attempt.sent === null ? null : attempt.sent === 1 }));
}

/** The purchase in words, for example `2 x steam-10 in USD`. */
type ShownRow = EntryRow & {
  readonly shop_line_id: string;
  readonly lane: string;
  readonly same_as: number | null;
  readonly recheck_since_ms: number | null;
  readonly recheck_problem: string | null;
};

/** What decides, beside its own row, what an entry waits for and what may be done to it. */
interface EntryContext {
  readonly pauses: readonly Pause[];
  readonly isEveryKeyPaused: boolean;
  /** How many unknown outcomes a product has. */
  readonly unknownOf: (product: string) => number;
  /** See `readAfterLossUntil`. */
  readonly afterLossUntilMs: number | null;
}

function readEntryContext(database: Sqlite): EntryContext {
  const pauses = readPauses(database);
  const { products } = readExposure(database);
  return {
    pauses,
    isEveryKeyPaused: isEveryKeyPaused(database, pauses),
    unknownOf: (product) => products.get(product)?.unknown ?? 0,
    afterLossUntilMs: readAfterLossUntil(database),
  };
}

/** The pauses that keep the next call for an entry from being made. */
function pausesOf(row: ShownRow, context: EntryContext): readonly Pause[] {
  const { state, next_step: nextStep, lane } = row;
  if (!dueStates.includes(state)) return [];
  return context.pauses.filter((pause) => {
    if (pause.scope === 'account') return true;
    if (pause.scope.startsWith('key:')) return context.isEveryKeyPaused;
    if (state === 'placed' || nextStep === 'lookup') return false;
    return (state === 'pending' || state === 'waiting' || state === 'unknown') && holdUp([pause])({ state, lane });
  });
}

/** Whether the entry waits until its order was read again from the shop. */
function recheckOf(row: ShownRow): EntryDetail['awaitsRecheck'] {
  const { state, recheck_since_ms: sinceMs, recheck_problem: problem } = row;
  if (sinceMs === null || row.due_before_recheck_ms === null) return null;
  return state === 'pending' || state === 'waiting' ? { since: isoTime(sinceMs), problem } : null;
}

function entryFrom(database: Sqlite, row: ShownRow, context: EntryContext): EntryDetail {
  const product = productScope(row);
  const awaitsRecheck = recheckOf(row);
  return {
    reference: row.reference,
    lineId: row.shop_line_id,
    operation: row.operation,
    asked: orderedText(row),
    state: row.state,
    outcomeUnknown: row.outcome_unknown === 1,
    mayBeBought: mayBeBought(purchaseFactsOf(row, context.afterLossUntilMs)),
    heldFrom: row.held_from,
    replaced: row.replaced === 1,
    hasOtherId: row.same_as !== null,
    nextAttemptAt: dueStates.includes(row.state) && awaitsRecheck === null ? isoTime(row.due_at_ms) : null,
    nextStep: row.next_step,
    awaitsRecheck,
    pausedBy: pausesOf(row, context).map(({ scope, reason, sinceMs }) => ({
      scope,
      reason,
      since: isoTime(sinceMs),
    })),
    product,
    unknownOfProduct: product === null ? 0 : context.unknownOf(product),
    orderNumber: row.order_number,
    cost: row.cost,
    currency: row.charged_currency ?? row.currency,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    reviewReason: row.review_reason,
    unitCount: row.unit_count,
    shreddedAt: row.shredded_at_ms === null ? null : isoTime(row.shredded_at_ms),
    unitsMissing: row.units_missing,
    attempts: attemptsOf(database, row.reference),
  };
}

/** Everything about one order: its entries with every attempt, its rejections, its deliveries and its audit entries. */
export function readOrderDetail(database: Sqlite, requestId: number): OrderDetail {
  const request = database
    .prepare<[number], { source: string; orderId: string; receivedAtMs: number; updatedAtMs: number }>(
      `SELECT source, order_id AS orderId, received_at_ms AS receivedAtMs, updated_at_ms AS updatedAtMs
       FROM requests WHERE id = ?`,
    )
    .get(requestId);
  assert(request !== undefined, `request ${requestId} exists`);
  const { source, orderId } = request;
  const entries = database
    .prepare<[number], ShownRow>(
      `SELECT e.*, l.line_id AS shop_line_id, l.same_as, o.recheck_since_ms, o.recheck_problem
       FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
       LEFT JOIN storefront_orders o ON o.source = r.source AND o.order_id = r.order_id
       WHERE l.request_id = ? ORDER BY l.id, e.generation, e.part`,
    )
    .all(requestId);
  const context = readEntryContext(database);
  const rejections = database
    .prepare<[string, string], Rejection>(
      `SELECT ${rejectionColumns} FROM rejections WHERE source = ? AND order_id = ? ORDER BY id LIMIT ${shownRejections}`,
    )
    .all(source, orderId);
  const deliveries = database
    .prepare<[string, string], Omit<DeliveryDetail, 'done'> & { done: number }>(
      `SELECT sink, done, done_at AS doneAt, last_error AS lastError, given_up_at AS givenUpAt
       FROM delivery_log WHERE source = ? AND order_id = ?`,
    )
    .all(source, orderId);
  const subjects = [`${source}/${orderId}`, ...entries.map((row) => row.reference)];
  const audit = database
    .prepare<[string], AuditDetail>(
      `SELECT at, actor, action, subject, reason FROM audit_log
       WHERE subject IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ${shownDecisions}`,
    )
    .all(JSON.stringify(subjects));
  return {
    id: requestId,
    source,
    orderId,
    receivedAt: isoTime(request.receivedAtMs),
    updatedAt: isoTime(request.updatedAtMs),
    entries: entries.map((row) => entryFrom(database, row, context)),
    rejections,
    audit,
    deliveries: deliveries.map((delivery) => ({ ...delivery, done: delivery.done === 1 })),
  };
}
