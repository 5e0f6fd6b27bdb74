import type { EntryState } from '../../core/entry/states.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { firstSince } from './list-orders.ts';
import { decimal } from './statistics.ts';

/** The orders that came in within a time; of one shop and one product where they are given. */
interface NumbersFilter {
  readonly fromMs: number;
  /** Not included. */
  readonly untilMs: number;
  readonly source?: string | undefined;
  readonly product?: string | undefined;
}

/** What the sums can be told apart by. `day`: the one on which the order came in (UTC). */
export type NumbersKey = 'day' | 'source' | 'product' | 'currency';

/** One for each charge and refund of a line, and one for a line without. */
type Row = Readonly<Record<NumbersKey, string>> & {
  readonly orderId: number;
  readonly state: EntryState;
  /** 1: the first one of its line. */
  readonly isFirst: 0 | 1;
  readonly kind: 'charge' | 'estimate' | 'refund' | null;
  /** Null: that is not known. */
  readonly millionths: number | null;
  readonly tookMs: number;
};

/** So many of the newest are counted: whoever looks must not stop the worker. */
const mostLines = 50_000;

// A line whose entry was replaced is answered for by the entries in its place.
export const selectNumbers = statementOf<object, Row>(
  `SELECT r.id AS orderId, date(r.received_at_ms / 1000, 'unixepoch') AS day, r.source,
     coalesce(e.variant, e.plan, e.operation) AS product, coalesce(c.currency, e.currency, '-') AS currency, e.state,
     coalesce(c.number, 0) = 0 AS isFirst, c.kind, c.millionths,
     coalesce(e.settled_at_ms, e.updated_at_ms) - e.created_at_ms AS tookMs
   FROM requests r CROSS JOIN lines l ON l.request_id = r.id CROSS JOIN entries e ON e.line_id = l.id
     LEFT JOIN charges c ON c.entry_id = e.id
   WHERE r.id >= :first AND r.id < :end AND e.replaced = 0 AND (:source IS NULL OR r.source = :source)
     AND (:product IS NULL OR :product IN (e.variant, e.plan)) ORDER BY r.id DESC LIMIT ${mostLines}`,
);

export type Numbers = ReturnType<typeof numbersOf>;

/** By currency. */
function amountsOf(rows: readonly Row[], kind: Row['kind'], sign: bigint) {
  const known = rows.filter((row) => row.kind === kind && row.millionths !== null);
  return [...Map.groupBy(known, ({ currency }) => currency)]
    .map(([currency, of]) => {
      const sum = of.reduce((total, { millionths }) => total + BigInt(millionths ?? 0), 0n);
      return { currency, amount: decimal(sum * sign) };
    })
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}

/** The sums of some lines: the only place that makes them. */
function numbersOf(rows: readonly Row[]) {
  const lines = rows.filter(({ isFirst }) => isFirst === 1);
  const bought = lines.filter(({ state }) => state === 'fulfilled');
  const refused = lines.filter(({ state }) => state === 'rejected' || state === 'expired');
  const took = bought.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  return {
    orders: new Set(rows.map(({ orderId }) => orderId)).size,
    /** Lines; with a rule that splits them, their parts. */
    bought: bought.length,
    refused: refused.length,
    /** Refunds are not taken off. */
    spent: amountsOf(rows, 'charge', 1n),
    /** Lines that were bought, and are in no sum: no cost of them is known. */
    uncounted: rows.filter(({ kind }) => kind === 'estimate').length,
    refunded: amountsOf(rows, 'refund', -1n),
    /** Refunds that are in no sum: no answer showed their amount. */
    refundsUnknown: rows.filter((row) => row.kind === 'refund' && row.millionths === null).length,
    /** From intake to the code, in ms; null: nothing was bought. */
    medianMs: took[Math.floor((took.length - 1) / 2)] ?? null,
  };
}

/**
 * The results of the orders that came in within a time, at most of the newest 50,000 lines: orders,
 * refusals, money and the time to the code.
 */
export function readNumbers(database: Sqlite, { fromMs, untilMs, ...filter }: NumbersFilter) {
  const { source = null, product = null } = filter;
  const end = firstSince(database, untilMs);
  const oldest = firstSince(database, fromMs);
  const first = Math.max(oldest, end - mostLines);
  const rows = selectNumbers(database).all({ first, end, source, product });
  return {
    /** False: the oldest lines are in no sum. */
    isWhole: first === oldest && rows.length < mostLines,
    total: numbersOf(rows),
    /** The sums by what these keys name; the newest orders come first. */
    by: (...keys: readonly NumbersKey[]) =>
      [...Map.groupBy(rows, (row) => keys.map((key) => row[key]).join('\n'))].map(
        ([name, of]): Partial<Record<NumbersKey, string>> & Numbers => {
          const values = name.split('\n');
          return {
            ...Object.fromEntries(keys.map((key, at) => [key, values[at]])),
            ...numbersOf(of),
          };
        },
      ),
  };
}
