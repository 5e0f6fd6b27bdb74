import { scopesOf, keyScope } from '../../core/order/scope.ts';
import type { Family } from '../../core/order/purchase.ts';
import { lostOutboxMayHaveSent } from '../../store/entries/after-loss.ts';
import { originOf } from '../../store/entries/esim-origins.ts';
import { lanesOf, readLane, type QueueState } from '../../store/entries/lanes.ts';
import { isSendPaused, type Pause, type PausedScopes } from '../../store/entries/pauses.ts';
import { findShopOrder } from '../../store/entries/rechecks.ts';
import {
  isBoughtTwice,
  otherSender,
  otherSenderOf,
  waitsForKey,
} from '../../store/entries/sender-keys.ts';
import { whyHeldByShop } from '../../store/entries/shop-holds.ts';
import { columnOf, statementOf, type Sqlite } from '../../store/sqlite/database.ts';
import { OutboxSteps } from '../../store/sqlite/outbox.ts';
import { isEnding, rulesFrom, type EntryRow } from '../../store/sqlite/rows.ts';
import {
  mayClaim,
  placeOf,
  places,
  type Candidates,
  type LaneRules,
  type NewFacts,
  type ResendRules,
  type UnknownFacts,
} from './choose.ts';

/**
 * Reads the candidates of the queue, and the facts by which one of them is chosen. Nothing here
 * writes.
 */

/**
 * An eSIM is spent on by one call at a time, in the order in which the entries came: while an
 * earlier entry of the same ICCID is open, a later one waits. Where an operator held the earlier one,
 * and released it while the later one was being sent, the earlier one waits.
 */
const iccidIsFree = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.id <> e.id AND (o.id < e.id OR o.state = 'sending')
    AND o.iccid IS NOT NULL AND o.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed')))`;
