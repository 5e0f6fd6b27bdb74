import { OrderSyncError } from '../../core/order-sync-error.ts';

export interface PageRequest {
  /** `next` of the page before; absent: the list begins. */
  readonly after?: string | undefined;
  /** At most this many rows; never more than `largestPage`. */
  readonly limit: number;
}

/**
 * A part of a list. The place in it is kept by a key and not by a count, so new rows shift nothing.
 */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Continues after the last row; null: there is none. */
  readonly next: string | null;
}

export const largestPage = 1000;

/** So many rows are read for a page: one more than it shows, to know whether there is another. */
export const rowsToRead = ({ limit }: PageRequest): number =>
  Math.min(Math.max(1, limit), largestPage) + 1;

/**
 * The page out of the rows that were read for it. `keyOf`: the values by which the list is ordered.
 */
export function pageOf<Row>(
  read: readonly Row[],
  page: PageRequest,
  keyOf: (row: Row) => readonly (number | string)[],
): Page<Row> {
  const rows = read.slice(0, rowsToRead(page) - 1);
  const last = rows.at(-1);
  const next = read.length > rows.length && last !== undefined ? keyOf(last).join('.') : null;
  return { rows, next };
}

/** The text has only the conditions that are asked for: then SQLite uses the index of them. */
export function whereOf(conditions: readonly (string | false)[]): string {
  const asked = conditions.filter((condition) => condition !== false);
  return asked.length === 0 ? '' : `WHERE ${asked.join(' AND ')}`;
}

/**
 * The numbers of a key, in the order in which `keyOf` gave them.
 * @throws OrderSyncError INVALID_INPUT when it is no key of such a list
 */
export function numbersOf(after: string, count: number): readonly number[] {
  const numbers = after.split('.').map(Number);
  if (numbers.length === count && /^-?\d/.test(after) && numbers.every(Number.isSafeInteger))
    return numbers;
  throw noSuchPlace(after);
}

export function noSuchPlace(after: string): OrderSyncError {
  return new OrderSyncError(
    'INVALID_INPUT',
    `"${after.slice(0, 80)}" is not a position in this list`,
    {
      hint: 'use the value of `next` in the page before, or no value to begin with the first page',
    },
  );
}
