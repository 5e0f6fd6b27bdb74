import { entryStates, type EntryState } from '../../core/entry/states.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { isoOf } from '../sqlite/rows.ts';
import {
  entriesBy,
  inState,
  selectSources,
  sourceOfLane,
  everySource,
} from './entries-by-source.ts';
import { whereOf } from './page.ts';
import { decimal } from './statistics.ts';
import { endingOf, wordsOf } from '../../core/order/search-words.ts';

export interface OrderFilter {
  readonly state?: EntryState | undefined;
  readonly source?: string | undefined;
  /** See `findOrders`. */
  readonly search?: string | undefined;
  /** With an entry of this variant or plan, which is also in the state. */
  readonly product?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  readonly attention?: boolean | undefined;
  readonly limit: number;
  /** Continues after the order with this id; in a sorted list, after so many orders. */
  readonly beforeId?: number | undefined;
  /** How the newest 5,000 that fit are sorted: by time, or by what was charged. */
  readonly sort?: 'oldest' | 'amount' | undefined;
}

/** The orders that came in within a time have these ids. */
type DatedFilter = OrderFilter & { readonly fromId: number; readonly toId: number };

export interface OrderSummary {
  readonly id: number;
  readonly source: string;
  readonly orderId: string;
  readonly lines: number;
  readonly states: Readonly<Partial<Record<EntryState, number>>>;
  readonly rejectedLines: number;
  /** The variants and plans that it asks for, at most three, in order of their names. */
  readonly products: readonly string[];
  readonly charged: readonly { readonly cost: string; readonly currency: string }[];
  /**
   * The first e-mail address that the shop sent along, with its beginning alone; null: there is
   * none.
   */
  readonly customer: string | null;
  readonly receivedAt: string;
  readonly updatedAt: string;
}

/** The entries of an order by state, as `2 fulfilled` and `1 not accepted`. */
export function stateCounts({ states, rejectedLines }: OrderSummary): readonly string[] {
  const counts = entryStates.flatMap((state) =>
    states[state] === undefined ? [] : [`${states[state]} ${state}`],
  );
  return rejectedLines === 0 ? counts : [...counts, `${rejectedLines} not accepted`];
}

type SummaryRow = Omit<OrderSummary, 'states' | 'products' | 'charged' | 'customer'> &
  Record<'states' | 'products' | 'charged' | 'sentAlong', string>;

const ofOrder = 'FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = r.id';
const chargesOf = (order: string): string =>
  `FROM lines l JOIN entries e ON e.line_id = l.id JOIN charges c ON c.entry_id = e.id AND c.kind = 'charge' WHERE l.request_id = ${order}`;
const selectSummaries = statementOf<[string], SummaryRow>(
  `SELECT r.id, r.source, r.order_id AS orderId, ${isoOf('r.received_at_ms')} AS receivedAt, ${isoOf('r.updated_at_ms')} AS updatedAt,
     (SELECT count(*) FROM lines l WHERE l.request_id = r.id) AS lines,
     (SELECT json_group_object(state, n) FROM (SELECT e.state, count(*) AS n ${ofOrder} GROUP BY e.state)) AS states,
     (SELECT json_group_array(product) FROM
       (SELECT DISTINCT coalesce(e.variant, e.plan, e.operation) AS product ${ofOrder} ORDER BY 1 LIMIT 3)) AS products,
     (SELECT json_group_array(json_array(millionths, currency)) FROM
       (SELECT sum(c.millionths) AS millionths, c.currency ${chargesOf('r.id')} GROUP BY 2 ORDER BY 2)) AS charged,
     r.metadata || coalesce((SELECT l.extra FROM lines l WHERE l.request_id = r.id ORDER BY l.id LIMIT 1), '') AS sentAlong,
     (SELECT count(*) FROM rejections j WHERE j.source = r.source AND j.order_id = r.order_id) AS rejectedLines
   FROM json_each(?) f CROSS JOIN requests r ON r.id = f.value ORDER BY f.key`,
);

