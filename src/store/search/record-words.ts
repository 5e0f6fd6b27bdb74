import { searchWords } from '../../core/order/search-words.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

/** Facts about a line that are no words of the shop. */
const unsearched: ReadonlySet<string> = new Set(['shop_quantity', 'shop_product']);

const insertWords = statementOf<[number, string], never>(
  'INSERT INTO search_words (rowid, words) VALUES (?, ?)',
);

// A line has its id as its number in the index of words. An order of which nothing was accepted has
// its own id, negative. Numbers should rise within a commit: for one that does not, SQLite writes a
// segment of its own.

/** An order without lines is found by what its metadata says. Called once for an order. */
export function indexOrder(
  database: Sqlite,
  requestId: number,
  metadata: Readonly<Record<string, unknown>>,
): void {
  add(database, -requestId, [metadata]);
}

/**
 * A line is found by its product and by what the shop carried with it; the first one by the
 * metadata, too. Called once.
 */
export function indexLine(
  database: Sqlite,
  lineId: number,
  product: string | null,
  extra: Readonly<Record<string, string>>,
  metadata: Readonly<Record<string, unknown>> | null,
): void {
  const values: unknown[] = [product];
  for (const name in extra) if (!unsearched.has(name)) values.push(extra[name]);
  if (metadata !== null) values.push(metadata);
  add(database, lineId, values);
}

/** A line orders another product from now on, and is found by that, too. */
export function indexProduct(database: Sqlite, lineId: number, product: string | null): void {
  add(database, lineId, [product]);
}

function add(database: Sqlite, row: number, values: readonly unknown[]): void {
  const words = searchWords(values);
  if (words !== '') insertWords(database).run(row, words);
}
