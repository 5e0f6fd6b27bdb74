import { isoTime } from '../../core/clock.ts';
import { scopesOf } from '../../core/order/scope.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { numbersOf, pageOf, rowsToRead, type Page, type PageRequest } from './page.ts';

/**
 * The kinds of events, in the order in which events of the same ms are shown. `code` says which.
 */
export type TimelineKind =
  | 'received' // the order came in
  | 'entry' // an entry was made, `new`; or `replacement`, in the place of a rejected one
  | 'call' // a call was made; `code`: its purpose
  | 'answer' // it ended; `code`: its outcome, a row of the decision table; `subject`: `not_sent` if it never left
  | 'pause' // a scope was paused that the order needed, or resumed; `code`: `pause` or `resume`
  | 'decision' // an operator or a caller did something; `code`: the action
  | 'not_accepted' // a line was refused or flagged
  | 'corrected' // the shop sent it again, corrected
  | 'settled' // an entry reached its final state; `code`: the state
  | 'delivered' // a sink has the result; `code`: the sink
  | 'given_up'; // a sink did not take the result for days; `code`: the sink

export interface TimelineEvent {
  readonly id: string;
  readonly at: string;
  readonly kind: TimelineKind;
  readonly code: string;
  /** The entry that it happened to; null: the order as a whole. */
  readonly reference: string | null;
  readonly lineId: string | null;
  readonly actor: string | null;
  readonly number: number | null;
  readonly keyName: string | null;
  readonly httpStatus: number | null;
  readonly durationMs: number | null;
  /** A scope, the field of a line, or `not_sent`. */
  readonly subject: string | null;
  readonly errorCode: string | null;
  readonly message: string | null;
}

type Row = Omit<TimelineEvent, 'at' | 'id'> & { atMs: number; rank: number; id: number };

/**
 * A scope that entries of the order needed, from the time that the first one was made until the
 * last one was settled.
 */
type ScopeRow = Pick<EntryRow, 'operation' | 'variant' | 'plan' | 'currency'> & {
  fromMs: number;
  untilMs: number;
};

/** So many rejections, decisions and pauses of one order are shown. */
const shownOfOrder = 10_000;

const empty = `NULL AS reference, NULL AS lineId, NULL AS actor, NULL AS number, NULL AS keyName, NULL AS httpStatus,
  NULL AS durationMs, NULL AS subject, NULL AS errorCode, NULL AS message`;

