import { isoTime } from '../../core/clock.ts';
import { recordFrom } from '../sqlite/rows.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { numbersOf, pageOf, rowsToRead, type Page, type PageRequest } from './page.ts';

/** One decision: who decided what about which subject, and why. */
export interface AuditEntry {
  readonly id: number;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  /** A reference, `source/order_id`, a scope, or the id of a row of the attention list. */
  readonly subject: string;
  readonly reason: string;
  /** The changes. It never has a code in it. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Which rows of the audit log: those that fit everything that is given. */
export interface AuditFilter {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** The end is not included. */
  readonly untilMs?: number | undefined;
}

interface Row extends Omit<AuditEntry, 'at' | 'detail'> {
  readonly atMs: number;
  readonly detail: string;
}

/** The text of the statement has only the conditions that are asked for: then SQLite uses the index of them. */
export function auditLogSql(filter: AuditFilter, after: string | undefined): string {
  const { actor, action, subject, sinceMs, untilMs } = filter;
  const conditions = [
    subject === undefined ? null : 'subject = :subject',
    // A subject has the fewest rows, and an action has more than an actor: the plus keeps SQLite from using their index.
    actor === undefined ? null : `${subject === undefined ? '' : '+'}actor = :actor`,
    action === undefined ? null : `${subject === undefined && actor === undefined ? '' : '+'}action = :action`,
    sinceMs === undefined ? null : 'at_ms >= :sinceMs',
    untilMs === undefined ? null : 'at_ms < :untilMs',
    after === undefined ? null : '(at_ms, id) < (:afterMs, :afterId)',
  ].filter((condition) => condition !== null);
  return `SELECT id, at_ms AS atMs, actor, action, subject, reason, detail FROM audit
     ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`} ORDER BY at_ms DESC, id DESC LIMIT :limit`;
}

/** The audit log, newest first. */
export function readAuditLog(database: Sqlite, filter: AuditFilter, page: PageRequest): Page<AuditEntry> {
  const [afterMs, afterId] = page.after === undefined ? [] : numbersOf(page.after, 2);
  const rows = database
    .prepare<[Record<string, unknown>], Row>(auditLogSql(filter, page.after))
    .all({ ...filter, afterMs, afterId, limit: rowsToRead(page) });
  return pageOf(rows, page, {
    keyOf: ({ atMs, id }) => [atMs, id],
    rowOf: ({ atMs, detail, ...entry }) => ({ ...entry, at: isoTime(atMs), detail: recordFrom(detail) }),
  });
}
