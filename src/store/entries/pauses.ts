import { scopeFrom, type EntryScopes } from '../../core/order/scope.ts';
import { recordAudit } from '../sqlite/audit.ts';
import { columnOf, longestText, statementOf, type Sqlite } from '../sqlite/database.ts';
import { accountKey } from '../sqlite/meta.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';
import type { Lane } from './lanes.ts';

export interface Pause {
  /** The text of a scope; see `core/order/scope.ts`. */
  readonly scope: string;
  readonly reason: string;
  readonly message: string;
  readonly openedBy: string;
  readonly sinceMs: number;
  /** In steady time. */
  readonly probeAtMs: number | null;
  readonly probes: number;
}

export type NewPause = Omit<Pause, 'sinceMs' | 'probes'> & {
  readonly nowMs: number;
  /**
   * How often it was probed before it ended the last time; the delays continue from there. Absent:
   * never.
   */
  readonly probes?: number;
};

/** The scopes that a claim must not use. */
export interface PausedScopes {
  /** The account: no call is made at all. */
  readonly account: boolean;
  readonly keys: readonly string[];
  /** The text of each paused scope, for whatever reason. */
  readonly all: ReadonlySet<string>;
  /** The same, with those whose trial order may be sent now. */
  readonly withTrials: ReadonlySet<string>;
  /**
   * The scopes that an operator paused: such a balance is not charged, also where the order names
   * another one to fall back to.
   */
  readonly byPerson: ReadonlySet<string>;
}

/** The reason of a pause that an operator opened; the worker's pauses have another one. */
export const pausedByOperator = 'manual';

/**
 * The reason of the pause of a key that does not know what another one bought. It ends when it
 * does, or by an operator.
 */
export const keyOfOtherAccount = 'key_of_other_account';

const select = statementOf<[], Pause>(
  `SELECT scope, reason, message, opened_by AS openedBy, since_ms AS sinceMs, probe_steady AS probeAtMs, probes
   FROM pauses ORDER BY since_ms, scope`,
);
const insert = statementOf<Required<NewPause>, never>(
  `INSERT INTO pauses (scope, reason, message, opened_by, since_ms, probe_steady, probes)
   VALUES (:scope, :reason, :message, :openedBy, :nowMs, :probeAtMs, :probes) ON CONFLICT (scope) DO NOTHING`,
);
const setProbe = statementOf<[number, string], never>(
  'UPDATE pauses SET probe_steady = ?, probes = probes + 1 WHERE scope = ? AND probe_steady IS NOT NULL',
);
const probeNow = statementOf<[string], never>(
  'UPDATE pauses SET probe_steady = 0, probes = 0 WHERE scope = ? AND probe_steady IS NOT NULL',
);
// A probe in flight must not end a pause that an operator took over meanwhile.
const removeOfWorker = columnOf<[string], string>(
  `DELETE FROM pauses WHERE scope = ? AND reason <> '${pausedByOperator}' RETURNING reason`,
);
const remove = statementOf<[string], never>('DELETE FROM pauses WHERE scope = ?');
// No probe may end a pause that an operator opened, also where the worker had opened it before.
const insertByOperator = statementOf<
  { scope: string; reason: string; actor: string; nowMs: number },
  never
>(
  `INSERT INTO pauses (scope, reason, message, opened_by, since_ms, probe_steady)
   VALUES (:scope, '${pausedByOperator}', :reason, :actor, :nowMs, NULL)
   ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, message = excluded.message, since_ms = excluded.since_ms,
     opened_by = excluded.opened_by, probe_steady = NULL, probes = 0
   WHERE pauses.reason <> '${pausedByOperator}'`,
);
export const forgetEvidence = statementOf<{ scope: string; reason: string }, never>(
  'DELETE FROM scope_evidence WHERE scope = :scope AND reason = :reason',
);
const forgetAllEvidence = statementOf<[string], never>(
  'DELETE FROM scope_evidence WHERE scope = ?',
);

const forgetAccountKeys = statementOf<[], never>(
  `DELETE FROM meta WHERE name GLOB '${accountKey}*'`,
);
const proveNamedKey = statementOf<[string], never>(
  `INSERT INTO meta (name, value) SELECT '${accountKey}' || value_fingerprint, '' FROM wholesale_keys
   WHERE 'key:' || key_name = ? AND value_fingerprint IS NOT NULL`,
);
/**
 * The pauses that the worker opens and ends; people do so by `Operator`. They outlive the process.
 */
export class Pauses extends OutboxSteps {
  async all(): Promise<readonly Pause[]> {
    return readPauses(this.database);
  }

  readonly open = this.step(({ database }, pause: NewPause) => recordPause(database, pause));

  readonly postponeProbe = this.step(({ database }, scope: string, probeAtMs: number) =>
    postponeProbe(database, scope, probeAtMs),
  );

  /**
   * The API answered a call that belongs to no attempt: earlier calls without an answer count no
   * more.
   */
  readonly answered = this.step(({ database }): void => {
    forgetEvidence(database).run({ scope: 'account', reason: 'api_unreachable' });
  });

  /** Ends a pause that no operator opened. Returns whether it did. */
  readonly end = this.step(({ database }, scope: string, why: string, nowMs: number) =>
    endPause(database, scope, why, nowMs),
  );
}

