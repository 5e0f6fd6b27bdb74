import type { Customer } from '../../core/order/customer.ts';
import { readLane } from '../../store/entries/lanes.ts';
import { releaseEntry } from '../../store/entries/entry-changes.ts';
import { columnOf, inTransaction, statementOf, type Sqlite } from '../../store/sqlite/database.ts';
import type { Outbox } from '../../store/sqlite/outbox.ts';
import type { EntryRow } from '../../store/sqlite/rows.ts';
import { countedSince, nameOf, Room, type Spending, type Spent } from './limits.ts';
import type { SpendLimit, SpendSettings } from './settings.ts';
import { expectedUnitCost, maxCostOf } from './unit-costs-sql.ts';
import { isoTime } from '../../core/clock.ts';
import { balanceText } from '../../core/operator/balance.ts';
import { readBalances } from '../../store/entries/balances.ts';
import { deleteMeta, writeMeta } from '../../store/sqlite/meta.ts';

/*
 * Two sums count against the limits on spending: the reservations of entries that are or may be
 * bought, from their claim until their cost is known, and the charges since. Both are read in steady
 * time, so a clock that is set moves no window. A charge counts from its answer on, which comes after
 * the purchase: so it never leaves its window too early.
 */

type Asked = Record<string, string | number | null>;

const ofLimit = `(:source IS NULL OR substr(e.lane, 1, instr(e.lane, '|') - 1) = :source)
  AND (:product IS NULL OR :product IN (e.variant, e.plan))`;
type OfLimit = Record<'source' | 'product' | 'currency', string | null>;
const sumReserved = statementOf<OfLimit, Spent>(
  `SELECT coalesce(sum(e.reserved), 0) AS millionths, coalesce(sum(e.reserved = 0), 0) AS unpriced
   FROM entries e INDEXED BY entries_reserved WHERE e.reserved IS NOT NULL AND e.currency = :currency AND ${ofLimit}`,
);
const sumCharged = columnOf<OfLimit & { since: number; until: number }, number>(
  `SELECT coalesce(sum(c.millionths), 0) FROM charges c INDEXED BY charges_by_time CROSS JOIN entries e ON e.id = c.entry_id
   WHERE c.at_steady > :since AND c.at_steady <= :until AND c.kind <> 'refund' AND c.currency = :currency AND ${ofLimit}`,
);
const sumOfCustomer = (column: string) =>
  statementOf<Asked, Spent>(
    `SELECT coalesce(sum(coalesce(c.millionths, e.reserved)), 0) AS millionths, coalesce(sum(c.entry_id IS NULL AND e.reserved = 0), 0) AS unpriced
     FROM lines l JOIN entries e ON e.line_id = l.id LEFT JOIN charges c ON c.entry_id = e.id AND c.kind <> 'refund'
     WHERE l.${column} = :customer AND ${ofLimit} AND iif(c.entry_id IS NULL, e.reserved IS NOT NULL AND e.currency = :currency, c.at_steady > :since AND c.currency = :currency)`,
  );
const sumsOfCustomer = { email: sumOfCustomer('email_mark'), phone: sumOfCustomer('phone_mark') };
const findCustomer = statementOf<[number], Customer>(
  'SELECT email_mark AS email, phone_mark AS phone FROM lines WHERE id = ?',
);
const nobody: Customer = { email: null, phone: null };
// Some of each lane and customer: a loop of one hides no order of another one.
const selectOverLimit = statementOf<[], EntryRow>(
  `SELECT e.* FROM (
     SELECT e.id, due_steady, row_number() OVER (PARTITION BY e.lane, l.email_mark, l.phone_mark ORDER BY due_steady, e.id) AS place
     FROM entries e INDEXED BY entries_over_limit JOIN lines l ON l.id = e.line_id WHERE held_by = 'limit') h
   JOIN entries e ON e.id = h.id WHERE h.place <= 50 ORDER BY h.due_steady, h.id LIMIT 5000`,
);

/** Beyond that, no sum would be exact. */
const mostMillionths = 9e15;

/** What a purchase counts as, at the last cost of its product, else by the catalogue, else its `max_cost`. */
export function spendingOf(database: Sqlite, row: EntryRow): Spending {
  const { lane, variant, plan, currency, quantity } = row;
  const maxCost = maxCostOf(database, row);
  const millionths = (unitCost: number): number => Math.round(unitCost * 1e6) * (quantity ?? 1);
  const expected = millionths(expectedUnitCost(database, row) ?? maxCost ?? -1);
  const isKnown = expected >= 0 && expected <= mostMillionths;
  return {
    customer: findCustomer(database).get(row.line_id) ?? nobody,
    source: readLane(lane).source,
    product: variant ?? plan,
    currency,
    expected: isKnown ? expected : null,
    most: maxCost === null ? null : millionths(maxCost),
  };
}

/** Older charges are all recorded. */
const recordedMs = 60_000;
const keptSums = new WeakMap<
  Sqlite,
  Map<string, { since: number; until: number; millionths: number }>
