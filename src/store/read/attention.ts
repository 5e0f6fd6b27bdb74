import { Buffer } from 'node:buffer';
import { isoTime } from '../../core/clock.ts';
import {
  attentionMessage,
  holdsUp,
  whatToDo,
  type AttentionReason,
} from '../../core/operator/attention.ts';
import type { Affected } from '../../core/operator/affected.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { readAffected } from './affected.ts';
import { readPauseEffects } from './pause-effects.ts';
import { noSuchPlace, pageOf, rowsToRead, whereOf, type Page, type PageRequest } from './page.ts';

/**
 * The kinds of rows of the attention list. The view `outbox_attention` says when each stands in it.
 */
export const attentionKinds = [
  'needs_review',
  'held',
  'unknown',
  'waiting',
  'rejected',
  'expired',
  'needs_manual_delivery',
  'shown_twice',
  'uncounted_cost',
  'invalid_line',
  'storefront',
  'invalid_file',
  'delivery',
  'lookup',
  'money',
  'older_copy',
  'key_used_elsewhere',
  'pause',
] as const;
export type AttentionKind = (typeof attentionKinds)[number];

/** A row of the attention list: see the view `outbox_attention`. */
export interface Attention {
  readonly kind: AttentionKind;
  /** Names the row for `orders ack`: the reference of an entry, else for example `line:17`. */
  readonly id: string;
  readonly reference: string | null;
  readonly source: string | null;
  readonly orderId: string | null;
  readonly lineId: string | null;
  /** Why it stands there: see `core/operator/attention.ts`. */
  readonly reason: AttentionReason;
  readonly state: string;
  /** The event, by a stable name; for an entry the code that its result has, too. */
  readonly code: string;
  readonly message: string | null;
  readonly since: string;
  readonly scope: string | null;
  readonly holdsUp: string;
  readonly whatToDo: string;
  /** Nothing is open any more: an operator may acknowledge it. Anything else needs a decision. */
  readonly canAcknowledge: boolean;
}

/**
 * Rows of the attention list with the same cause: they are of one kind, with one code, about one
 * subject.
 */
export interface AttentionGroup extends Attention {
  /** How many rows; the group has what is said of the oldest of them. */
  readonly count: number;
  readonly sources: number;
  /** What they are about: a product, a paused scope or a sink; null: their code says it all. */
  readonly subject: string | null;
  /** Null: it is about no entry. */
  readonly affects: Affected | null;
}

/** Which rows of the attention list: those that fit everything that is given. */
export interface AttentionFilter {
  readonly ids?: readonly string[] | undefined;
  readonly kind?: string | undefined;
  readonly subject?: string | undefined;
  readonly code?: string | undefined;
  readonly source?: string | undefined;
  readonly beforeMs?: number | undefined;
  readonly canAcknowledge?: boolean | undefined;
}

type Selection = AttentionFilter & { readonly after?: string | undefined };

type Row = Omit<Attention, 'canAcknowledge' | 'holdsUp' | 'whatToDo'> & {
  readonly canAcknowledge: number;
  readonly evidence: string | null;
};
/** `entries`: the references of its entries, as JSON. */
type GroupRow = Row &
  Pick<AttentionGroup, 'count' | 'sources' | 'subject'> & { readonly entries: string };

const subjectOf = `coalesce(scope, (SELECT coalesce(e.variant, e.plan) FROM entries e WHERE e.reference = outbox_attention.reference),
  evidence ->> '$.sink')`;
const rowColumns = `kind, reason, id, reference, source, order_id AS orderId, line_id AS lineId, state, code, message, scope,
  evidence, can_acknowledge AS canAcknowledge`;

const ordered = "ORDER BY kind = 'waiting', can_acknowledge, since DESC, id";

/**
 * The rows, at most so many: rows that need a decision or hold up others come first, then the
 * newest.
 */
export function readAttention(
  database: Sqlite,
  limit: number,
  filter: AttentionFilter = {},
): readonly Attention[] {
  return select(database, limit, filter, ordered);
}

export function readAttentionPage(
  database: Sqlite,
  filter: AttentionFilter,
  page: PageRequest,
): Page<Attention> {
  const after = page.after === undefined ? undefined : placeFrom(page.after);
  const rows = select(database, rowsToRead(page), { ...filter, after }, ordered);
  return pageOf(rows, page, (row) => [placeOf(row)]);
}

/**
 * A key of `readAttentionPage` that continues after this row: the values by which the list is
 * ordered.
 */
export function placeOf({ kind, canAcknowledge, since, id }: Attention): string {
  return Buffer.from(
    [Number(kind === 'waiting'), Number(canAcknowledge), since, id].join(' '),
  ).toString('base64url');
}