/** The same for an entry of unknown outcome, which is open already: the later ones wait for it. */
const iccidIsIdle = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.iccid IS NOT NULL AND o.state = 'sending'))`;
const mayStart = `(e.not_after_ms IS NULL OR e.not_after_ms > :latestMs)`;
const hasNoOpenCall =
  'NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = e.id AND a.closed_at_ms IS NULL)';

/** A lane with entries of a state, and when the first of them is due. */
interface LaneHead {
  readonly lane: string;
  readonly dueAtMs: number;
  readonly id: number;
}

const headsOf = (state: QueueState): string => `
  SELECT e.lane, e.due_steady AS dueAtMs, e.id FROM (${lanesOf(state)}) lanes
  JOIN entries e ON e.id = (SELECT h.id FROM entries h INDEXED BY entries_${state}_lanes
    WHERE h.state = '${state}' AND h.lane = lanes.lane ORDER BY h.due_steady, h.id LIMIT 1)`;

const headOf = (state: QueueState): string => `
  SELECT e.* FROM entries e INDEXED BY entries_${state}_lanes
  WHERE e.state = '${state}' AND e.lane = :lane AND e.due_steady <= :steadyMs AND ${mayStart} AND ${iccidIsFree}
    AND NOT ${waitsForKey(':fingerprint', 'SELECT value FROM json_each(:paused)')}
    AND e.id NOT IN (SELECT value FROM json_each(:except))
  ORDER BY e.due_steady, e.id LIMIT 1`;

/**
 * Entries of unknown outcome are few: no more than `submit.concurrency`, unless that was lowered.
 */
const mostUnknown = 1000;

interface HeadParameters {
  readonly lane: string;
  readonly steadyMs: number;
  /** An entry whose deadline is not after this is not chosen. */
  readonly latestMs: number;
  /** That of the key with which it would be sent. */
  readonly fingerprint: string | null;
  /** Scopes, as JSON. */
  readonly paused: string;
  /** Ids that are not chosen any more, as JSON. */
  readonly except: string;
}

const selectToSendAgain = statementOf<{ steadyMs: number }, EntryRow>(
  `SELECT e.* FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'send' AND e.due_steady <= :steadyMs
   AND ${iccidIsIdle} ORDER BY e.due_steady, e.id LIMIT ${mostUnknown}`,
);
const ofStates = <T>(make: (state: QueueState) => T) => ({
  waiting: make('waiting'),
  pending: make('pending'),
});
const selectHead = ofStates((state) => statementOf<HeadParameters, EntryRow>(headOf(state)));
const selectHeads = ofStates((state) => statementOf<[], LaneHead>(headsOf(state)));
const firstToLookUp = (which: string, order = 'e.due_steady, e.id') =>
  statementOf<{ steadyMs: number; fingerprint: string | null }, EntryRow>(
    `SELECT e.* FROM entries e WHERE ${which} AND e.due_steady <= :steadyMs AND ${hasNoOpenCall}
     AND coalesce(${otherSender()}, 0) = 0 ORDER BY ${order} LIMIT 1`,
  );
const isUnknown = `e.state = 'unknown' AND e.next_step = 'lookup'`;
const lookUpUnknown = firstToLookUp(isUnknown, 'e.outcome_unknown DESC, e.due_steady, e.id');
const lookUpOldest = [firstToLookUp(isUnknown), firstToLookUp(`e.state = 'placed'`)];
const findPendingDue = columnOf<{ steadyMs: number }, number>(
  `SELECT 1 FROM entries WHERE state = 'pending' AND due_steady <= :steadyMs LIMIT 1`,
);
const nextSendAt = columnOf<[], number | null>(
  `SELECT min(at) FROM (
     SELECT (SELECT min(due_steady) FROM entries WHERE state = 'unknown' AND next_step = 'send') AS at
     UNION ALL SELECT (SELECT min(due_steady) FROM entries WHERE state = 'waiting')
     UNION ALL SELECT (SELECT min(due_steady) FROM entries e WHERE e.state = 'pending' AND e.lane = pending.lane)
     FROM (${lanesOf('pending')}) pending)`,
);
const nextLookupAt = columnOf<[], number | null>(
  `SELECT min(at) FROM (
     SELECT (SELECT min(e.due_steady) FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'lookup' AND ${hasNoOpenCall}) AS at
     UNION ALL SELECT (SELECT min(e.due_steady) FROM entries e WHERE e.state = 'placed' AND ${hasNoOpenCall}))`,
);
// Keeps rising when a transaction is rolled back.
const totalChanges = columnOf<[], number>('SELECT total_changes()');
/** Entries whose deadline passed while nothing was charged for them, some at a time. */
export const selectOverdue = statementOf<[number], EntryRow>(
  `SELECT * FROM entries WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL AND not_after_ms <= ? LIMIT 500`,
);
export const nextDeadline = columnOf<[], number | null>(
  `SELECT min(not_after_ms) FROM entries WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL`,
);

const turnsBetweenLast = 10;
/** So many turns are remembered. Beyond it the turns begin anew, which harms nobody. */
const mostTurns = 100_000;

/**
 * The entries that are due: the shops take turns, and within a shop its lanes do. A backlog of
 * thousands delays the single order of another shop or product by one call. The turns are kept in
 * memory: they begin anew after a restart.
 */
export class Queue extends OutboxSteps {
  /** The number of the last turn of each shop and of each lane. */
  readonly #lastTurns = new Map<string, number>();
  #turns = 0;
  #isTurnOfOldest = false;
  /** The last turn of what comes after the others. */
  #lastTurnOfLast = 0;
  #turnsOfLast = 0;
  /**
   * What `nextAt` found at this count of changed rows. It is asked several times between two
   * changes.
   */
  #nextAt: { changes: number; found: Map<'send' | 'lookup', number | null> } | null = null;

  /** The entries of unknown outcome that are due to be sent again. */
  toSendAgain(steadyMs: number): readonly EntryRow[] {
    return selectToSendAgain(this.database).all({ steadyMs });
  }

  /**
   * The next entry that was never sent, or that waited to be sent again; null when no lane has one.
   */
  toSend(
    at: Pick<HeadParameters, 'steadyMs' | 'latestMs' | 'fingerprint'> & {
      readonly except: readonly number[];
    },
    rules: LaneRules,
  ): EntryRow | null {
    const lanes = this.#inTurn(at.steadyMs)
      .filter(({ read }) => mayClaim(read, rules))
      .map((candidates, index) => ({
        candidates,
        index,
        place: this.#placeOf(candidates, rules),
        isNew: placeOf(candidates, rules) === places.new,
      }))
      .toSorted(
        (a, b) => a.place - b.place || (a.isNew ? this.#fromBothEnds(a.index - b.index) : 0),
      );
    for (const { candidates } of lanes) {
      const { state, lane, read } = candidates;
      const row = selectHead[state](this.database).get({
        ...at,
        except: JSON.stringify(at.except),
        paused: JSON.stringify([...rules.paused.all]),
        lane,
      });
      if (row === undefined) continue;
      if (this.#lastTurns.size >= mostTurns) this.#lastTurns.clear();
      this.#turns += 1;
      this.#lastTurns.set(read.source, this.#turns).set(`${state} ${lane}`, this.#turns);
      if (placeOf(candidates, rules) > places.usual) {
        this.#lastTurnOfLast = this.#turns;
        this.#turnsOfLast += 1;
      }
      return row;
    }
    return null;
  }

  /** The last place has one turn of ten, in which new and failing products take turns. */
  #placeOf(candidates: Candidates, rules: LaneRules): number {
    const place = placeOf(candidates, rules);
    const isLate = this.#turns - this.#lastTurnOfLast < turnsBetweenLast;
    if (place <= places.usual || isLate) return place;
    const isItsTurn = (place === places.new) === (this.#turnsOfLast % 2 === 0);
    return isItsTurn ? places.trial : places.usual - 0.5;
  }

  /**
   * New products are tried from both ends: many that fail, one behind the other, do not hide the
   * others.
   */
  #fromBothEnds(order: number): number {
    return this.#turnsOfLast % 4 < 2 ? order : -order;
  }

  /** The families of the products of which an order is due. */
  dueFamilies(steadyMs: number): readonly Family[] {
    const due = this.#inTurn(steadyMs).flatMap(({ read }) =>
      read.product === null ? [] : [read.family],
    );
    return (['gift_card', 'esim'] as const).filter((family) => due.includes(`family:${family}`));
  }

  /**
   * The lanes with an entry that is due. Shops that had no turn yet take their turns in the order
   * of arrival.
   */
  #inTurn(steadyMs: number): readonly Candidates[] {
    const last = (name: string): number => this.#lastTurns.get(name) ?? 0;
    const heads = ofStates((state) => selectHeads[state](this.database).all());
    const waiting = new Set(heads.waiting.map(({ lane }) => lane));
    return (['waiting', 'pending'] as const)
      .flatMap((state) =>
        heads[state]
          .filter(({ dueAtMs }) => dueAtMs <= steadyMs)
          .toSorted((a, b) => a.dueAtMs - b.dueAtMs || a.id - b.id)
          .map(({ lane }) => ({
            state,
            lane,
            read: readLane(lane),
            hasWaiting: waiting.has(lane),
          })),
      )
      .map((lane) => ({
        lane,
        shop: last(lane.read.source),
        own: last(`${lane.state} ${lane.lane}`),
      }))
      .toSorted((a, b) => a.shop - b.shop || a.own - b.own)
      .map(({ lane }) => lane);
  }

  /**
   * The entry that is looked up next: by turns one of unknown outcome, and what is due longest. So
   * none waits for the others.
   */
  toLookUp(steadyMs: number, fingerprint: string | null): EntryRow | null {
    const given = { steadyMs, fingerprint };
    const first = this.#isTurnOfOldest ? undefined : lookUpUnknown(this.database).get(given);
    const oldest = first === undefined ? lookUpOldest : [];
    const due = oldest.flatMap((select) => select(this.database).get(given) ?? []);
    const found = first ?? due.toSorted((a, b) => a.due_steady - b.due_steady)[0];
    if (found !== undefined) this.#isTurnOfOldest = !this.#isTurnOfOldest;
    return found ?? null;
  }

  /** When the next entry is due for this step: a time, or null when none is waiting for one. */
  nextAt(step: 'send' | 'lookup', steadyMs: number): number | null {
    const changes = totalChanges(this.database).get() ?? 0;
    if (this.#nextAt?.changes !== changes) this.#nextAt = { changes, found: new Map() };
    const { found } = this.#nextAt;
    const known = found.get(step);
    if (known !== undefined) return known;
    // With many lanes this is much cheaper than to look into each.
    if (step === 'send' && findPendingDue(this.database).get({ steadyMs }) !== undefined)
      return steadyMs;
    const at = (step === 'send' ? nextSendAt : nextLookupAt)(this.database).get() ?? null;
    found.set(step, at);
    return at;
  }
}

/** The facts of an entry that does not wait for another key. */
export function newFactsOf(
  database: Sqlite,
  row: EntryRow,
  {
    fingerprint,
    claim: { steadyMs, resend },
  }: {
    fingerprint: string | null;
    claim: { steadyMs: number; resend: Pick<ResendRules, 'referenceExpiryMs'> };
  },
): NewFacts {
  const sinceMs = steadyMs - (row.first_sent_steady ?? steadyMs);
  const isTooOld = sinceMs >= resend.referenceExpiryMs;
  return {
    operation: row.operation,
    askFirst:
      isBoughtTwice(database, row.id) &&
      (isTooOld || otherSenderOf(database, row.id, fingerprint) !== null),
    heldByShop: whyHeldByShop(database, row),
    lostOutboxMayHaveSent: lostOutboxMayHaveSent(database, row),
    shopOrder: findShopOrder(database, row),
  };
}

/** @param fingerprint that of the key with which it would be sent */
export function unknownFactsOf(
  database: Sqlite,
  row: EntryRow,
  {
    fingerprint,
    paused,
    pauses,
  }: { fingerprint: string | null; paused: PausedScopes; pauses: readonly Pause[] },
): Omit<UnknownFacts, 'notAfterMs'> {
  const sender = keyScope(row.key_name ?? '');
  return {
    ...row,
    rules: rulesFrom(row.rules),
    firstSentAtMs: row.first_sent_steady,
    askedAfterLoss: row.asked_after_loss,
    originReference: originOf(database, row),
    isEnding: isEnding(row),
    heldByShop: whyHeldByShop(database, row),
    otherSender: otherSenderOf(database, row.id, fingerprint),
    senderPause:
      (paused.all.has(sender) ? pauses.find(({ scope }) => scope === sender) : null) ?? null,
    isPaused: isSendPaused(scopesOf(row), paused),
  };
}
