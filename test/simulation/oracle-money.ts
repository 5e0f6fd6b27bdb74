import type { Database } from 'better-sqlite3';
import { readSpending } from '../../src/store/read/statistics.ts';
import { wallStartMs } from './virtual-time.ts';
import type { World } from './world.ts';

interface EntryOfMoney {
  readonly id: number;
  readonly reference: string;
  readonly operation: string;
  readonly iccid: string | null;
  readonly state: string;
  /** The sum of its rows, in millionths. */
  readonly moved: number;
  /** 1: one of its rows is of an unknown amount. */
  readonly isUnknown: 0 | 1;
}

const dayMs = 86_400_000;

/**
 * The sums that the worker tells are the movements of each balance by the books of the API, except
 * for what it lists as unknown.
 */
export function checkSums(world: World, database: Database): void {
  // A refund of a time that the outbox does not know is in no sum.
  if (world.plan.lostDiskAtMs !== null) return;
  const entries = database
    .prepare<[], EntryOfMoney>(
      `SELECT e.id, e.reference, e.operation, e.iccid, e.state, coalesce(sum(c.millionths) FILTER (WHERE c.kind <> 'estimate'), 0) AS moved,
         coalesce(max(c.kind = 'estimate' OR (c.kind = 'refund' AND c.millionths IS NULL)), 0) AS isUnknown
       FROM entries e LEFT JOIN charges c ON c.entry_id = e.id GROUP BY e.id`,
    )
    .all();
  const isListed = ({ reference, state, isUnknown }: EntryOfMoney): boolean =>
    isUnknown === 1 ||
    state === 'needs_review' ||
    state === 'held' ||
    world.operator.resolved.has(reference);
  const listed = entries.filter(isListed);
  const subjectOf = ({ reference, operation, iccid }: EntryOfMoney): string =>
    operation === 'esim_cancel' ? `cancel:${iccid}` : reference;
  // Of two cancels of an eSIM, one gives back.
  const given = new Set(entries.filter((it) => !isListed(it) && it.moved !== 0).map(subjectOf));
  const unknown = new Set(listed.map(subjectOf));
  const isKnown = (subject: string): boolean => given.has(subject) || !unknown.has(subject);
  const told = new Map<string, number>();
  const booked = new Map<string, number>();
  const add = (sums: Map<string, number>, currency: string, amount: number): void =>
    void sums.set(currency, (sums.get(currency) ?? 0) + amount);
  // Wall clocks that were set have other days.
  const range = { fromMs: wallStartMs - 400 * dayMs, untilMs: wallStartMs + 400 * dayMs };
  for (const { currency, spent, refunded } of readSpending(database, range))
    add(told, currency, Math.round((Number(spent) - Number(refunded)) * 1e6));
  for (const { id } of listed) {
    const rows = database
      .prepare<[number], { currency: string; millionths: number | null }>(
        "SELECT currency, millionths FROM charges WHERE entry_id = ? AND kind <> 'estimate'",
      )
      .all(id);
    for (const { currency, millionths } of rows) add(told, currency, -(millionths ?? 0));
  }
  for (const { subject, currency, cents } of world.account.movements)
    if (isKnown(subject)) add(booked, currency, cents * 10_000);
  world.coverage.hit(listed.length === 0 ? 'sums of money, all known' : 'sums of money');
  for (const currency of new Set([...told.keys(), ...booked.keys()])) {
    const [ours, theirs] = [told.get(currency) ?? 0, booked.get(currency) ?? 0];
    if (ours !== theirs)
      world.violate(
        'I49',
        `the worker tells ${ours / 1e6} ${currency}, the balance moved by ${theirs / 1e6}`,
      );
  }
}