>();

/**
 * The sum of the charges within the window of a limit. A day has up to 30,000 charges of each key:
 * only those are read that came into the window or left it since the last time.
 */
function chargedSince(
  database: Sqlite,
  of: OfLimit,
  per: SpendLimit['per'],
  steadyMs: number,
): number {
  const since = countedSince({ per }, steadyMs) ?? steadyMs;
  const sum = (after: number, until: number): number =>
    sumCharged(database).get({ ...of, since: after, until }) ?? 0;
  const until = Math.max(since, steadyMs - recordedMs);
  const kept = keptSums.get(database) ?? new Map();
  keptSums.set(database, kept);
  const name = JSON.stringify([of, per]);
  const last = kept.get(name);
  const isUsable = last && last.since <= since && since <= last.until && last.until <= until;
  const millionths = isUsable
    ? last.millionths - sum(last.since, since) + sum(last.until, until)
    : sum(since, until);
  kept.set(name, { since, until, millionths });
  return millionths + sum(until, Number.POSITIVE_INFINITY);
}

/** What may be spent now. */
export const roomNow = (database: Sqlite, limits: readonly SpendLimit[], steadyMs: number): Room =>
  new Room(limits, (limit, customer) => {
    const of = { source: limit.source, product: limit.product, currency: limit.amount.currency };
    if (limit.customer !== null && customer !== null) {
      const asked = { ...of, customer, since: countedSince(limit, steadyMs) };
      return sumsOfCustomer[limit.customer](database).get(asked) ?? emptySum;
    }
    const { millionths, unpriced } = sumReserved(database).get(of) ?? emptySum;
    return { millionths: millionths + chargedSince(database, of, limit.per, steadyMs), unpriced };
  });
const emptySum: Spent = { millionths: 0, unpriced: 0 };

/**
 * Releases held entries for which there is room, and those whose deadline has passed, so that they
 * end. They go back to their place in the queue; what is released counts at once, so that no more
 * come than there is room for.
 */
export function releaseWithinLimits(
  outbox: Outbox,
  limits: readonly SpendLimit[],
  nowMs: number,
): number {
  const { database } = outbox;
  const held = selectOverLimit(database).all();
  if (held.length === 0) return 0;
  const room = roomNow(database, limits, outbox.clock.steadyMs());
  const released = held.filter((row) => {
    const spending = spendingOf(database, row);
    const isOverdue = row.not_after_ms !== null && row.not_after_ms <= nowMs;
    if (!isOverdue && room.over(spending) !== null) return false;
    room.add(spending);
    return true;
  });
  if (released.length > 0)
    inTransaction(database, () => {
      for (const row of released) releaseEntry(outbox, row, nowMs);
    });
  return released.length;
}

const selectNoted = statementOf<[], [string, string]>(
  "SELECT name, value FROM meta WHERE name GLOB 'money:*'",
);

// Once a day: no sum reads the charges of years.
const takeChargesOff = statementOf<{ until: number }, never>(
  `UPDATE balances AS b SET at_steady = :until, millionths = millionths -
     (SELECT total(millionths) FROM charges WHERE at_steady > b.at_steady AND at_steady <= :until AND currency = b.currency)
   WHERE at_steady < :until - 864e5`,
);

/** Notes which balances and limits are nearly used up, and writes only what changed. */
export function watchMoney(
  { database, clock }: Outbox,
  { limits, balanceAlerts }: SpendSettings,
  nowMs: number,
): void {
  const steadyMs = clock.steadyMs();
  takeChargesOff(database).run({ until: steadyMs - 36e5 });
  const before = new Map(selectNoted(database).raw().all());
  const note = (of: string, used: number, message: string): void => {
    const name = `money:${of}`;
    const known = before.get(name);
    // It does not come and go with each order.
    if (!(used >= (known ? 0.8 : 1))) return;
    const { at } = known ? JSON.parse(known) : { at: isoTime(nowMs) };
    const value = JSON.stringify({ at, message });
    if (value !== known) writeMeta(database, name, value);
    before.delete(name);
  };
  for (const balance of readBalances(database, steadyMs)) {
    const { currency, left, hoursLeft } = balance;
    const known = new Map([
      ['h', hoursLeft],
      [currency, Math.max(0, Number(left))],
    ]);
    const used = balanceAlerts.map((alert) => {
      const [amount, unit = ''] = alert.split(' ');
      return Number(amount) / (known.get(unit) ?? Infinity);
    });
    note(`balance:${currency}`, Math.max(...used), balanceText(balance, true));
  }
  const room = roomNow(database, limits, steadyMs);
  // Each customer has a sum of their own.
  for (const limit of limits.filter(({ customer }) => customer === null)) {
    const percent = room.usedPercent(limit);
    const message = `about ${Math.floor(percent / 5) * 5} % of the limit is spent or reserved`;
    note(nameOf(limit), percent / limit.alertAt, message);
  }
  for (const name of before.keys()) deleteMeta(database, name);
}
