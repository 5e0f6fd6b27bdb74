import { isoTime } from '../../core/clock.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { finalStates } from '../../core/entry/states.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

type FinalState = (typeof finalStates)[number];

/** The events of one hour, for charts. */
export interface HourStatistics {
  /** Its beginning. */
  readonly hour: string;
  /** Orders that came in. */
  readonly received: number;
  /** Entries that reached a final state. */
  readonly settled: Readonly<Record<FinalState, number>>;
  /** From intake to fulfilled, in ms, exact to 10 %; null: nothing was fulfilled. */
  readonly latency: { readonly medianMs: number; readonly p95Ms: number } | null;
  /** Calls for entries, by purpose. Each `submit` counts against both limits of its key, a `lookup` against one. */
  readonly calls: { readonly submit: number; readonly lookup: number };
}

/** The calls of one minute. */
export interface MinuteCalls {
  /** Its beginning. */
  readonly minute: string;
  readonly submit: number;
  readonly lookup: number;
}

/** The purchases of one day (UTC) from one balance. */
export interface DaySpending {
  /** For example `2026-11-22`. */
  readonly day: string;
  readonly currency: string;
  /** How many orders were charged. */
  readonly orders: number;
  /** The sum that the API charged, as a decimal number. */
  readonly spent: string;
  /**
   * The cost of orders that ended as refunded on this day, whenever they were bought. The refund of a cancelled eSIM is not
   * known.
   */
  readonly refunded: string;
}

/** A time from `fromMs` up to `untilMs`, which is not included. */
export interface Period {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A count of an hour: see the migration that made the table. */
interface HourRow {
  readonly hour: number;
  readonly name: 'received' | 'settled' | 'latency' | 'calls';
  readonly key: string;
  readonly n: number;
}

interface Hours {
  readonly first: number;
  readonly end: number;
}

const hourMs = 3_600_000;
const minuteMs = 60_000;
/** The longest periods that are read at once. */
const mostHours = 14 * 24;
const mostMinutes = 6 * 60;
const mostDays = 92;
/** Whole units have six digits more. */
const digits = 6;

export const hoursSql = `SELECT hour, name, key, n FROM hourly_statistics
  WHERE name IN ('received', 'settled', 'latency', 'calls') AND hour >= :first AND hour < :end`;
export const minutesSql = `SELECT opened_at_ms / ${minuteMs} AS minute, purpose, count(*) AS n FROM attempts
  WHERE opened_at_ms >= :fromMs AND opened_at_ms < :untilMs GROUP BY 1, 2`;

const selectHours = statementOf<Hours, HourRow>(hoursSql);
const selectMinutes = statementOf<Period, { minute: number; purpose: 'submit' | 'lookup'; n: number }>(minutesSql);
// An amount in millionths may be larger than a number of JavaScript is exact, and a sum larger than one of SQLite.
const selectAmounts = statementOf<Hours, { day: string; name: string; currency: string; n: bigint }>(
  `SELECT date(hour * 3600, 'unixepoch') AS day, name, key AS currency, n FROM hourly_statistics
   WHERE name IN ('bought', 'spent', 'refunded') AND hour >= :first AND hour < :end ORDER BY day DESC, currency`,
);

/** The numbers of the units of time that a period touches; the end is not included. */
function unitsOf({ fromMs, untilMs }: Period, unitMs: number, most: number): Hours {
  const [first, end] = [Math.floor(fromMs / unitMs), Math.ceil(untilMs / unitMs)];
  if (end > first && end - first <= most) return { first, end };
  throw new OrderSyncError('INVALID_INPUT', `The period has ${end - first} parts, and 1 to ${most} can be read`, {
    hint: 'its end lies after its beginning; read a longer one in parts',
  });
}

/**
 * Every hour that the period touches, also those in which nothing happened, the first one first.
 * @throws OrderSyncError INVALID_INPUT for more than 14 days
 */
export function readHourStatistics(database: Sqlite, period: Period): readonly HourStatistics[] {
  const hours = unitsOf(period, hourMs, mostHours);
  const rows = Map.groupBy(selectHours(database).all(hours), ({ hour }) => hour);
  return Array.from({ length: hours.end - hours.first }, (_, index) => {
    const hour = hours.first + index;
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
      calls: { submit: count('calls', 'submit'), lookup: count('calls', 'lookup') },
    };
  });
}

function latencyOf(rows: readonly HourRow[]): HourStatistics['latency'] {
  const steps = rows
    .flatMap(({ name, key, n }) => (name === 'latency' ? [{ step: Number(key), n }] : []))
    .toSorted((a, b) => a.step - b.step);
  const total = steps.reduce((sum, { n }) => sum + n, 0);
  if (total === 0) return null;
  return { medianMs: quantile(steps, total * 0.5), p95Ms: quantile(steps, total * 0.95) };
}

/** The middle of the step in which the entry of this rank lies: see the migration that made the table. */
function quantile(steps: readonly { step: number; n: number }[], rank: number): number {
  let passed = 0;
  for (const { step, n } of steps) {
    passed += n;
    if (passed >= rank) return Math.round(100 * 2 ** ((step - 0.5) / 4));
  }
  return 0;
}

/**
 * Every minute that the period touches, the first one first.
 * @throws OrderSyncError INVALID_INPUT for more than 6 hours
 */
export function readMinuteCalls(database: Sqlite, period: Period): readonly MinuteCalls[] {
  const { first, end } = unitsOf(period, minuteMs, mostMinutes);
  const rows = selectMinutes(database).all({ fromMs: first * minuteMs, untilMs: end * minuteMs });
  const counts = new Map(rows.map(({ minute, purpose, n }) => [`${minute} ${purpose}`, n]));
  return Array.from({ length: end - first }, (_, index) => {
    const minute = first + index;
    return {
      minute: isoTime(minute * minuteMs),
      submit: counts.get(`${minute} submit`) ?? 0,
      lookup: counts.get(`${minute} lookup`) ?? 0,
    };
  });
}

/**
 * The spending of each day (UTC) that the period touches, from each balance; the last day first. A day on which nothing was
 * charged or refunded is left out.
 * @throws OrderSyncError INVALID_INPUT for more than 92 days
 */
export function readSpending(database: Sqlite, period: Period): readonly DaySpending[] {
  const days = unitsOf(period, 24 * hourMs, mostDays);
  const hours = { first: days.first * 24, end: days.end * 24 };
  const rows = selectAmounts(database).safeIntegers(true).all(hours);
  return [...Map.groupBy(rows, ({ day, currency }) => `${day} ${currency}`)].map(([of, ofDay]) => {
    const [day = '', currency = ''] = of.split(' ');
    const sum = (asked: string) => ofDay.reduce((total, { name, n }) => (name === asked ? total + n : total), 0n);
    return {
      day,
      currency,
      orders: Number(sum('bought')),
      spent: decimal(sum('spent')),
      refunded: decimal(sum('refunded')),
    };
  });
}

/** `12340000n` in millionths is `12.34`; at least two digits after the point. */
function decimal(millionths: bigint): string {
  const text = String(millionths < 0n ? -millionths : millionths).padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0{1,4}$/, '');
  return `${millionths < 0n ? '-' : ''}${text.slice(0, -digits)}.${fraction}`;
}