// The columns of every part are those of the first one.
const eventsSql = `WITH
  own AS (SELECT e.id, e.reference, e.generation, e.part, e.state, e.created_at_ms, e.settled_at_ms, e.order_number, e.resolved_by,
            e.error_code, e.error_message, l.line_id, l.file_id
          FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = :requestId),
  needed AS (SELECT value ->> 'scope' AS scope, value ->> 'fromMs' AS from_ms, value ->> 'untilMs' AS until_ms FROM json_each(:scopes)),
  order_of AS (SELECT id, source, order_id, received_at_ms FROM requests WHERE id = :requestId)
SELECT received_at_ms AS atMs, 0 AS rank, id, 'received' AS kind, source AS code, ${empty} FROM order_of
UNION ALL
SELECT created_at_ms, 1, own.id, 'entry', CASE WHEN generation = 0 THEN 'new' ELSE 'replacement' END, reference, line_id, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, f.name
FROM own LEFT JOIN files f ON f.id = own.file_id AND own.generation = 0
UNION ALL
SELECT a.opened_at_ms, 2, a.id, 'call', a.purpose, reference, line_id, NULL, a.number, a.key_name, NULL, NULL, NULL, NULL, NULL
FROM own JOIN attempts a ON a.entry_id = own.id
UNION ALL
SELECT a.closed_at_ms, 3, a.id, 'answer', a.outcome, reference, line_id, NULL, a.number, a.key_name, a.http_status, a.duration_ms,
  CASE WHEN a.sent = 0 THEN 'not_sent' END, a.error_code, a.error_message
FROM own JOIN attempts a ON a.entry_id = own.id WHERE a.closed_at_ms IS NOT NULL
UNION ALL
SELECT * FROM (
  SELECT u.at_ms, 4, u.id, 'pause', u.action, NULL, NULL, u.actor, NULL, NULL, NULL, NULL, u.subject, NULL, u.reason
  FROM needed s CROSS JOIN audit u ON u.subject = s.scope AND u.at_ms BETWEEN s.from_ms AND s.until_ms
  WHERE u.action IN ('pause', 'resume') ORDER BY 1 LIMIT ${shownOfOrder})
UNION ALL
-- The pause that was there when the order came.
SELECT u.at_ms, 4, u.id, 'pause', u.action, NULL, NULL, u.actor, NULL, NULL, NULL, NULL, u.subject, NULL, u.reason
FROM needed s CROSS JOIN audit u ON u.id = (SELECT b.id FROM audit b WHERE b.subject = s.scope AND b.at_ms < s.from_ms
  ORDER BY b.at_ms DESC, b.id DESC LIMIT 1)
WHERE u.action = 'pause'
UNION ALL
SELECT * FROM (
  SELECT u.at_ms, 5, u.id, 'decision', u.action, own.reference, own.line_id, u.actor, NULL, NULL, NULL, NULL, u.subject, NULL, u.reason
  FROM own JOIN audit u ON u.subject = own.reference
  UNION ALL
  SELECT u.at_ms, 5, u.id, 'decision', u.action, NULL, u.detail ->> 'line_id', u.actor, NULL, NULL, NULL, NULL, u.subject, NULL, u.reason
  FROM order_of o JOIN audit u ON u.subject = o.source || '/' || o.order_id
  ORDER BY 1 LIMIT ${shownOfOrder})
UNION ALL
SELECT * FROM (
  SELECT j.created_at_ms, 6, j.id, 'not_accepted', j.code, NULL, j.line_id, NULL, NULL, NULL, NULL, NULL, j.field, NULL,
    j.rule || coalesce(', got ' || j.value, '')
  FROM order_of o JOIN rejections j ON j.source = o.source AND j.order_id = o.order_id ORDER BY j.id LIMIT ${shownOfOrder})
UNION ALL
SELECT * FROM (
  SELECT j.corrected_at_ms, 7, j.id, 'corrected', j.code, NULL, j.line_id, NULL, NULL, NULL, NULL, NULL, j.field, NULL, NULL
  FROM order_of o JOIN rejections j ON j.source = o.source AND j.order_id = o.order_id
  WHERE j.corrected_at_ms IS NOT NULL ORDER BY j.id LIMIT ${shownOfOrder})
UNION ALL
SELECT settled_at_ms, 8, id, 'settled', state, reference, line_id, resolved_by, NULL, NULL, NULL, NULL, order_number, error_code, error_message
FROM own WHERE settled_at_ms IS NOT NULL
UNION ALL
SELECT d.done_at_ms, 9, d.place, 'delivered', d.sink, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM (SELECT *, row_number() OVER (ORDER BY sink) AS place FROM deliveries WHERE request_id = :requestId) d WHERE d.done_at_ms IS NOT NULL
UNION ALL
SELECT d.given_up_at_ms, 10, d.place, 'given_up', d.sink, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, d.last_error
FROM (SELECT *, row_number() OVER (ORDER BY sink) AS place FROM deliveries WHERE request_id = :requestId) d WHERE d.given_up_at_ms IS NOT NULL`;

/** The work is that of one order: its own rows are found by its id, and sorted. */
export const selectEvents = statementOf<Record<string, unknown>, Row>(
  `SELECT * FROM (${eventsSql}) WHERE (atMs, rank, id) > (:afterMs, :afterRank, :afterId) ORDER BY atMs, rank, id LIMIT :limit`,
);
const selectScopes = statementOf<[number], ScopeRow>(
  `SELECT e.operation, e.variant, e.plan, e.currency, min(e.created_at_ms) AS fromMs,
     max(coalesce(e.settled_at_ms, ${Number.MAX_SAFE_INTEGER})) AS untilMs
   FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = ? GROUP BY 1, 2, 3, 4`,
);

export function readTimeline(
  database: Sqlite,
  requestId: number,
  page: PageRequest,
): Page<TimelineEvent> {
  const start = [Number.MIN_SAFE_INTEGER, 0, 0];
  const [afterMs, afterRank, afterId] = page.after === undefined ? start : numbersOf(page.after, 3);
  const scopes = JSON.stringify(neededScopes(selectScopes(database).all(requestId)));
  const limit = rowsToRead(page);
  const events = selectEvents(database)
    .all({ requestId, scopes, afterMs, afterRank, afterId, limit })
    .map(({ atMs, rank, id, ...event }) => ({
      ...event,
      id: `${atMs}.${rank}.${id}`,
      at: isoTime(atMs),
    }));
  return pageOf(events, page, ({ id }) => [id]);
}

/** A pause of one key is not among them: calls are made with another one. */
function neededScopes(rows: readonly ScopeRow[]): readonly object[] {
  const needed = rows.flatMap((row) => {
    const { product, family, balance } = scopesOf(row);
    return ['account', family, product, balance].map((scope) => ({ ...row, scope }));
  });
  return [...Map.groupBy(needed, ({ scope }) => scope)].map(([scope, all]) => ({
    scope,
    fromMs: Math.min(...all.map(({ fromMs }) => fromMs)),
    untilMs: Math.max(...all.map(({ untilMs }) => untilMs)),
  }));
}
