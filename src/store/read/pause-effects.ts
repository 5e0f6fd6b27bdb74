import type { Affected } from '../../core/operator/affected.ts';
import { scopeFrom } from '../../core/order/scope.ts';
import { readLane } from '../entries/lanes.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { wallAhead } from '../sqlite/steady-time.ts';
import { selectLaneCounts } from '../sqlite/entry-counts.ts';
import { connectorUnproven } from '../entries/connector-canary.ts';
import {
  isLanePaused,
  isSendPaused,
  pausedScopes,
  readPauses,
  type Pause,
} from '../entries/pauses.ts';
import { readAffected } from './affected.ts';

/** A pause as it is shown, with the wall time of its next probe. */
export interface PauseEffect extends Pause {
  /**
   * Entries to send that it keeps from being sent. An entry of two paused scopes counts for both.
   */
  readonly holdsUp: number;
  /** Reads the orders and the money that wait for it; unknown outcomes are left out. */
  readonly affects: () => Affected;
}

interface SendCount {
  readonly state: 'pending' | 'waiting' | 'unknown';
  readonly lane: string;
  readonly count: number;
}

// Unknown outcomes are few, and not all of them are to be sent.
const selectUnknown = statementOf<[], SendCount>(
  `SELECT 'unknown' AS state, lane, count(*) AS count FROM entries WHERE state = 'unknown' AND next_step = 'send' GROUP BY lane`,
);

/**
 * From the counts that are kept: the worker that asks must not wait for a scan of a large backlog.
 */
export function readSendCounts(database: Sqlite): readonly SendCount[] {
  const queues = (['pending', 'waiting'] as const).flatMap((state) =>
    selectLaneCounts(database)
      .all({ state })
      .map((queue) => ({ ...queue, state })),
  );
  return [...queues, ...selectUnknown(database).all()];
}

export const countOf = (groups: readonly SendCount[]): number =>
  groups.reduce((sum, { count }) => sum + count, 0);

const selectKeys = columnOf<[], string>('SELECT key_name FROM wholesale_keys');

/**
 * Every pause with what it holds up. The cost is a walk through the index of the lanes; without a
 * pause there is none.
 */
export function readPauseEffects(database: Sqlite): readonly PauseEffect[] {
  const pauses = readPauses(database);
  return pauses.length === 0 ? [] : pauseEffects(database, pauses, readSendCounts(database));
}

export function pauseEffects(
  database: Sqlite,
  pauses: readonly Pause[],
  groups: readonly SendCount[],
): readonly PauseEffect[] {
  // There may be many products: each looks only at its own lanes.
  const ofProduct = Map.groupBy(groups, ({ lane }) => readLane(lane).product);
  const noKeyIsLeft = isEveryKeyPaused(database, pauses);
  const heldUp = (pause: Pause): readonly SendCount[] => {
    const kind = scopeFrom(pause.scope)?.kind;
    if (kind === 'account') return groups;
    if (kind === 'key') return noKeyIsLeft ? groups : [];
    const isProduct = kind === 'variant' || kind === 'plan';
    return (isProduct ? (ofProduct.get(pause.scope) ?? []) : groups).filter(holdUp([pause]));
  };
  const aheadMs = wallAhead(database).get() ?? 0;
  return pauses.map((pause) => {
    const held = heldUp(pause);
    return {
      ...pause,
      probeAtMs: pause.probeAtMs === null ? null : pause.probeAtMs + aheadMs,
      holdsUp: countOf(held),
      affects: () => {
        const lanes = held.filter(({ state }) => state !== 'unknown').map(({ lane }) => lane);
        const waiting = selectHeldUp(database).all({ lanes: JSON.stringify(lanes), lookedAt });
        return readAffected(database, waiting, lookedAt);
      },
    };
  });
}

const lookedAt = 5000;
const heldUpIn = (state: 'pending' | 'waiting'): string =>
  `SELECT reference FROM entries WHERE state = '${state}' AND lane IN (SELECT value FROM json_each(:lanes))`;
const selectHeldUp = columnOf<{ lanes: string; lookedAt: number }, string>(
  `${heldUpIn('pending')} UNION ALL ${heldUpIn('waiting')} LIMIT :lookedAt`,
);

/**
 * Whether pauses of products, families and balances keep an entry from being sent, by the rule of
 * the claim.
 */
export function holdUp(pauses: readonly Pause[]): (entry: Omit<SendCount, 'count'>) => boolean {
  const limited = pausedScopes(pauses.filter(({ reason }) => reason === connectorUnproven));
  const paused = pausedScopes(pauses.filter(({ reason }) => reason !== connectorUnproven));
  return ({ state, lane: name }) => {
    const lane = readLane(name);
    // An entry with an unknown outcome may have been bought already: it waits neither for a balance
    // nor for the first delivered order. A cancel delivers nothing: it does not wait for that,
    // either.
    if (state === 'unknown') return isSendPaused(lane, paused);
    return isLanePaused(lane, paused) || (lane.product !== null && isLanePaused(lane, limited));
  };
}

/** While one key may be used, the others hold up nothing. */
export function isEveryKeyPaused(database: Sqlite, pauses: readonly Pause[]): boolean {
  const paused = new Set(pauses.map((pause) => pause.scope));
  const keys = selectKeys(database).all();
  return keys.length > 0 && keys.every((name) => paused.has(`key:${name}`));
}
