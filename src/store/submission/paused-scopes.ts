import { scopeFrom, type EntryScopes } from '../../core/scopes/scope.ts';
import type { Lane } from './lanes.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Pause } from './submission.ts';

/** The scopes that a claim must not use. */
export interface PausedScopes {
  /** The account: no call is made at all. */
  readonly account: boolean;
  readonly keys: readonly string[];
  /** The text of each paused scope, for whatever reason. */
  readonly all: ReadonlySet<string>;
  /** Those that a person paused: a balance is not charged then, also where the order names another one to fall back to. */
  readonly byPerson: ReadonlySet<string>;
}

/** The reason of a pause that a person opened; the worker's pauses have another one. */
export const pausedByPerson = 'manual';

const selectPauses = statementOf<[], Pause>(
  `SELECT scope, reason, message, opened_by AS openedBy, since_ms AS sinceMs, probe_at_ms AS probeAtMs, probes
   FROM pauses ORDER BY since_ms, scope`,
);

export function readPauses(database: Sqlite): readonly Pause[] {
  return selectPauses(database).all();
}

/**
 * Read inside the transaction of a claim, so that nothing is sent after a pause was confirmed.
 * @param trials scopes whose trial order may be sent now; a scope that a person paused has no trial
 */
export function readPausedScopes(database: Sqlite, trials: readonly string[] = []): PausedScopes {
  return pausedScopes(
    readPauses(database).filter(({ scope, reason }) => reason === pausedByPerson || !trials.includes(scope)),
  );
}

export function pausedScopes(paused: readonly Pause[]): PausedScopes {
  const keys = paused.flatMap(({ scope: text }) => {
    const scope = scopeFrom(text);
    return scope?.kind === 'key' ? [scope.name] : [];
  });
  const all = new Set(paused.map((pause) => pause.scope));
  const byPerson = new Set(paused.filter((pause) => pause.reason === pausedByPerson).map((pause) => pause.scope));
  return { account: all.has('account'), keys, all, byPerson };
}

/** The same scopes, without some that the worker paused. */
export function withoutScopes(paused: PausedScopes, scopes: readonly string[]): PausedScopes {
  if (scopes.length === 0) return paused;
  const all = new Set([...paused.all].filter((it) => !scopes.includes(it) || paused.byPerson.has(it)));
  return { ...paused, all };
}

/** Whether new entries of a lane wait for a paused scope. */
export function isLanePaused({ balance, hasFallback, product, family }: Lane, paused: PausedScopes): boolean {
  if (isSendPaused({ balance, product, family }, paused)) return true;
  return !hasFallback && balance !== null && paused.all.has(balance);
}

/** Whether nothing is sent in these scopes, also not an entry of unknown outcome: it may have been charged already. */
export function isSendPaused({ balance, product, family }: EntryScopes, paused: PausedScopes): boolean {
  if (paused.all.has(family) || (product !== null && paused.all.has(product))) return true;
  return balance !== null && paused.byPerson.has(balance);
}
