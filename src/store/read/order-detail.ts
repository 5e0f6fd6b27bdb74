import { isoTime } from '../../core/clock.ts';
import { assert } from '../../core/order-sync-error.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { unitsFrom, type EntryRow } from '../sqlite/rows.ts';
import type { AuditDetail, AttemptDetail, EntryDetail, OrderDetail } from './outbox-reader.ts';
import type { Rejection } from '../intake/intake.ts';

interface AttemptRow {
  readonly number: number;
  readonly purpose: string;
  readonly key_name: string;
  readonly opened_at_ms: number;
  readonly closed_at_ms: number | null;
  readonly sent: number | null;
  readonly outcome: string | null;
  readonly http_status: number | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly duration_ms: number | null;
}

function attemptFrom(row: AttemptRow): AttemptDetail {
  return {
    number: row.number,
    purpose: row.purpose,
    keyName: row.key_name,
    openedAt: isoTime(row.opened_at_ms),
    closedAt: row.closed_at_ms === null ? null : isoTime(row.closed_at_ms),
    sent: row.sent === null ? null : row.sent === 1,
    outcome: row.outcome,
    httpStatus: row.http_status,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    durationMs: row.duration_ms,
  };
}

function askedFor(row: EntryRow): string {
  const what = row.variant ?? row.plan;
  const parts = [
    row.quantity === null ? null : `${row.quantity} x`,
    what,
    row.days === null ? null : `for ${row.days} days`,
    row.iccid === null ? null : `on ${row.iccid}`,
    row.currency === null ? null : `in ${row.currency}`,
  ];
  return parts.filter((part) => part !== null).join(' ');
}

const moving: readonly string[] = ['pending', 'waiting', 'unknown', 'placed'];

function entryFrom(database: Sqlite, row: EntryRow & { line_name: string }): EntryDetail {
  const attempts = database
    .prepare<[number], AttemptRow>('SELECT * FROM attempts WHERE entry_id = ? ORDER BY number')
    .all(row.id)
    .map(attemptFrom);
  return {
    reference: row.reference,
    lineId: row.line_name,
    operation: row.operation,
    asked: askedFor(row),
    state: row.state,
    outcomeUnknown: row.outcome_unknown === 1,
    heldFrom: row.held_from,
    replaced: row.replaced === 1,
    nextAttemptAt: moving.includes(row.state) ? isoTime(row.due_at_ms) : null,
    nextStep: row.next_step,
    orderNumber: row.order_number,
    cost: row.cost,
    currency: row.charged_currency ?? row.currency,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    reviewReason: row.review_reason,
    unitCount: unitsFrom(row.units).length,
    attempts,
  };
}

const shownDecisions = 1000;

/** All that is known of one order: its entries with every attempt, what was not accepted, and its deliveries. */
export function readOrderDetail(database: Sqlite, requestId: number): OrderDetail {
  const request = database
    .prepare<[number], { source: string; order_id: string; received_at_ms: number; updated_at_ms: number }>(
      'SELECT source, order_id, received_at_ms, updated_at_ms FROM requests WHERE id = ?',
    )
    .get(requestId);
  assert(request !== undefined, `request ${requestId} exists`);
  const entries = database
    .prepare<[number], EntryRow & { line_name: string }>(
      `SELECT e.*, l.line_id AS line_name FROM entries e JOIN lines l ON l.id = e.line_id
       WHERE l.request_id = ? ORDER BY l.id, e.generation, e.part`,
    )
    .all(requestId);
  const rejections = database
    .prepare<[string, string], Rejection>(
      `SELECT line_number AS lineNumber, source, order_id AS orderId, line_id AS lineId, code, field, rule, value,
              created_at_ms AS createdAtMs FROM rejections WHERE source = ? AND order_id = ? ORDER BY id LIMIT 1000`,
    )
    .all(request.source, request.order_id);
  const deliveries = database
    .prepare<
      [number],
      {
        sink: string;
        done: number;
        done_at_ms: number | null;
        last_error: string | null;
        given_up_at_ms: number | null;
      }
    >(
      `SELECT sink, done_version >= due_version AS done, done_at_ms, last_error, given_up_at_ms FROM deliveries
       WHERE request_id = ?`,
    )
    .all(requestId);
  const subjects = [`${request.source}/${request.order_id}`, ...entries.map((row) => row.reference)];
  const audit = database
    .prepare<[string, number], Omit<AuditDetail, 'at'> & { atMs: number }>(
      `SELECT at_ms AS atMs, actor, action, subject, reason FROM audit
       WHERE subject IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`,
    )
    .all(JSON.stringify(subjects), shownDecisions);
  return {
    id: requestId,
    source: request.source,
    orderId: request.order_id,
    receivedAt: isoTime(request.received_at_ms),
    updatedAt: isoTime(request.updated_at_ms),
    entries: entries.map((row) => entryFrom(database, row)),
    rejections,
    audit: audit.map(({ atMs, ...decision }) => ({ at: isoTime(atMs), ...decision })),
    deliveries: deliveries.map((row) => ({
      sink: row.sink,
      done: row.done === 1,
      doneAt: row.done_at_ms === null ? null : isoTime(row.done_at_ms),
      lastError: row.last_error,
      givenUpAt: row.given_up_at_ms === null ? null : isoTime(row.given_up_at_ms),
    })),
  };
}
