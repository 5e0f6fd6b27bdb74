import { isoTime } from '../../core/clock.ts';
import type { AwaitedRecheck } from '../../core/operator/queue-explanation.ts';
import { mayBeBought } from '../../core/entry/may-be-bought.ts';
import type { ActionSubject } from '../../core/entry/states.ts';
import { orderedText } from '../../core/order/purchase.ts';
import { assert, OrderSyncError } from '../../core/order-sync-error.ts';
import { productScope } from '../../core/order/scope.ts';
import { rejectionColumns, type Rejection } from '../intake/rejections.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { wallAhead } from '../sqlite/steady-time.ts';
import { purchaseFactsOf } from '../entries/after-loss.ts';
import { isoOf, type EntryRow } from '../sqlite/rows.ts';
import { readExposure } from '../entries/open-calls.ts';
import { awaitedKeyOf } from '../entries/sender-keys.ts';
import { type Pause, readPauses } from '../entries/pauses.ts';
import type { AuditEntry } from './audit-log.ts';
import { everySource } from './entries-by-source.ts';
import { holdUp, isEveryKeyPaused } from './pause-effects.ts';
import { dueStates } from './queue-facts.ts';

export interface AttemptDetail {
  readonly number: number;
  readonly purpose: string;
  readonly keyName: string;
  readonly openedAt: string;
  readonly closedAt: string | null;
  readonly sent: boolean | null;
  readonly outcome: string | null;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly durationMs: number | null;
}

/** One decision; its subject is a reference, or the order itself. */
type AuditDetail = Omit<AuditEntry, 'id' | 'detail'>;

/** So many rejections and decisions of one order are shown. */
const shownOfOrder = 1000;

type ShownRow = ActingRow & {
  readonly shop_line_id: string;
  readonly lane: string;
  readonly recheck_since_ms: number | null;
  readonly recheck_problem: string | null;
};
type FoundOrder = { readonly id: number } & Readonly<Record<'source' | 'orderId', string>>;

const selectOfId = statementOf<[string], FoundOrder>(
  `${everySource} SELECT r.id, r.source, r.order_id AS orderId FROM sources s
   JOIN requests r ON r.source = s.source AND r.order_id = ? ORDER BY r.id DESC LIMIT 11`,
);
const selectOfShop = statementOf<[string, string], FoundOrder & { version: number }>(
  'SELECT id, source, order_id AS orderId, version FROM requests WHERE source = ? AND order_id = ?',
);
const selectOfEntry = columnOf<[string], number>(
  'SELECT l.request_id FROM entries e JOIN lines l ON l.id = e.line_id WHERE e.reference = ?',
);
const selectOrder = statementOf<
  [number],
  FoundOrder & Readonly<Record<'receivedAt' | 'updatedAt', string>>
>(
  `SELECT id, source, order_id AS orderId, ${isoOf('received_at_ms')} AS receivedAt, ${isoOf('updated_at_ms')} AS updatedAt
   FROM requests WHERE id = ?`,
);
const selectEntries = statementOf<[number], ShownRow>(
  `SELECT e.*, l.line_id AS shop_line_id, l.same_as, o.recheck_since_ms, o.recheck_problem
   FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
   LEFT JOIN storefront_orders o ON o.source = r.source AND o.order_id = r.order_id
   WHERE l.request_id = ? ORDER BY l.id, e.generation, e.part`,
);
const selectAttempts = statementOf<
  [number],
  Omit<AttemptDetail, 'sent'> & { readonly sent: number | null }
>(
  `SELECT number, purpose, key_name AS keyName, ${isoOf('opened_at_ms')} AS openedAt, ${isoOf('closed_at_ms')} AS closedAt, sent,
     outcome, http_status AS httpStatus, error_code AS errorCode, error_message AS errorMessage, duration_ms AS durationMs
   FROM attempts WHERE entry_id = ? ORDER BY number`,
);
const selectRejections = statementOf<[string, string], Rejection>(
  `SELECT ${rejectionColumns} FROM rejections WHERE source = ? AND order_id = ? ORDER BY id LIMIT ${shownOfOrder}`,
);
const selectDeliveries = statementOf<
  [string, string],
  { sink: string; done: number } & Readonly<
    Record<'doneAt' | 'lastError' | 'givenUpAt', string | null>
  >
