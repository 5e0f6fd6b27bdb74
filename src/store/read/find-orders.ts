import { endingOf, wordsOf } from '../../core/order/search-words.ts';
import { columnOf, type Sqlite } from '../sqlite/database.ts';
import { everySource } from './entries-by-source.ts';

/** The newest orders below an id, no more than a list shows. */
export interface OrderPage {
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
  matches(`SELECT l.request_id FROM entries e ${ofLine} WHERE e.${column} >= ? AND e.${column} < ?`),
);
const byEsim = matches(
  `SELECT l.request_id FROM esims s JOIN entries e ON e.id = s.entry_id ${ofLine} WHERE s.iccid >= ? AND s.iccid < ?`,
);
const byEnding = matches(
  `SELECT l.request_id FROM unit_endings u JOIN entries e ON e.id = u.entry_id ${ofLine} WHERE u.ending = ? ORDER BY e.id DESC`,
);
/** By a whole code. The text of a sealed one is not known here: it is found by its ending alone. */
const byCode = matches(
  `SELECT l.request_id FROM unit_endings u JOIN entries e ON e.id = u.entry_id ${ofLine}
   WHERE u.ending = ? AND (e.sealed_by IS NOT NULL OR instr(upper(e.units), upper(?)) > 0) ORDER BY e.id DESC`,
);
const rowsWith = (match: string): string =>
  `SELECT rowid AS row FROM search_words WHERE search_words MATCH ${match} ORDER BY rowid DESC LIMIT ${mostMatches}`;
const byWords = columnOf<[string], number>(
  `SELECT CASE WHEN w.row < 0 THEN -w.row ELSE (SELECT request_id FROM lines WHERE id = w.row) END
   FROM (${rowsWith('?')}) w`,
);
/** Among the newest lines alone: to look up the order of each match would read most of the table. */
const recentByWords = columnOf<OrderPage & { match: string }, number>(
  `SELECT DISTINCT recent.request_id FROM (
     SELECT request_id, id FROM lines WHERE request_id < :beforeId ORDER BY request_id DESC LIMIT 5000) recent
   WHERE recent.id IN (${rowsWith(':match')}) ORDER BY recent.request_id DESC LIMIT :limit`,
);
const withoutLines = matches('SELECT -rowid FROM search_words WHERE search_words MATCH ? AND rowid < 0');

/**
 * The ids of the orders that a text finds, newest first: by order id, reference, number of the supplier or ICCID, or their
 * beginning; by words of metadata, product and what the shop carried with a line; and by a whole code or its last four characters.
 * @param page only these are needed; null: all
 */
export function findOrders(database: Sqlite, text: string, page: OrderPage | null): readonly number[] {
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

/** Every word must be there; the last one may be the beginning of a word. A quote is no part of a word. */
function matchOf(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  const quoted = words.slice(0, 20).map((word) => `"${word}"`);
  return `${quoted.join(' AND ')}${words.length <= 20 && last.length >= shortestBeginning ? ' *' : ''}`;
}
