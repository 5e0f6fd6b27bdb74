import { columnOf, statementOf } from '../sqlite/database.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { otherSender } from './account-keys.ts';
import type { AttemptClaim } from './attempt.ts';
import { lanesOf, readLane, type Lane, type QueueState } from './lanes.ts';

/**
 * An eSIM is spent on by one call at a time, in the order in which the entries came: while an earlier entry of the same
 * ICCID is open, a later one waits. Where a person held the earlier one, and released it while the later one was being
 * sent, the earlier one waits.
 */
const iccidIsFree = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.id <> e.id AND (o.id < e.id OR o.state = 'sending')
    AND o.iccid IS NOT NULL AND o.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed')))`;
/** The same for an entry of unknown outcome, which is open already: the later ones wait for it. */
const iccidIsIdle = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.iccid IS NOT NULL AND o.state = 'sending'))`;
const mayStart = `(e.not_after_ms IS NULL OR e.not_after_ms > :latestMs)`;
const hasNoOpenCall = 'NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = e.id AND a.closed_at_ms IS NULL)';

/** A lane with entries of a state, and the one of them that is due first. */
interface LaneHead {
  readonly lane: string;
  readonly dueAtMs: number;
  readonly id: number;
}

const headsOf = (state: QueueState): string => `
  SELECT e.lane, e.due_at_ms AS dueAtMs, e.id FROM (${lanesOf(state)}) lanes
  JOIN entries e ON e.id = (SELECT h.id FROM entries h INDEXED BY entries_${state}_lanes
    WHERE h.state = '${state}' AND h.lane = lanes.lane ORDER BY h.due_at_ms, h.id LIMIT 1)`;

const headOf = (state: QueueState): string => `
  SELECT e.* FROM entries e INDEXED BY entries_${state}_lanes
  WHERE e.state = '${state}' AND e.lane = :lane AND e.due_at_ms <= :nowMs AND ${mayStart} AND ${iccidIsFree}
  ORDER BY e.due_at_ms, e.id LIMIT 1`;

/** Entries of unknown outcome are few: no more than `submit.concurrency`, unless that was lowered. */
const mostUnknown = 1000;

/** A lane that has entries of a state; one of them may be due. */
interface Queue extends LaneHead {
  readonly state: QueueState;
  readonly read: Lane;
}

type HeadParameters = Pick<LaneHead, 'lane'> & { nowMs: number; latestMs: number };

/** Which entry may be claimed, from which lanes. */
interface LaneChoice {
  /** An entry whose deadline is not after this is not claimed. */
  readonly latestMs: number;
  readonly mayClaim: (lane: Lane) => boolean;
  /** Above 0 for lanes that come before the others: the highest number first. */
  readonly first?: (lane: Lane) => number;
  /** The lanes that come after the others, but for one turn of ten. */
  readonly isLast?: (lane: Lane) => boolean;
  /** Which of its orders is the trial of a lane's balance, as an order of preference; null where none is due. */
  readonly trialOfBalance: (lane: Lane) => ((a: EntryRow, b: EntryRow) => number) | null;
}

/** So many lanes are compared to choose the order for a trial. */
const mostCompared = 200;

/** The entries of unknown outcome that are due to be sent again. */
export const selectToSendAgain = statementOf<{ nowMs: number }, EntryRow>(
  `SELECT e.* FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'send' AND e.due_at_ms <= :nowMs
   AND ${iccidIsIdle} ORDER BY e.due_at_ms, e.id LIMIT ${mostUnknown}`,
);
const ofStates = <T>(make: (state: QueueState) => T) => ({ waiting: make('waiting'), pending: make('pending') });
const selectHead = ofStates((state) => statementOf<HeadParameters, EntryRow>(headOf(state)));
const selectHeads = ofStates((state) => statementOf<[], LaneHead>(headsOf(state)));
/** The lanes of the calls under way. */
export const selectSendingLanes = columnOf<[], string>("SELECT DISTINCT lane FROM entries WHERE state = 'sending'");
const firstToLookUp = (which: string, order = 'e.due_at_ms, e.id') =>
  statementOf<{ nowMs: number; fingerprint: string | null }, EntryRow>(
    `SELECT e.* FROM entries e WHERE ${which} AND e.due_at_ms <= :nowMs AND ${hasNoOpenCall}
     AND coalesce(${otherSender}, 0) = 0 ORDER BY ${order} LIMIT 1`,
  );
const isUnknown = `e.state = 'unknown' AND e.next_step = 'lookup'`;
const lookUpUnknown = firstToLookUp(isUnknown, 'e.outcome_unknown DESC, e.due_at_ms, e.id');
const lookUpOldest = [firstToLookUp(isUnknown), firstToLookUp(`e.state = 'placed'`)];
const findPendingDue = columnOf<{ nowMs: number }, number>(
  `SELECT 1 FROM entries WHERE state = 'pending' AND due_at_ms <= :nowMs LIMIT 1`,
);
const nextSendAt = columnOf<[], number | null>(
  `SELECT min(at) FROM (
     SELECT (SELECT min(due_at_ms) FROM entries WHERE state = 'unknown' AND next_step = 'send') AS at
     UNION ALL SELECT (SELECT min(due_at_ms) FROM entries WHERE state = 'waiting')
     UNION ALL SELECT (SELECT min(due_at_ms) FROM entries e WHERE e.state = 'pending' AND e.lane = pending.lane)
     FROM (${lanesOf('pending')}) pending)`,
);
const nextLookupAt = columnOf<[], number | null>(
  `SELECT min(at) FROM (
     SELECT (SELECT min(e.due_at_ms) FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'lookup' AND ${hasNoOpenCall}) AS at
     UNION ALL SELECT (SELECT min(e.due_at_ms) FROM entries e WHERE e.state = 'placed' AND ${hasNoOpenCall}))`,
);
// Keeps rising when a transaction is rolled back.
const totalChanges = columnOf<[], number>('SELECT total_changes()');
/** Entries whose deadline passed while nothing was charged for them, some at a time. */
export const selectOverdue = statementOf<[number], EntryRow>(
  `SELECT * FROM entries WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL AND not_after_ms <= ? LIMIT 500`,
);

const turnsBetweenLast = 10;
/** So many turns are remembered. Beyond it the turns begin anew, which harms nobody. */
const mostTurns = 100_000;

/**
 * The entries that are due to be sent: the shops take turns, and within a shop its queues do. A backlog of thousands delays the
 * single order of another shop or product by one call. The turns are kept in memory: they begin anew after a restart.
 */
export class DueEntries extends OutboxSteps {
  /** The number of the last turn of each shop and of each queue. */
  readonly #lastTurns = new Map<string, number>();
  #turns = 0;
  #isTurnOfOldest = false;
  /** The last turn of a lane that comes after the others. */
  #lastTurnOfLast = 0;
  /** What `nextAt` found at this count of changed rows. It is asked several times between two changes. */
  #nextAt: { changes: number; found: Map<AttemptClaim['step'], number | null> } | null = null;

  /** The next entry that was never sent, or that waited to be sent again; null when no lane has one that is due. */
  toSend(nowMs: number, { latestMs, mayClaim, first, isLast, trialOfBalance }: LaneChoice): EntryRow | null {
    const isLate = this.#turns - this.#lastTurnOfLast < turnsBetweenLast;
    const rank = ({ read }: Queue): number => (isLast?.(read) && isLate ? 1 : -(first?.(read) ?? 0));
    const inTurn = this.#inTurn(this.#queues(nowMs).filter(({ read }) => mayClaim(read)));
    const queues = inTurn.toSorted((a, b) => rank(a) - rank(b));
    const dueIn = ({ state, lane }: Queue): EntryRow | null =>
      selectHead[state](this.database).get({ nowMs, latestMs, lane }) ?? null;
    for (const queue of queues) {
      const row = dueIn(queue);
      if (row === null) continue;
      this.#recordTurn(queue);
      if (isLast?.(queue.read)) this.#lastTurnOfLast = this.#turns;
      const prefer = trialOfBalance(queue.read);
      if (prefer === null) return row;
      const others = queues.filter(({ read }) => read.balance === queue.read.balance).slice(0, mostCompared);
      return others.flatMap((other) => dueIn(other) ?? []).toSorted(prefer)[0] ?? row;
    }
    return null;
  }

  /** The queues with an entry that is due. Sources that had no turn yet take their turns in the order of arrival. */
  #queues(nowMs: number): readonly Queue[] {
    return (['waiting', 'pending'] as const).flatMap((state) =>
      selectHeads[state](this.database)
        .all()
        .filter(({ dueAtMs }) => dueAtMs <= nowMs)
        .toSorted((a, b) => a.dueAtMs - b.dueAtMs || a.id - b.id)
        .map((head) => ({ ...head, state, read: readLane(head.lane) })),
    );
  }

  #inTurn(queues: readonly Queue[]): readonly Queue[] {
    const last = (name: string): number => this.#lastTurns.get(name) ?? 0;
    return queues
      .map((queue) => ({ queue, shop: last(queue.read.source), own: last(`${queue.state} ${queue.lane}`) }))
      .toSorted((a, b) => a.shop - b.shop || a.own - b.own)
      .map(({ queue }) => queue);
  }

  #recordTurn({ state, lane, read }: Queue): void {
    if (this.#lastTurns.size >= mostTurns) this.#lastTurns.clear();
    this.#turns += 1;
    this.#lastTurns.set(read.source, this.#turns).set(`${state} ${lane}`, this.#turns);
  }

  /** The entry that is looked up next: by turns one of unknown outcome, and what is due longest. So none waits for the others. */
  toLookUp(nowMs: number, fingerprint: string | null): EntryRow | null {
    const given = { nowMs, fingerprint };
    const first = this.#isTurnOfOldest ? undefined : lookUpUnknown(this.database).get(given);
    const oldest = first === undefined ? lookUpOldest : [];
    const due = oldest.flatMap((select) => select(this.database).get(given) ?? []);
    const found = first ?? due.toSorted((a, b) => a.due_at_ms - b.due_at_ms)[0];
    if (found !== undefined) this.#isTurnOfOldest = !this.#isTurnOfOldest;
    return found ?? null;
  }

  nextAt(step: AttemptClaim['step'], nowMs: number): number | null {
    const changes = totalChanges(this.database).get() ?? 0;
    if (this.#nextAt?.changes !== changes) this.#nextAt = { changes, found: new Map() };
    const { found } = this.#nextAt;
    const known = found.get(step);
    if (known !== undefined) return known;
    // With many lanes this is much cheaper than to look into each.
    if (step === 'send' && findPendingDue(this.database).get({ nowMs }) !== undefined) return nowMs;
    const at = (step === 'send' ? nextSendAt : nextLookupAt)(this.database).get() ?? null;
    found.set(step, at);
    return at;
  }
}