function summaryOf({ states, products, charged, sentAlong, ...row }: SummaryRow): OrderSummary {
  const amounts: [number, string][] = JSON.parse(charged);
  const [, first, domain] = /([^\s"@])[^\s"@]*@([^\s"@]+)/.exec(sentAlong) ?? [];
  return {
    ...row,
    states: JSON.parse(states),
    products: JSON.parse(products),
    charged: amounts.map(([millionths, currency]) => ({
      cost: decimal(BigInt(millionths)),
      currency,
    })),
    customer: first === undefined ? null : `${first}***@${domain}`,
  };
}

/** Newer than every order and every line. */
const newest = Number.MAX_SAFE_INTEGER;

// Where the orders of a list come from: each reads an index in the order of the list, and ends with
// the page.

const newestFirst = { where: 'r.id < :beforeId', order: 'r.id DESC' };
const ofAll = { from: 'requests r', ...newestFirst };
/** Finds the orders of a shop that has many. */
const ofRecent = {
  from: '(SELECT id, source FROM requests WHERE id < :beforeId ORDER BY id DESC LIMIT 5000) r',
  where: 'true',
  order: 'r.id DESC',
};
/**
 * All orders of a shop, by the index of order ids alone: the plus keeps SQLite from reading all
 * orders instead.
 */
const ofSource = { from: 'requests r', where: '+r.id < :beforeId', order: '+r.id DESC' };
/** From the attention list to the orders, because that list is short and the orders are many. */
const ofAttention = {
  from: `(SELECT DISTINCT source, order_id FROM outbox_attention WHERE order_id IS NOT NULL) named
    CROSS JOIN requests r ON r.source = named.source AND r.order_id = named.order_id`,
  ...newestFirst,
};
const ofSearch = {
  from: 'json_each(:found) f CROSS JOIN requests r ON r.id = f.value',
  where: 'f.value < :beforeId',
  order: 'f.key',
};

function idsFrom(database: Sqlite, origin: typeof ofAll, filter: DatedFilter): readonly number[] {
  const { search, state, source, product, fromId, limit } = filter;
  const beforeId = Math.min(filter.beforeId ?? newest, filter.toId);
  const ofEntry = [
    state !== undefined && 'e.state = :state',
    product !== undefined && ':product IN (e.variant, e.plan)',
  ];
  const entry = whereOf(['l.request_id = r.id', ...ofEntry]);
  const where = whereOf([
    origin.where,
    fromId > 0 && `${origin === ofAll ? '' : '+'}r.id >= :fromId`,
    // The plus keeps SQLite from reading all orders of the shop where the origin has fewer.
    source !== undefined && `${origin === ofSource ? '' : '+'}r.source = :source`,
    ofEntry.some(Boolean) &&
      `EXISTS (SELECT 1 FROM lines l JOIN entries e ON e.line_id = l.id ${entry})`,
    search !== undefined && origin !== ofSearch && 'r.id IN (SELECT value FROM json_each(:found))',
  ]);
  // Another filter leaves some out, and then older ones are shown.
  const isAlone = [state, source, product].every((it) => it === undefined) && fromId === 0;
  const page = origin === ofSearch && isAlone ? { limit, beforeId } : null;
  const found = search === undefined ? null : JSON.stringify(findOrders(database, search, page));
  return database
    .prepare<object, number>(
      `SELECT r.id FROM ${origin.from} ${where} ORDER BY ${origin.order} LIMIT :limit`,
    )
    .pluck()
    .all({ limit, beforeId, fromId, found, source, state, product });
}

interface Place {
  readonly createdAtMs: number;
  readonly entryId: number;
}

const newestOf = (where: string) =>
  `SELECT e.created_at_ms AS createdAtMs, e.id AS entryId FROM lines l JOIN entries e ON e.line_id = l.id
   WHERE l.request_id = ? AND ${where} ORDER BY e.created_at_ms DESC, e.id DESC LIMIT 1`;
const selectStatePlace = statementOf<[number, EntryState], Place>(newestOf('e.state = ?'));
const selectPlace = statementOf<[number], Place>(newestOf('true'));

/**
 * The place at which a list of a state continues after an order, whose entries may have left that
 * state meanwhile.
 */
function placeOf(database: Sqlite, state: EntryState, beforeId: number | undefined): Place {
  if (beforeId === undefined) return { createdAtMs: newest, entryId: newest };
  const place =
    selectStatePlace(database).get(beforeId, state) ?? selectPlace(database).get(beforeId);
  return place ?? { createdAtMs: 0, entryId: 0 };
}

/**
 * The orders with an entry in a state, by the index of the entries of one shop and state: each
 * order where the newest of them stands. That is the order in which they came in, except for lines
 * that were added or ordered again later.
 */
function idsOfState(database: Sqlite, state: EntryState, filter: DatedFilter): readonly number[] {
  const { source, beforeId, fromId, toId, limit } = filter;
  const page = database.prepare<Record<string, unknown>, Place & { id: number }>(
    `SELECT l.request_id AS id, e.created_at_ms AS createdAtMs, e.id AS entryId
     FROM ${entriesBy(state)} CROSS JOIN lines l ON l.id = e.line_id
     WHERE ${inState(state)} AND ${sourceOfLane} = :source AND (e.created_at_ms, e.id) < (:createdAtMs, :entryId)
       AND l.request_id >= :fromId AND l.request_id < :toId
       AND NOT EXISTS (SELECT 1 FROM lines nl JOIN entries n ON n.line_id = nl.id
         WHERE nl.request_id = l.request_id AND n.state = '${state}' AND (n.created_at_ms, n.id) > (e.created_at_ms, e.id))
     ORDER BY e.created_at_ms DESC, e.id DESC LIMIT :limit`,
  );
  const place = placeOf(database, state, beforeId);
  return (source === undefined ? selectSources(database).all() : [source])
    .flatMap((name) => page.all({ source: name, ...place, fromId, toId, limit }))
    .toSorted((a, b) => b.createdAtMs - a.createdAtMs || b.entryId - a.entryId)
    .slice(0, limit)
    .map(({ id }) => id);
}

const selectReceived = columnOf<[number], number>(
  'SELECT received_at_ms FROM requests WHERE id >= ? ORDER BY id LIMIT 1',
);
const selectLast = columnOf<[], number>('SELECT max(id) FROM requests');

/**
 * The id of the first order that came in at this time or later: they have their ids in the order in
 * which they come in.
 */
export function firstSince(database: Sqlite, ms: number): number {
  let first = 1;
  for (let end = (selectLast(database).get() ?? 0) + 1; first < end; ) {
    const middle = Math.floor((first + end) / 2);
    if ((selectReceived(database).get(middle) ?? ms) < ms) first = middle + 1;
    else end = middle;
  }
  return first;
}

/** So many orders may be looked at one after the other. */
const mostLookedAt = 50_000;

function idsOf(database: Sqlite, filter: DatedFilter): readonly number[] {
  const { search, product, attention, state, source, fromId, toId } = filter;
  if (attention === true) return idsFrom(database, ofAttention, filter);
  if (search !== undefined) return idsFrom(database, ofSearch, filter);
  if (toId - fromId <= mostLookedAt) return idsFrom(database, ofAll, filter);
  // A product is a word of its lines.
  if (product !== undefined) return idsFrom(database, ofSearch, { ...filter, search: product });
  if (state !== undefined) return idsOfState(database, state, filter);
  if (source === undefined) return idsFrom(database, ofAll, filter);
  const recent = idsFrom(database, ofRecent, filter);
  return recent.length === filter.limit ? recent : idsFrom(database, ofSource, filter);
}

const mostSorted = 5000;
const sortByAmount = columnOf<[string], number>(
  `SELECT f.value FROM json_each(?) f ORDER BY (SELECT sum(c.millionths) ${chargesOf('f.value')}) DESC, f.key`,
);

function sortedIds(database: Sqlite, filter: DatedFilter): readonly number[] {
  const { sort, beforeId: skip = 0, limit } = filter;
  if (sort === undefined) return idsOf(database, filter);
  const ids = idsOf(database, { ...filter, beforeId: undefined, limit: mostSorted });
  const all =
    sort === 'oldest' ? ids.toReversed() : sortByAmount(database).all(JSON.stringify(ids));
  return all.slice(skip, skip + limit);
}

export function listOrders(database: Sqlite, filter: OrderFilter): readonly OrderSummary[] {
  const { sinceMs, untilMs } = filter;
  const isDated = sinceMs !== undefined || untilMs !== undefined;
  const fromId = sinceMs === undefined ? 0 : firstSince(database, sinceMs);
  const toId = isDated ? firstSince(database, untilMs ?? Number.POSITIVE_INFINITY) : newest;
  return selectSummaries(database)
    .all(JSON.stringify(sortedIds(database, { ...filter, fromId, toId })))
    .map(summaryOf);
}

/** The newest orders below an id, no more than a list shows. */
interface OrderPage {
  readonly limit: number;
  readonly beforeId: number;
}

/** So many matches of each kind are looked at, the newest first where that is known. */
const mostMatches = 10_000;
const shortestBeginning = 3;

const matches = (sql: string) => columnOf<string[], number>(`${sql} LIMIT ${mostMatches}`);

// By the index of orders, which begins with the source.
const byOrderId = matches(
  `${everySource} SELECT r.id FROM sources s JOIN requests r ON r.source = s.source AND r.order_id >= ? AND r.order_id < ?`,
);
const ofLine = 'JOIN lines l ON l.id = e.line_id';
const byColumns = ['reference', 'order_number', 'iccid'].map((column) =>
  matches(
    `SELECT l.request_id FROM entries e ${ofLine} WHERE e.${column} >= ? AND e.${column} < ?`,
  ),
);
const byEsim = matches(
  `SELECT l.request_id FROM esims s JOIN entries e ON e.id = s.entry_id ${ofLine} WHERE s.iccid >= ? AND s.iccid < ?`,
);
const byEnding = matches(
  `SELECT l.request_id FROM unit_marks u JOIN entries e ON e.id = u.entry_id ${ofLine} WHERE u.ending = ? ORDER BY e.id DESC`,
);
/** By a whole code. The text of a sealed one is not known here: it is found by its ending alone. */
const byCode = matches(
  `SELECT l.request_id FROM unit_marks u JOIN entries e ON e.id = u.entry_id ${ofLine}
   WHERE u.ending = ? AND (e.sealed_by IS NOT NULL OR instr(upper(e.units), upper(?)) > 0) ORDER BY e.id DESC`,
);
const rowsWith = (match: string): string =>
  `SELECT rowid AS row FROM search_words WHERE search_words MATCH ${match} ORDER BY rowid DESC LIMIT ${mostMatches}`;
const byWords = columnOf<[string], number>(
  `SELECT CASE WHEN w.row < 0 THEN -w.row ELSE (SELECT request_id FROM lines WHERE id = w.row) END
   FROM (${rowsWith('?')}) w`,
);
/**
 * Among the newest lines alone: to look up the order of each match would read most of the table.
 */
const recentByWords = columnOf<OrderPage & { match: string }, number>(
  `SELECT DISTINCT recent.request_id FROM (
     SELECT request_id, id FROM lines WHERE request_id < :beforeId ORDER BY request_id DESC LIMIT 5000) recent
   WHERE recent.id IN (${rowsWith(':match')}) ORDER BY recent.request_id DESC LIMIT :limit`,
);
const withoutLines = matches(
  'SELECT -rowid FROM search_words WHERE search_words MATCH ? AND rowid < 0',
);

/**
 * The ids of the orders that a text finds, newest first: by order id, reference, number of the
 * supplier or ICCID, or their beginning; by words of metadata, product and what the shop carried
 * with a line; and by a whole code or its last four characters.
 * @param page only these are needed; null: all
 */
function findOrders(database: Sqlite, text: string, page: OrderPage | null): readonly number[] {
  const wanted = text.trim();
  const [from, to] = rangeOf(wanted);
  const ids = [byOrderId, ...byColumns, byEsim].flatMap((found) => found(database).all(from, to));
  const words = wordsOf(wanted);
  if (words.length > 0) ids.push(...ordersWith(database, matchOf(words), page));
  if (/^[\p{L}\p{N}]{4}$/u.test(wanted)) ids.push(...byEnding(database).all(wanted.toUpperCase()));
  const ending = endingOf({ code: wanted });
  if (ending !== null && !/\s/.test(wanted)) ids.push(...byCode(database).all(ending, wanted));
  const found = [...new Set(ids)].toSorted((a, b) => b - a);
  return page === null ? found : found.filter((id) => id < page.beforeId).slice(0, page.limit);
}

function ordersWith(database: Sqlite, match: string, page: OrderPage | null): readonly number[] {
  const recent = page === null ? [] : recentByWords(database).all({ match, ...page });
  const isFull = page !== null && recent.length === page.limit;
  return isFull ? [...recent, ...withoutLines(database).all(match)] : byWords(database).all(match);
}

/** Everything that begins with the text, or the text alone when it is short. */
function rangeOf(text: string): [string, string] {
  return [text, `${text}${text.length < shortestBeginning ? '\u0000' : '\u{10ffff}'}`];
}

/**
 * Every word must be there; the last one may be the beginning of a word. A quote is no part of a
 * word.
 */
function matchOf(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  const quoted = words.slice(0, 20).map((word) => `"${word}"`);
  return `${quoted.join(' AND ')}${words.length <= 20 && last.length >= shortestBeginning ? ' *' : ''}`;
}
