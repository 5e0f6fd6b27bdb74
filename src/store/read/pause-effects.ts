import { scopeFrom } from '../../core/scopes/scope.ts';
import { readLane } from '../submission/lanes.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { connectorUnproven } from '../submission/connector-canary.ts';
import { pausedScopes, readPauses } from '../submission/pauses.ts';
import type { Pause } from '../submission/pauses.ts';
import { countOf, isGroupPaused, readSendCounts, type SendCount } from './send-groups.ts';

/** A pause, and what waits for its end. */
export interface PauseEffect extends Pause {
  /** Entries to send that it keeps from being sent. An entry of two paused scopes counts for both. */
  readonly holdsUp: number;
}

const selectKeys = statementOf<[], { name: string }>('SELECT key_name AS name FROM wholesale_keys');

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

/** A cancel delivers nothing, and what may have been bought is open already: neither waits for the first delivered order. */
function isLimited({ state, lane }: Omit<SendCount, 'count'>): boolean {
  return state !== 'unknown' && readLane(lane).product !== null;
}

/** While one key may be used, the others hold up nothing. */
export function isEveryKeyPaused(database: Sqlite, pauses: readonly Pause[]): boolean {
  const paused = new Set(pauses.map((pause) => pause.scope));
  const keys = selectKeys(database).all();
  return keys.length > 0 && keys.every(({ name }) => paused.has(`key:${name}`));
}
