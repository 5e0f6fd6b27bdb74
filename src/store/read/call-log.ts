import { isoTime } from '../../core/clock.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { numbersOf, pageOf, rowsToRead, type Page, type PageRequest } from './page.ts';

/** A call for an entry, as it was recorded. */
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

/** A call for an entry, whichever. */
export interface LoggedCall extends AttemptDetail {
  readonly id: number;
  readonly reference: string;
  readonly source: string;
  readonly orderId: string;
}

/** Which calls: those that fit everything that is given. */
export interface CallFilter {
  /** How it ended: a row of the decision table. */
  readonly outcome?: string | undefined;
  /** The calls that were opened before this time, in ms. */
  readonly untilMs?: number | undefined;
}

interface Row extends Omit<LoggedCall, 'openedAt' | 'closedAt' | 'sent'> {
  readonly openedMs: number;
  readonly closedMs: number | null;
  readonly sent: number | null;
}

export function callLogSql({ outcome, untilMs }: CallFilter, after: string | undefined): string {
  const conditions = [
    outcome === undefined ? null : 'a.outcome = :outcome',
    after === undefined ? null : 'a.id < :after',
    // The last call before that time, and those before it: ids rise with the time, except where the clock was set.
    untilMs === undefined
      ? null
      : 'a.id <= (SELECT b.id FROM attempts b WHERE b.opened_at_ms < :untilMs ORDER BY b.opened_at_ms DESC LIMIT 1)',
  ].filter((condition) => condition !== null);
  return `SELECT a.id, e.reference, r.source, r.order_id AS orderId, a.number, a.purpose, a.key_name AS keyName,
       a.opened_at_ms AS openedMs, a.closed_at_ms AS closedMs, a.sent, a.outcome, a.http_status AS httpStatus,
       a.error_code AS errorCode, a.error_message AS errorMessage, a.duration_ms AS durationMs
     FROM attempts a JOIN entries e ON e.id = a.entry_id JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
     ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`} ORDER BY a.id DESC LIMIT :limit`;
}

/** The calls for all entries, the last one first. */
export function readCallLog(database: Sqlite, filter: CallFilter, page: PageRequest): Page<LoggedCall> {
  const [after] = page.after === undefined ? [] : numbersOf(page.after, 1);
  const rows = database
    .prepare<[Record<string, unknown>], Row>(callLogSql(filter, page.after))
    .all({ ...filter, after, limit: rowsToRead(page) });
  return pageOf(rows, page, {
    keyOf: ({ id }) => [id],
    rowOf: ({ openedMs, closedMs, sent, ...call }) => ({
      ...call,
      openedAt: isoTime(openedMs),
      closedAt: closedMs === null ? null : isoTime(closedMs),
      sent: sent === null ? null : sent === 1,
    }),
  });
}