>(
  `SELECT sink, done, done_at AS doneAt, last_error AS lastError, given_up_at AS givenUpAt
   FROM delivery_log WHERE source = ? AND order_id = ?`,
);
const selectIccids = columnOf<[number], string>(
  'SELECT iccid FROM esims WHERE entry_id = ? ORDER BY iccid',
);
/** What other orders did with the eSIMs of an order. */
const selectOfEsims = statementOf<
  [number],
  Readonly<Record<'iccid' | 'operation' | 'state' | 'source' | 'orderId' | 'reference', string>>
>(
  `SELECT s.iccid, o.operation, o.state, r.source, r.order_id AS orderId, o.reference
   FROM lines l JOIN entries e ON e.line_id = l.id JOIN esims s ON s.entry_id = e.id
   JOIN entries o ON o.iccid = s.iccid JOIN lines ol ON ol.id = o.line_id JOIN requests r ON r.id = ol.request_id
   WHERE l.request_id = ? AND ol.request_id <> l.request_id ORDER BY o.id LIMIT ${shownOfOrder}`,
);
const selectAudit = statementOf<[string], AuditDetail>(
  `SELECT at, actor, action, subject, reason FROM audit_log
   WHERE subject IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ${shownOfOrder}`,
);

/** An entry, and the line that its own line came in the place of. */
export type ActingRow = EntryRow & { readonly same_as: number | null };

export const findActingRow = statementOf<[reference: string], ActingRow>(
  'SELECT e.*, l.same_as FROM entries e JOIN lines l ON l.id = e.line_id WHERE e.reference = ?',
);

export function actionSubjectOf(database: Sqlite, row: ActingRow): ActionSubject {
  return {
    state: row.state,
    mayBeBought: mayBeBought(purchaseFactsOf(database, row)),
    heldFrom: row.held_from,
    replaced: row.replaced === 1,
    hasOtherId: row.same_as !== null,
    unitsMissing: row.units_missing,
  };
}

/** The facts outside its own row that decide what an entry waits for. */
function readEntryContext(database: Sqlite) {
  const pauses = readPauses(database);
  return {
    pauses,
    isEveryKeyPaused: isEveryKeyPaused(database, pauses),
    unknown: readExposure(database).products,
  };
}

type EntryContext = ReturnType<typeof readEntryContext>;

function pausesOf(row: ShownRow, context: EntryContext): readonly Pause[] {
  const { state, next_step: nextStep, lane } = row;
  if (!dueStates.includes(state)) return [];
  return context.pauses.filter((pause) => {
    if (pause.scope === 'account') return true;
    if (pause.scope.startsWith('key:')) return context.isEveryKeyPaused;
    if (state === 'placed' || nextStep === 'lookup') return false;
    return (
      (state === 'pending' || state === 'waiting' || state === 'unknown') &&
      holdUp([pause])({ state, lane })
    );
  });
}

function recheckOf(row: ShownRow): AwaitedRecheck | null {
  const { state, recheck_since_ms: sinceMs, recheck_problem: problem } = row;
  if (sinceMs === null || row.due_before_recheck_steady === null) return null;
  return state === 'pending' || state === 'waiting' ? { since: isoTime(sinceMs), problem } : null;
}

function readAttempts(database: Sqlite, entryId: number): readonly AttemptDetail[] {
  const rows = selectAttempts(database).all(entryId);
  return rows.map((row) => ({ ...row, sent: row.sent === null ? null : row.sent === 1 }));
}

export type EntryDetail = Readonly<ReturnType<typeof entryFrom>>;

