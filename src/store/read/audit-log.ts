import { isoOf, recordFrom } from '../sqlite/rows.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { numbersOf, pageOf, rowsToRead, whereOf, type Page, type PageRequest } from './page.ts';

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
  /** Only what people decided, not the worker or a shop. */
  readonly byPeople?: boolean | undefined;
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

export function auditLogSql(
  { actor, byPeople, action, subject, sinceMs, untilMs }: AuditFilter,
  after: string | undefined,
): string {
  const where = whereOf([
    subject !== undefined && 'subject = :subject',
    // A subject has the fewest rows, and an action has more than an actor: the plus keeps SQLite
    // from using their index.
    actor !== undefined && `${subject === undefined ? '' : '+'}actor = :actor`,
    action !== undefined &&
      `${subject === undefined && actor === undefined ? '' : '+'}action = :action`,
    byPeople === true && "(+actor LIKE 'cli:%' OR +actor LIKE 'page:%')",
    sinceMs !== undefined && 'at_ms >= :sinceMs',
    untilMs !== undefined && 'at_ms < :untilMs',
    after !== undefined && '(at_ms, id) < (:afterMs, :afterId)',
  ]);
  return `SELECT id, ${isoOf('at_ms')} AS at, actor, action, subject, reason, detail FROM audit
     ${where} ORDER BY at_ms DESC, id DESC LIMIT :limit`;
}

export function readAuditLog(
  database: Sqlite,
  filter: AuditFilter,
  page: PageRequest,
): Page<AuditEntry> {
  const [afterMs, afterId] = page.after === undefined ? [] : numbersOf(page.after, 2);
  const rows = database
    .prepare<[object], Omit<AuditEntry, 'detail'> & { detail: string }>(
      auditLogSql(filter, page.after),
    )
    .all({ ...filter, byPeople: undefined, afterMs, afterId, limit: rowsToRead(page) })
    .map((entry) => ({ ...entry, detail: recordFrom(entry.detail) }));
  return pageOf(rows, page, ({ at, id }) => [Date.parse(at), id]);
}
