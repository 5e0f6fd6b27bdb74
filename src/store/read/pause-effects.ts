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
  const heldUp = heldUpBy(database, pauses, groups);
  const aheadMs = wallAhead(database).get() ?? 0;
  return pauses.map(({ probeAtMs, ...pause }) => ({
    ...pause,
    probeAtMs: probeAtMs === null ? null : probeAtMs + aheadMs,
    holdsUp: countOf(heldUp({ ...pause, probeAtMs })),
  }));
}

const lookedAt = 5000;
const selectHeldUp = columnOf<Record<SendCount['state'] | 'atMost', string | number>, string>(
  `${(['pending', 'waiting', 'unknown'] as const)
    .map(
      (state) =>
        `SELECT reference FROM entries WHERE state = '${state}' AND lane IN (SELECT value FROM json_each(:${state}))${state === 'unknown' ? " AND next_step = 'send'" : ''}`,
    )
    .join(' UNION ALL ')} LIMIT :atMost`,
);

/** The orders and the money that each paused scope holds up; of each, so many entries are looked at. */
export function readAffectedByPauses(database: Sqlite): ReadonlyMap<string, Affected> {
  const pauses = readPauses(database);
  if (pauses.length === 0) return new Map();
  const heldUp = heldUpBy(database, pauses, readSendCounts(database));
  const read = (groups: readonly SendCount[]): readonly string[] => {
    const lanesIn = (state: SendCount['state']): string =>
      JSON.stringify(groups.filter((it) => it.state === state).map(({ lane }) => lane));
    const [pending, waiting, unknown] = [
      lanesIn('pending'),
      lanesIn('waiting'),
      lanesIn('unknown'),
    ];
    return selectHeldUp(database).all({ pending, waiting, unknown, atMost: lookedAt });
  };
  // The account and each of its keys hold up the same: that is read once.
  const known = new Map<readonly SendCount[], readonly string[]>();
  const choices = pauses.map((pause) => {
    const groups = heldUp(pause);
    const references = known.get(groups) ?? read(groups);
    known.set(groups, references);
    return references;
  });
  const affected = readAffected(database, choices, lookedAt);
  return new Map(
    pauses.flatMap(({ scope }, index) => {
      const found = affected[index];
      return found === undefined ? [] : [[scope, found] as const];
    }),
  );
}

/** What each of these pauses keeps from being sent. */
function heldUpBy(
  database: Sqlite,
  pauses: readonly Pause[],
  groups: readonly SendCount[],
): (pause: Pause) => readonly SendCount[] {
  // There may be many products: each looks only at its own lanes.
  const ofProduct = Map.groupBy(groups, ({ lane }) => readLane(lane).product);
  const noKeyIsLeft = isEveryKeyPaused(database, pauses);
  return (pause) => {
    const kind = scopeFrom(pause.scope)?.kind;
    if (kind === 'account') return groups;
    if (kind === 'key') return noKeyIsLeft ? groups : [];
    const isProduct = kind === 'variant' || kind === 'plan';
    return (isProduct ? (ofProduct.get(pause.scope) ?? []) : groups).filter(holdUp([pause]));
  };
}

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