export function readPauses(database: Sqlite): readonly Pause[] {
  return select(database).all();
}

export function readPause(database: Sqlite, scope: string): Pause | null {
  return readPauses(database).find((pause) => pause.scope === scope) ?? null;
}

// Each of these is called inside a transaction.

/** A scope that is paused already keeps its first reason. */
export function recordPause(database: Sqlite, pause: NewPause): void {
  const { probes = 0, nowMs, scope } = pause;
  const { changes } = insert(database).run({
    ...pause,
    probes,
    message: pause.message.slice(0, longestText),
  });
  if (changes !== 1) return;
  const reason = `${pause.reason}: ${pause.message}`;
  recordAudit(database, { nowMs, actor: pause.openedBy, action: 'pause', subject: scope, reason });
}

export function postponeProbe(database: Sqlite, scope: string, probeAtMs: number): void {
  setProbe(database).run(Math.round(probeAtMs), scope);
}

/**
 * Ends a pause that no operator opened, and forgets its evidence: to pause again takes new one.
 * Returns whether it did.
 */
export function endPause(database: Sqlite, scope: string, why: string, nowMs: number): boolean {
  const reason = removeOfWorker(database).get(scope);
  if (reason === undefined) return false;
  forgetEvidence(database).run({ scope, reason });
  recordAudit(database, { nowMs, actor: 'worker', action: 'resume', subject: scope, reason: why });
  return true;
}

/** Returns whether it did: an operator may have paused the scope already. */
export function pauseByOperator(
  database: Sqlite,
  { scope, reason, actor, nowMs }: { scope: string; reason: string; actor: string; nowMs: number },
): boolean {
  return insertByOperator(database).run({ scope, reason, actor, nowMs }).changes === 1;
}

/**
 * Ends any pause, and forgets all evidence: the next failure must not pause the scope again,
 * whatever is mended now.
 */
export function endPauseByOperator(database: Sqlite, scope: string): boolean {
  if (readPause(database, scope)?.reason === keyOfOtherAccount) acceptAccountOf(database, scope);
  if (remove(database).run(scope).changes !== 1) return false;
  forgetAllEvidence(database).run(scope);
  return true;
}

/**
 * The keys of the configuration changed: pauses that a changed value may end are probed at once,
 * and the worker's pauses of a removed key end. An operator's pauses stay.
 */
export function updatePausesOfKeys(
  database: Sqlite,
  {
    configured,
    changed,
    nowMs,
  }: { configured: readonly string[]; changed: readonly string[]; nowMs: number },
): void {
  for (const { scope: text, reason } of readPauses(database)) {
    const scope = scopeFrom(text);
    const mayEnd =
      scope?.kind === 'account' || (scope?.kind === 'key' && changed.includes(scope.name));
    if (changed.length > 0 && mayEnd) probeNow(database).run(text);
    if (scope?.kind !== 'key' || configured.includes(scope.name) || reason === pausedByOperator)
      continue;
    endPause(database, text, 'the key is not configured any more', nowMs);
  }
}

/**
 * The scopes that hold a claim up, read inside its transaction, so that nothing is sent after a
 * pause was confirmed.
 * @param trials scopes whose trial order may be sent now; a scope that an operator paused has no trial
 */
export function pausesBut(pauses: readonly Pause[], trials: readonly string[]): PausedScopes {
  return pausedScopes(
    pauses.filter(({ scope, reason }) => reason === pausedByOperator || !trials.includes(scope)),
    pauses,
  );
}

export function pausedScopes(paused: readonly Pause[], withTrials = paused): PausedScopes {
  const keys = paused.flatMap(({ scope: text }) => {
    const scope = scopeFrom(text);
    return scope?.kind === 'key' ? [scope.name] : [];
  });
  const all = new Set(paused.map((pause) => pause.scope));
  const byPerson = new Set(
    paused.filter((pause) => pause.reason === pausedByOperator).map((pause) => pause.scope),
  );
  return {
    account: all.has('account'),
    keys,
    all,
    byPerson,
    withTrials: new Set(withTrials.map(({ scope }) => scope)),
  };
}

/** Whether new entries of a lane wait for a paused scope. */
export function isLanePaused(
  { balance, otherBalance, product, family }: Lane,
  paused: PausedScopes,
): boolean {
  if (isSendPaused({ balance, product, family }, paused)) return true;
  if (balance === null || !paused.all.has(balance)) return false;
  // A trial order of the other balance is one that charges it.
  return otherBalance === null || paused.withTrials.has(otherBalance);
}

/**
 * Whether these scopes send nothing at all. Even an entry of unknown outcome is not sent: it may
 * have been charged already.
 */
export function isSendPaused(
  { balance, product, family }: EntryScopes,
  paused: PausedScopes,
): boolean {
  if (paused.all.has(family) || (product !== null && paused.all.has(product))) return true;
  return balance !== null && paused.byPerson.has(balance);
}

/** An operator accepts the account of a key: the others are asked again. */
function acceptAccountOf(database: Sqlite, scope: string): void {
  forgetAccountKeys(database).run();
  proveNamedKey(database).run(scope);
}
