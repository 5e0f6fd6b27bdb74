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

type Row = Readonly<Record<NumbersKey, string>> & {
  readonly orderId: number;
  readonly state: EntryState;
  /** What the API charged, in millionths; null: that is not known. */
  readonly cost: number | null;
  readonly tookMs: number;
};

/** So many lines of the newest orders are counted: whoever looks must not stop the worker. */
const mostLines = 50_000;

// A line whose entry was replaced is answered for by the entries in its place. A cancel costs
// nothing.
export const selectNumbers = statementOf<object, Row>(
  `SELECT r.id AS orderId, date(r.received_at_ms / 1000, 'unixepoch') AS day, r.source,
     coalesce(e.variant, e.plan, e.operation) AS product, coalesce(e.charged_currency, e.currency, '-') AS currency, e.state,
     CASE WHEN e.operation <> 'esim_cancel' THEN CAST(round(max(-1e9, min(1e9, CAST(e.cost AS REAL))) * 1000000) AS INTEGER) END AS cost,
     coalesce(e.settled_at_ms, e.updated_at_ms) - e.created_at_ms AS tookMs
   FROM requests r CROSS JOIN lines l ON l.request_id = r.id CROSS JOIN entries e ON e.line_id = l.id
   WHERE r.id >= :first AND r.id < :end AND e.replaced = 0 AND (:source IS NULL OR r.source = :source)
     AND (:product IS NULL OR :product IN (e.variant, e.plan)) ORDER BY r.id DESC LIMIT ${mostLines}`,
);

export type Numbers = ReturnType<typeof numbersOf>;

/** The sums of some lines: the only place that makes them. */
function numbersOf(rows: readonly Row[]) {
  const bought = rows.filter(({ state }) => state === 'fulfilled');
  const refused = rows.filter(({ state }) => state === 'rejected' || state === 'expired');
  const took = bought.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  const charged = Map.groupBy(
    rows.filter(({ cost }) => cost !== null),
    ({ currency }) => currency,
  );
  return {
    orders: new Set(rows.map(({ orderId }) => orderId)).size,
    /** Lines; with a rule that splits them, their parts. */
    bought: bought.length,
    refused: refused.length,
    /** By currency; refunds are not taken off. */
    spent: [...charged]
      .map(([currency, of]) => {
        const amount = of.reduce((sum, { cost }) => sum + BigInt(cost ?? 0), 0n);
        return { currency, amount: decimal(amount) };
      })
      .toSorted((a, b) => (a.currency < b.currency ? -1 : 1)),
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