function entryFrom(database: Sqlite, row: ShownRow, context: EntryContext) {
  const product = productScope(row);
  const awaitsRecheck = recheckOf(row);
  return {
    reference: row.reference,
    lineId: row.shop_line_id,
    operation: row.operation,
    /** The purchase in words, for example `2 x steam-10 in USD`. */
    asked: orderedText(row),
    ...actionSubjectOf(database, row),
    /** An attempt may have been processed, and nothing has settled it yet. */
    outcomeUnknown: row.outcome_unknown === 1,
    nextAttemptAt:
      dueStates.includes(row.state) && awaitsRecheck === null
        ? isoTime(row.due_steady + (wallAhead(database).get() ?? 0))
        : null,
    nextStep: row.next_step,
    /**
     * Until its order was read again from the shop there is no next attempt; null: it does not wait
     * for that.
     */
    awaitsRecheck,
    waitsForKey: awaitedKeyOf(database, row.reference),
    pausedBy: pausesOf(row, context).map(({ scope, reason, sinceMs }) => ({
      scope,
      reason,
      since: isoTime(sinceMs),
    })),
    /** The product that it buys, as a scope; null for a cancel. */
    product,
    /** How many entries of its product have an unknown outcome, itself included. */
    unknownOfProduct: product === null ? 0 : (context.unknown.get(product)?.unknown ?? 0),
    orderNumber: row.order_number,
    cost: row.cost,
    currency: row.charged_currency ?? row.currency,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    reviewReason: row.review_reason,
    iccids: selectIccids(database).all(row.id),
    unitCount: row.unit_count,
    shreddedAt: row.shredded_at_ms === null ? null : isoTime(row.shredded_at_ms),
    attempts: readAttempts(database, row.id),
  };
}

export type OrderDetail = Readonly<ReturnType<typeof readOrderDetail>>;
export type DeliveryDetail = OrderDetail['deliveries'][number];

/**
 * Everything about one order: its entries with every attempt, its rejections, its deliveries and
 * its audit entries.
 */
function readOrderDetail(database: Sqlite, requestId: number) {
  const order = selectOrder(database).get(requestId);
  assert(order !== undefined, `request ${requestId} exists`);
  const { source, orderId } = order;
  const entries = selectEntries(database).all(requestId);
  const context = readEntryContext(database);
  const subjects = [`${source}/${orderId}`, ...entries.map((row) => row.reference)];
  return {
    ...order,
    entries: entries.map((row) => entryFrom(database, row, context)),
    esimOrders: selectOfEsims(database).all(requestId),
    rejections: selectRejections(database).all(source, orderId),
    /** The decisions of people and callers about it, oldest first. */
    audit: selectAudit(database).all(JSON.stringify(subjects)),
    deliveries: selectDeliveries(database)
      .all(source, orderId)
      .map((delivery) => ({ ...delivery, done: delivery.done === 1 })),
  };
}

/** @throws OrderSyncError USAGE when several shops have an order of that id and none was named */
export function showOrder(
  database: Sqlite,
  source: string | null,
  orderId: string,
): OrderDetail | null {
  const found =
    source === null
      ? selectOfId(database).all(orderId)
      : selectOfShop(database).all(source, orderId);
  if (found.length > 1) {
    const sources = found.map((order) => order.source);
    throw new OrderSyncError(
      'USAGE',
      `Order ${orderId} exists in several sources: ${sources.join(', ')}`,
      {
        hint: `name one of them: --source ${sources[0]}`,
      },
    );
  }
  return found[0] === undefined ? null : readOrderDetail(database, found[0].id);
}

export function showEntry(database: Sqlite, reference: string): OrderDetail | null {
  const requestId = selectOfEntry(database).get(reference);
  return requestId === undefined ? null : readOrderDetail(database, requestId);
}

/** An order, and the version of its result, which rises when the result changes. */
export function findOrder(
  database: Sqlite,
  source: string,
  orderId: string,
): { readonly requestId: number; readonly version: number } | null {
  const found = selectOfShop(database).get(source, orderId);
  return found === undefined ? null : { requestId: found.id, version: found.version };
}
