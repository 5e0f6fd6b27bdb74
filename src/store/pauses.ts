import { inTransaction, type Sqlite } from './database.ts';
import type { Pause } from './store.ts';

/** Scopes that stand still, with who stopped them, why and since when. They outlive the process. */
export class PauseTable {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  all(): readonly Pause[] {
    return this.#database
      .prepare<[], Pause>(
        `SELECT scope, reason, message, opened_by AS openedBy, since_ms AS sinceMs, probe_at_ms AS probeAtMs, probes
         FROM pauses ORDER BY since_ms, scope`,
      )
      .all();
  }

  /** A scope that stands still already keeps its first reason. */
  open(pause: Omit<Pause, 'sinceMs' | 'probes'> & { nowMs: number }): void {
    inTransaction(this.#database, () => {
      const { changes } = this.#database
        .prepare(
          `INSERT INTO pauses (scope, reason, message, opened_by, since_ms, probe_at_ms)
           VALUES (:scope, :reason, :message, :openedBy, :nowMs, :probeAtMs) ON CONFLICT (scope) DO NOTHING`,
        )
        .run({ ...pause, message: pause.message.slice(0, 500) });
      if (changes === 1)
        this.#record(pause.nowMs, pause.openedBy, 'pause', pause.scope, `${pause.reason}: ${pause.message}`);
    });
  }

  postpone(scope: string, probeAtMs: number): void {
    inTransaction(this.#database, () => {
      this.#database
        .prepare('UPDATE pauses SET probe_at_ms = ?, probes = probes + 1 WHERE scope = ?')
        .run(probeAtMs, scope);
    });
  }

  end(scope: string, actor: string, reason: string, nowMs: number): boolean {
    return inTransaction(this.#database, () => {
      const { changes } = this.#database.prepare('DELETE FROM pauses WHERE scope = ?').run(scope);
      if (changes === 1) this.#record(nowMs, actor, 'resume', scope, reason);
      return changes === 1;
    });
  }

  #record(nowMs: number, actor: string, action: string, scope: string, reason: string): void {
    this.#database
      .prepare("INSERT INTO audit (at_ms, actor, action, subject, reason, detail) VALUES (?, ?, ?, ?, ?, '{}')")
      .run(nowMs, actor, action, scope, reason.slice(0, 500));
  }
}
