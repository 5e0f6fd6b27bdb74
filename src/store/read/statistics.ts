import { isoTime } from '../../core/clock.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

/**
 * A time from `fromMs` up to `untilMs`, which is not included. Short: each of its hours has a row.
 */
interface Period {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A count of an hour: see the migration that made the table. */
interface HourRow {
  readonly hour: number;
  readonly name: 'received' | 'settled' | 'latency' | 'calls' | 'spent';
  readonly key: string;
  readonly n: number;
}

interface Units {
  readonly first: number;
  readonly end: number;
}

const hourMs = 3_600_000;
/** Whole units have six digits more. */
const digits = 6;

export const selectHours = statementOf<Units, HourRow>(
  `SELECT hour, name, key, n FROM hourly_statistics
   WHERE name IN ('received', 'settled', 'latency', 'calls', 'spent') AND hour >= :first AND hour < :end`,
);
// An amount in millionths may be larger than a number of JavaScript is exact, and a sum larger than
// one of SQLite.
const selectAmounts = statementOf<
  Units,
  { day: string; name: string; currency: string; n: bigint }
>(
  `SELECT date(hour * 3600, 'unixepoch') AS day, name, key AS currency, n FROM hourly_statistics
   WHERE name IN ('bought', 'spent', 'uncounted', 'refunded', 'unrefunded') AND hour >= :first AND hour < :end ORDER BY day DESC, currency`,
);

/** The units of time that a period touches. */
function unitsOf({ fromMs, untilMs }: Period, unitMs: number): Units {
  return { first: Math.floor(fromMs / unitMs), end: Math.ceil(untilMs / unitMs) };
}

const numbersOf = ({ first, end }: Units): readonly number[] =>
  Array.from({ length: end - first }, (_, index) => first + index);

/**
 * The events of every hour that the period touches, also of those in which nothing happened, the
 * first one first.
 */
export function readHourStatistics(database: Sqlite, period: Period) {
  const hours = unitsOf(period, hourMs);
  const rows = Map.groupBy(selectHours(database).all(hours), ({ hour }) => hour);
  return numbersOf(hours).map((hour) => {
    const found = rows.get(hour) ?? [];
    const count = (name: HourRow['name'], key: string): number =>
      found.find((row) => row.name === name && row.key === key)?.n ?? 0;
    return {
      hour: isoTime(hour * hourMs),
      received: count('received', ''),
      settled: {
        fulfilled: count('settled', 'fulfilled'),
        refunded: count('settled', 'refunded'),
        rejected: count('settled', 'rejected'),
        expired: count('settled', 'expired'),
        cancelled: count('settled', 'cancelled'),
      },
      latency: latencyOf(found),
      /** What the API charged, by currency, as a number: good enough for a chart. */
      spent: Object.fromEntries(
        found.flatMap(({ name, key, n }) => (name === 'spent' ? [[key, n / 10 ** digits]] : [])),
      ),
      /**
       * Calls for entries, by purpose. Each `submit` counts against both limits of its key, a
       * `lookup` against one.
       */
      calls: { submit: count('calls', 'submit'), lookup: count('calls', 'lookup') },
    };
  });
}

/**
 * The time from intake to fulfilled of half of the entries and of 95 % at most, in ms, exact to
 * 10 %: the middle of the step in which the entry of this rank lies. See the migration that made
 * the table. Null: nothing was fulfilled.
 */
function latencyOf(
  rows: readonly HourRow[],
): { readonly medianMs: number; readonly p95Ms: number } | null {
  const steps = rows
    .filter(({ name }) => name === 'latency')
    .toSorted((a, b) => Number(a.key) - Number(b.key));
  const count = steps.reduce((sum, { n }) => sum + n, 0);
  const at = (share: number): number => {
    let left = count * share;
    const step = steps.find(({ n }) => (left -= n) <= 0);
    return Math.round(100 * 2 ** ((Number(step?.key) - 0.5) / 4));
  };
  return count === 0 ? null : { medianMs: at(0.5), p95Ms: at(0.95) };
}

/** The same for the hours that a period touches, taken together. */
export const readLatency = (database: Sqlite, period: Period) =>
  latencyOf(selectHours(database).all(unitsOf(period, hourMs)));

/**
 * The spending of each day (UTC) that the period touches, from each balance; the last day first. A
 * day on which nothing was charged or refunded is left out.
 */
export function readSpending(database: Sqlite, period: Period) {
  const days = unitsOf(period, 24 * hourMs);
  const rows = selectAmounts(database)
    .safeIntegers(true)
    .all({ first: days.first * 24, end: days.end * 24 });
  return [...Map.groupBy(rows, ({ day, currency }) => `${day} ${currency}`)].map(([of, ofDay]) => {
    const [day = '', currency = ''] = of.split(' ');
    const sum = (asked: string) =>
      ofDay.reduce((total, { name, n }) => (name === asked ? total + n : total), 0n);
    return {
      day,
      currency,
      orders: Number(sum('bought')),
      /** What the API charged, as a decimal number. */
      spent: decimal(sum('spent')),
      /** Orders that were bought on this day, and are in no sum: no cost of them is known. */
      uncounted: Number(sum('uncounted')),
      /** What came back on this day, whenever it was bought. */
      refunded: decimal(sum('refunded')),
      /** Refunds that are in no sum: no answer showed their amount. */
      refunds_unknown: Number(sum('unrefunded')),
    };
  });
}

/** `12340000n` in millionths is `12.34`; at least two digits after the point. */
export function decimal(millionths: bigint): string {
  const text = String(millionths < 0n ? -millionths : millionths).padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0{1,4}$/, '');
  return `${millionths < 0n ? '-' : ''}${text.slice(0, -digits)}.${fraction}`;
}
