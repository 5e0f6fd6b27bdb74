import { operationsOf, pauseScopeFrom, readPauseScope } from '../../core/decision/pause-scope.ts';
import type { Operation } from '../../core/order/operation.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { checkedAuditedRequest, type AuditTable } from '../operator/audit.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { AuditedRequest } from '../operator/audited-request.ts';
import type { Pause } from '../store.ts';

/** What a claim must leave alone. */
export interface PausedScopes {
  /** Nothing at all is called. */
  readonly account: boolean;
  readonly keys: readonly string[];
  /** Not sent, also when they are in doubt; they may still be looked up. */
  readonly operations: readonly Operation[];
  /** Balances that a person stopped: not charged, even where the order names another one to fall back to. */
  readonly currencies: readonly string[];
  /** Balances that stand still for whatever reason: orders that name no other one wait for them. */
  readonly emptyBalances: readonly string[];
}

/** The reason that a pause of a person carries in place of an outcome. */
const byPerson = 'manual';

/** Scopes that stand still, with who stopped them, why and since when. They outlive the process. */
export class PauseTable {
  readonly #database: Sqlite;
  readonly #audit: AuditTable;
  readonly #statements;

  constructor(database: Sqlite, audit: AuditTable) {
    this.#database = database;
    this.#audit = audit;
    this.#statements = {
      all: database.prepare<[], Pause>(
        `SELECT scope, reason, message, opened_by AS openedBy, since_ms AS sinceMs, probe_at_ms AS probeAtMs, probes
         FROM pauses ORDER BY since_ms, scope`,
      ),
      insert: database.prepare(
        `INSERT INTO pauses (scope, reason, message, opened_by, since_ms, probe_at_ms)
         VALUES (:scope, :reason, :message, :openedBy, :nowMs, :probeAtMs)
         ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, message = excluded.message, since_ms = excluded.since_ms,
           opened_by = excluded.opened_by, probe_at_ms = NULL, probes = 0
         WHERE excluded.probe_at_ms IS NULL AND pauses.probe_at_ms IS NOT NULL`,
      ),
      // A pause of the worker becomes the person's: it must not end by a probe any more.
      takeOver: database.prepare(
        `INSERT INTO pauses (scope, reason, message, opened_by, since_ms, probe_at_ms)
         VALUES (:scope, '${byPerson}', :message, :openedBy, :nowMs, NULL)
         ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, message = excluded.message, since_ms = excluded.since_ms,
           opened_by = excluded.opened_by, probe_at_ms = NULL, probes = 0
         WHERE pauses.reason <> '${byPerson}'`,
      ),
      postpone: database.prepare(
        'UPDATE pauses SET probe_at_ms = ?, probes = probes + 1 WHERE scope = ? AND probe_at_ms IS NOT NULL',
      ),
      bringForward: database.prepare('UPDATE pauses SET probe_at_ms = :nowMs WHERE probe_at_ms > :furthestMs'),
      probeNow: database.prepare(
        'UPDATE pauses SET probe_at_ms = ?, probes = 0 WHERE scope = ? AND probe_at_ms IS NOT NULL',
      ),
      // A probe that was under way must not let go on what only a person ends: they stopped it, or no probe can tell.
      end: database.prepare('DELETE FROM pauses WHERE scope = :scope AND (:byWorker = 0 OR probe_at_ms IS NOT NULL)'),
    };
  }

  all(): readonly Pause[] {
    return this.#statements.all.all();
  }

  /** Read inside the transaction of a claim, so that nothing is sent after a pause was answered for. */
  pausedScopes(): PausedScopes {
    const still = {
      account: false,
      keys: [] as string[],
      operations: [] as Operation[],
      currencies: [] as string[],
      emptyBalances: [] as string[],
    };
    for (const { scope: text, reason } of this.all()) {
      const scope = pauseScopeFrom(text);
      if (scope === null) continue;
      if (scope.kind === 'account') still.account = true;
      else if (scope.kind === 'key') still.keys.push(scope.name);
      else if (scope.kind === 'family') still.operations.push(...operationsOf(scope.family));
      else {
        still.emptyBalances.push(scope.currency);
        if (reason === byPerson) still.currencies.push(scope.currency);
      }
    }
    return still;
  }

  /** A scope that stands still already keeps its first reason, unless only a person may end the new one. */
  open(pause: Omit<Pause, 'sinceMs' | 'probes'> & { nowMs: number }): void {
    inTransaction(this.#database, () => {
      const { changes } = this.#statements.insert.run({ ...pause, message: pause.message.slice(0, 500) });
      if (changes === 1) {
        const reason = `${pause.reason}: ${pause.message}`;
        this.#audit.record({
          nowMs: pause.nowMs,
          actor: pause.openedBy,
          action: 'pause',
          subject: pause.scope,
          reason,
        });
      }
    });
  }

  postpone(scope: string, probeAtMs: number): void {
    inTransaction(this.#database, () => {
      this.#statements.postpone.run(probeAtMs, scope);
    });
  }

  /** Makes due now what is to be looked at later than `furthestMs`. Called inside a transaction. */
  bringForward(at: { nowMs: number; furthestMs: number }): number {
    return this.#statements.bringForward.run(at).changes;
  }

  end(scope: string, actor: string, reason: string, nowMs: number): boolean {
    return inTransaction(this.#database, () => {
      const { changes } = this.#statements.end.run({ scope, byWorker: actor === 'worker' ? 1 : 0 });
      if (changes === 1) this.#audit.record({ nowMs, actor, action: 'resume', subject: scope, reason });
      return changes === 1;
    });
  }

  /**
   * The keys of the configuration changed. What a key with another value is refused for is looked at again at once, by a
   * probe; what the worker stopped of a key that is gone ends. A person's pause stays. Called inside a transaction.
   */
  keysChanged(keys: { configured: readonly string[]; changed: readonly string[]; nowMs: number }): void {
    const { configured, changed, nowMs } = keys;
    for (const { scope: text, reason } of this.all()) {
      const scope = pauseScopeFrom(text);
      const isConcerned = scope?.kind === 'account' || (scope?.kind === 'key' && changed.includes(scope.name));
      if (changed.length > 0 && isConcerned) this.#statements.probeNow.run(nowMs, text);
      if (scope?.kind !== 'key' || configured.includes(scope.name) || reason === byPerson) continue;
      this.#statements.end.run({ scope: text, byWorker: 1 });
      const why = 'the key is not configured any more';
      this.#audit.record({ nowMs, actor: 'worker', action: 'resume', subject: text, reason: why });
    }
  }

  stop(given: AuditedRequest & { scope: string }): void {
    const pause = checkedAuditedRequest(given);
    readPauseScope(pause.scope);
    inTransaction(this.#database, () => {
      const before = this.#find(pause.scope);
      const { changes } = this.#statements.takeOver.run({
        scope: pause.scope,
        message: pause.reason,
        openedBy: pause.actor,
        nowMs: pause.nowMs,
      });
      if (changes !== 1) {
        throw new OrderSyncError('REFUSED', `${pause.scope} stands still already, stopped by ${before?.openedBy}`, {
          hint: 'let it go on with `order-sync queue resume`',
        });
      }
      this.#audit.record({
        ...pause,
        action: 'pause',
        subject: pause.scope,
        detail: { before, after: this.#find(pause.scope) },
      });
    });
  }

  goOn(given: AuditedRequest & { scope: string }): void {
    const resume = checkedAuditedRequest(given);
    readPauseScope(resume.scope);
    inTransaction(this.#database, () => {
      const before = this.#find(resume.scope);
      const { changes } = this.#statements.end.run({ scope: resume.scope, byWorker: 0 });
      if (changes !== 1) {
        const still = this.all().map((it) => it.scope);
        throw new OrderSyncError('REFUSED', `${resume.scope} does not stand still`, {
          hint: still.length === 0 ? 'nothing stands still' : `what stands still: ${still.join(', ')}`,
        });
      }
      this.#audit.record({ ...resume, action: 'resume', subject: resume.scope, detail: { before, after: null } });
    });
  }

  #find(scope: string): Pause | null {
    return this.all().find((it) => it.scope === scope) ?? null;
  }
}
