import type { Sqlite } from '../sqlite/database.ts';
import { isoOf } from '../sqlite/rows.ts';
import { numbersOf, readPage, whereOf, type Page, type PageRequest } from './page.ts';

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

/** The columns of an attempt `a`, as `AttemptDetail` has them. */
export const attemptColumns = `a.number, a.purpose, a.key_name AS keyName, ${isoOf('a.opened_at_ms')} AS openedAt,
  ${isoOf('a.closed_at_ms')} AS closedAt, a.sent, a.outcome, a.http_status AS httpStatus, a.error_code AS errorCode,
  a.error_message AS errorMessage, a.duration_ms AS durationMs`;

/** SQLite has no boolean. */
export type Stored<Detail extends AttemptDetail> = Omit<Detail, 'sent'> & { readonly sent: number | null };
export function attemptFrom<Row extends { sent: number | null }>(
  row: Row,
): Omit<Row, 'sent'> & { sent: boolean | null } {
  return { ...row, sent: row.sent === null ? null : row.sent === 1 };
}

export function callLogSql({ outcome, untilMs }: CallFilter, after: string | undefined): string {
  const where = whereOf([
    outcome !== undefined && 'a.outcome = :outcome',
    after !== undefined && 'a.id < :after',
    // The last call before that time, and those before it: ids rise with the time, except where the clock was set.
    untilMs !== undefined &&
      'a.id <= (SELECT b.id FROM attempts b WHERE b.opened_at_ms < :untilMs ORDER BY b.opened_at_ms DESC LIMIT 1)',
  ]);
  return `SELECT a.id, e.reference, r.source, r.order_id AS orderId, ${attemptColumns}
     FROM attempts a JOIN entries e ON e.id = a.entry_id JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
     ${where} ORDER BY a.id DESC LIMIT :limit`;
}

/** The calls for all entries, the last one first. */
export function readCallLog(database: Sqlite, filter: CallFilter, page: PageRequest): Page<LoggedCall> {
  const [after] = page.after === undefined ? [] : numbersOf(page.after, 1);
  const asked = [callLogSql(filter, page.after), { ...filter, after }] as const;
  return readPage<Stored<LoggedCall>, LoggedCall>(database, asked, page, {
    keyOf: ({ id }) => [id],
    rowOf: attemptFrom,
  });
}
