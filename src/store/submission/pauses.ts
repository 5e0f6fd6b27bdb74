import { scopeFrom } from '../../core/scopes/scope.ts';
import { recordAudit } from '../sqlite/audit.ts';
import { inTransaction, longestText, type Sqlite } from '../sqlite/database.ts';
import { pausedByPerson, readPauses } from './paused-scopes.ts';
import type { NewPause, Pause, StoredPauses } from './submission.ts';

/** Paused scopes, with who paused them, why and since when. They outlive the process. */
export class SqlitePauses implements StoredPauses {
  readonly #database: Sqlite;
  readonly #statements;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#statements = {
      insert: database.prepare(
        `INSERT INTO pauses (scope, reason, message, opened_by, since_ms, probe_at_ms, probes)
         VALUES (:scope, :reason, :message, :openedBy, :nowMs, :probeAtMs, :probes) ON CONFLICT (scope) DO NOTHING`,
      ),
      postpone: database.prepare(
        'UPDATE pauses SET probe_at_ms = ?, probes = probes + 1 WHERE scope = ? AND probe_at_ms IS NOT NULL',
      ),
      probeNow: database.prepare(
        'UPDATE pauses SET probe_at_ms = ?, probes = 0 WHERE scope = ? AND probe_at_ms IS NOT NULL',
      ),
      // A probe in flight must not end a pause that a person took over meanwhile.
      end: database
        .prepare<{ scope: string }, string>(
          `DELETE FROM pauses WHERE scope = :scope AND reason <> '${pausedByPerson}' RETURNING reason`,
        )
        .pluck(),
      forgetEvidence: database.prepare('DELETE FROM scope_evidence WHERE scope = :scope AND reason = :reason'),
    };
  }

  async all(): Promise<readonly Pause[]> {
    return readPauses(this.#database);
  }

  async open(pause: NewPause): Promise<void> {
    inTransaction(this.#database, () => this.record(pause));
  }

  /** A scope that is paused already keeps its first reason. Called inside a transaction. */
  record(pause: NewPause): void {
    const { probes = 0 } = pause;
    const { changes } = this.#statements.insert.run({ ...pause, probes, message: pause.message.slice(0, longestText) });
    if (changes !== 1) return;
    const reason = `${pause.reason}: ${pause.message}`;
    recordAudit(this.#database, {
      nowMs: pause.nowMs,
      actor: pause.openedBy,
      action: 'pause',
      subject: pause.scope,
      reason,
    });
  }

  /** Opens a pause that no probe ends. It takes the place of one that the worker opened. Called inside a transaction. */
  takeOver(pause: NewPause): void {
    const { scope, reason } = pause;
    const isShown = readPauses(this.#database).some((it) => it.scope === scope && it.reason === reason);
    if (isShown) return;
    this.endByWorker(scope, `it is paused as ${reason} from now on`, pause.nowMs);
    this.record(pause);
  }

  async answered(): Promise<void> {
    const unanswered = { scope: 'account', reason: 'api_unreachable' };
    inTransaction(this.#database, () => this.#statements.forgetEvidence.run(unanswered));
  }

  async postponeProbe(scope: string, probeAtMs: number): Promise<void> {
    inTransaction(this.#database, () => this.postpone(scope, probeAtMs));
  }

  /** Called inside a transaction. */
  postpone(scope: string, probeAtMs: number): void {
    this.#statements.postpone.run(Math.round(probeAtMs), scope);
  }

  async end(scope: string, reason: string, nowMs: number): Promise<boolean> {
    return inTransaction(this.#database, () => this.endByWorker(scope, reason, nowMs));
  }

  /** Ends a pause that no person opened, and forgets its evidence: to pause again takes new one. Called inside a transaction. */
  endByWorker(scope: string, why: string, nowMs: number): boolean {
    const reason = this.#statements.end.get({ scope });
    if (reason === undefined) return false;
    this.#statements.forgetEvidence.run({ scope, reason });
    recordAudit(this.#database, { nowMs, actor: 'worker', action: 'resume', subject: scope, reason: why });
    return true;
  }

  /**
   * The keys of the configuration changed: pauses that a changed value may end are probed at once, and the worker's
   * pauses of a removed key end. A person's pauses stay. Called inside a transaction.
   */
  keysChanged(keys: { configured: readonly string[]; changed: readonly string[]; nowMs: number }): void {
    const { configured, changed, nowMs } = keys;
    for (const { scope: text, reason } of readPauses(this.#database)) {
      const scope = scopeFrom(text);
      const mayEnd = scope?.kind === 'account' || (scope?.kind === 'key' && changed.includes(scope.name));
      if (changed.length > 0 && mayEnd) this.#statements.probeNow.run(nowMs, text);
      if (scope?.kind !== 'key' || configured.includes(scope.name) || reason === pausedByPerson) continue;
      this.endByWorker(text, 'the key is not configured any more', nowMs);
    }
  }
}
