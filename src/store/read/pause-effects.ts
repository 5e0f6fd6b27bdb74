import { scopeFrom } from '../../core/scopes/scope.ts';
import { readLane } from '../submission/lanes.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { readLaneCounts } from '../sqlite/entry-counts.ts';
import { connectorUnproven } from '../submission/connector-canary.ts';
import {
  isLanePaused,
  isSendPaused,
  pausedScopes,
  readPauses,
  type Pause,
  type PausedScopes,
} from '../submission/pauses.ts';

/** A pause, and what waits for its end. */
export interface PauseEffect extends Pause {
  /** Entries to send that it keeps from being sent. An entry of two paused scopes counts for both. */
  readonly holdsUp: number;
}

/** How many entries to send share a lane and a state. */
export interface SendCount {
  readonly state: 'pending' | 'waiting' | 'unknown';
  readonly lane: string;
  readonly count: number;
}

// Unknown outcomes are few, and not all of them are to be sent.
const selectUnknown = statementOf<[], SendCount>(
  `SELECT 'unknown' AS state, lane, count(*) AS count FROM entries WHERE state = 'unknown' AND next_step = 'send' GROUP BY lane`,
);

/** From the counts that are kept: the worker that asks must not wait for a scan of a large backlog. */
export function readSendCounts(database: Sqlite): readonly SendCount[] {
  const queues = (['pending', 'waiting'] as const).flatMap((state) =>
    readLaneCounts(database, state).map((queue) => ({ ...queue, state })),
  );
  return [...queues, ...selectUnknown(database).all()];
}

export const countOf = (groups: readonly SendCount[]): number => groups.reduce((sum, { count }) => sum + count, 0);

const selectKeys = columnOf<[], string>('SELECT key_name FROM wholesale_keys');

/** Every pause with what it holds up. The cost is a walk through the index of the lanes; without a pause there is none. */
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
  return pauses.map((pause) => ({ ...pause, holdsUp: countOf(heldUp(pause)) }));

  function heldUp(pause: Pause): readonly SendCount[] {
    const isWaiting = holdUp([pause]);
    switch (scopeFrom(pause.scope)?.kind) {
      case 'account':
        return groups;
      case 'key':
        return noKeyIsLeft ? groups : [];
      case 'variant':
      case 'plan':
        return (ofProduct.get(pause.scope) ?? []).filter(isWaiting);
      default:
        return groups.filter(isWaiting);
    }
  }
}

/** Whether pauses of products, families and balances keep an entry from being sent, by the rule of the claim. */
export function holdUp(pauses: readonly Pause[]): (entry: Omit<SendCount, 'count'>) => boolean {
  const { unproven = [], others = [] } = Object.groupBy(pauses, ({ reason }) =>
    reason === connectorUnproven ? 'unproven' : 'others',
  );
  const [limited, paused] = [pausedScopes(unproven), pausedScopes(others)];
  return (entry) => isGroupPaused(entry, paused) || (isLimited(entry) && isGroupPaused(entry, limited));
}

/** An entry with an unknown outcome may have been bought already: it does not wait for a balance. */
function isGroupPaused({ state, lane }: Omit<SendCount, 'count'>, paused: PausedScopes): boolean {
  return state === 'unknown' ? isSendPaused(readLane(lane), paused) : isLanePaused(readLane(lane), paused);
}

/**
 * A cancel delivers nothing, and an entry that may have been bought is open already: neither waits for the first delivered
 * order.
 */
function isLimited({ state, lane }: Omit<SendCount, 'count'>): boolean {
  return state !== 'unknown' && readLane(lane).product !== null;
}

/** While one key may be used, the others hold up nothing. */
export function isEveryKeyPaused(database: Sqlite, pauses: readonly Pause[]): boolean {
  const paused = new Set(pauses.map((pause) => pause.scope));
  const keys = selectKeys(database).all();
  return keys.length > 0 && keys.every((name) => paused.has(`key:${name}`));
}
