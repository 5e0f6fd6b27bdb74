import { operationsOf, pauseScopeFrom } from '../../core/decision/pause-scope.ts';
import type { Operation } from '../../core/order/operation.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Pause } from './submission.ts';

/** The scopes that a claim must not use. */
export interface PausedScopes {
  /** The account: no call is made at all. */
  readonly account: boolean;
  readonly keys: readonly string[];
  /** Not sent, also when their outcome is unknown; they may still be looked up. */
  readonly operations: readonly Operation[];
  /** Balances that a person paused: not charged, even where the order names another one to fall back to. */
  readonly currencies: readonly string[];
  /** Balances that are paused for whatever reason: orders that name no other one wait for them. */
  readonly emptyBalances: readonly string[];
}

/** The reason of a pause that a person opened; the worker's pauses have an outcome there. */
export const pausedByPerson = 'manual';

const selectPauses = statementOf<[], Pause>(
  `SELECT scope, reason, message, opened_by AS openedBy, since_ms AS sinceMs, probe_at_ms AS probeAtMs, probes
   FROM pauses ORDER BY since_ms, scope`,
);

export function readPauses(database: Sqlite): readonly Pause[] {
  return selectPauses(database).all();
}

/** Read inside the transaction of a claim, so that nothing is sent after a pause was confirmed. */
export function readPausedScopes(database: Sqlite): PausedScopes {
  const keys: string[] = [];
  const operations: Operation[] = [];
  const currencies: string[] = [];
  const emptyBalances: string[] = [];
  let account = false;
  for (const { scope: text, reason } of readPauses(database)) {
    const scope = pauseScopeFrom(text);
    if (scope === null) continue;
    if (scope.kind === 'account') account = true;
    else if (scope.kind === 'key') keys.push(scope.name);
    else if (scope.kind === 'family') operations.push(...operationsOf(scope.family));
    else {
      emptyBalances.push(scope.currency);
      if (reason === pausedByPerson) currencies.push(scope.currency);
    }
  }
  return { account, keys, operations, currencies, emptyBalances };
}

/** A condition on an entry `e`: neither its operation nor its balance is in the lists of `pausedLists`. */
export const isNotPaused = `e.operation NOT IN (SELECT value FROM json_each(:operations))
  AND (e.currency IS NULL OR e.currency NOT IN (SELECT value FROM json_each(:currencies)))`;

export function pausedLists(paused: Pick<PausedScopes, 'operations' | 'currencies'>): {
  operations: string;
  currencies: string;
} {
  return { operations: JSON.stringify(paused.operations), currencies: JSON.stringify(paused.currencies) };
}
