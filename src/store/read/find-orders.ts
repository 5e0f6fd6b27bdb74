import { endingOf, wordsOf } from '../../core/order/search-words.ts';
import { columnOf, type Sqlite } from '../sqlite/database.ts';
import { everySource } from './entries-by-source.ts';

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
const byWords = matches(`
  SELECT CASE WHEN w.row < 0 THEN -w.row ELSE (SELECT request_id FROM lines WHERE id = w.row) END
  FROM (SELECT rowid AS row FROM search_words WHERE search_words MATCH ? ORDER BY rowid DESC) w`);

/**
 * The ids of the orders that a text finds, newest first: by order id, reference, number of the supplier or ICCID, or their
 * beginning; by words of metadata, product and what the shop carried with a line; and by a whole code or its last four characters.
 */
export function findOrders(database: Sqlite, text: string): readonly number[] {
  const wanted = text.trim();
  const [from, to] = rangeOf(wanted);
  const ids = [byOrderId, ...byColumns, byEsim].flatMap((found) => found(database).all(from, to));
  const words = wordsOf(wanted);
  if (words.length > 0) ids.push(...byWords(database).all(matchOf(words)));
  if (/^[\p{L}\p{N}]{4}$/u.test(wanted)) ids.push(...byEnding(database).all(wanted.toUpperCase()));
  const ending = endingOf({ code: wanted });
  if (ending !== null && !/\s/.test(wanted)) ids.push(...byCode(database).all(ending, wanted));
  return [...new Set(ids)].toSorted((a, b) => b - a);
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