function placeFrom(after: string): string {
  const text = Buffer.from(after, 'base64url').toString();
  const [whole, isWaiting, canAcknowledge, since, id] =
    /^([01]) ([01]) (\S+) (.+)$/s.exec(text) ?? [];
  if (whole === undefined) throw noSuchPlace(after);
  return JSON.stringify([Number(isWaiting), Number(canAcknowledge), since, id]);
}

/** The same rows without an order, so the cost depends only on the number of returned rows. */
export function readSomeAttention(
  database: Sqlite,
  limit: number,
  filter: AttentionFilter,
): readonly Attention[] {
  return select(database, limit, filter, '');
}

function select(
  database: Sqlite,
  limit: number,
  filter: Selection,
  order: string,
): readonly Attention[] {
  const { where, values } = conditionsOf(filter);
  return database
    .prepare<[object], Row>(
      `SELECT ${rowColumns}, since FROM outbox_attention ${where} ${order} LIMIT :limit`,
    )
    .all({ ...values, limit })
    .map(explained);
}

function explained<Found extends Row>({ evidence, message, canAcknowledge, ...row }: Found) {
  return {
    ...row,
    message: attentionMessage({ ...row, message, evidence: JSON.parse(evidence ?? '{}') }),
    holdsUp: holdsUp(row.reason, row.scope),
    whatToDo: whatToDo(row.reason),
    canAcknowledge: canAcknowledge === 1,
  };
}

/**
 * The rows by their cause: groups that need a decision or hold up others come first, then the
 * largest.
 * @param atMost so many rows are looked at, those that matter most before the others
 */
export function readAttentionGroups(
  database: Sqlite,
  filter: AttentionFilter,
  { limit, atMost }: { readonly limit: number; readonly atMost: number },
): readonly AttentionGroup[] {
  const { where, values } = conditionsOf(filter);
  // The other columns are those of the row with the smallest time: SQLite promises that for a
  // single min().
  const rows = database
    .prepare<[object], GroupRow>(
      `SELECT *, count(*) AS count, count(DISTINCT source) AS sources, min(since) AS since,
         json_group_array(reference) FILTER (WHERE reference IS NOT NULL) AS entries
       FROM (SELECT ${rowColumns}, since, ${subjectOf} AS subject FROM outbox_attention ${where} LIMIT :atMost)
       GROUP BY kind, code, subject ORDER BY kind = 'waiting', canAcknowledge, count(*) DESC, min(since) LIMIT :limit`,
    )
    .all({ ...values, limit, atMost });
  const isAnyPaused = rows.some(({ kind }) => kind === 'pause');
  const pauses = isAnyPaused ? readPauseEffects(database) : [];
  return rows.map(({ entries, ...row }) => {
    const pause = pauses.find(({ scope }) => scope === row.scope);
    const ofEntries = entries === '[]' ? null : readAffected(database, JSON.parse(entries));
    return { ...explained(row), affects: pause?.affects() ?? ofEntries };
  });
}

/** The rows that are counted; negative: all of them. */
export const attentionCountsSql = (where: string): string =>
  `SELECT kind, count(*) AS count FROM (SELECT kind FROM outbox_attention ${where} LIMIT :atMost) GROUP BY kind`;

/**
 * How many rows there are of each kind; kinds without a row are left out.
 * @param atMost so many rows are looked at, those that matter most before the others
 */
export function readAttentionCounts(
  database: Sqlite,
  filter: AttentionFilter = {},
  atMost = -1,
): AttentionCounts {
  const { where, values } = conditionsOf(filter);
  const rows = database
    .prepare<[object], { kind: AttentionKind; count: number }>(attentionCountsSql(where))
    .all({ ...values, atMost });
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
}

export type AttentionCounts = Readonly<Partial<Record<AttentionKind, number>>>;

function conditionsOf({ ids, beforeMs, canAcknowledge, ...filter }: Selection): {
  where: string;
  values: object;
} {
  const { kind, code, source, subject, after } = filter;
  const where = whereOf([
    ids !== undefined && 'id IN (SELECT value FROM json_each(:ids))',
    kind !== undefined && 'kind = :kind',
    subject !== undefined && `${subjectOf} = :subject`,
    code !== undefined && 'code = :code',
    source !== undefined && 'source = :source',
    beforeMs !== undefined && 'since < :before',
    canAcknowledge !== undefined && 'can_acknowledge = :canAcknowledge',
    // Each row value compares from left to right; the newest comes first, so its time is compared
    // by itself.
    after !== undefined &&
      `((kind = 'waiting', can_acknowledge) > (:after ->> 0, :after ->> 1)
        OR (kind = 'waiting', can_acknowledge) = (:after ->> 0, :after ->> 1)
          AND (since < :after ->> 2 OR since = :after ->> 2 AND id > :after ->> 3))`,
  ]);
  const before = beforeMs === undefined ? null : isoTime(beforeMs);
  return {
    where,
    values: { ...filter, ids: JSON.stringify(ids), before, canAcknowledge: Number(canAcknowledge) },
  };
}
