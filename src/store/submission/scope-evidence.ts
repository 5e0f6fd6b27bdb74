import type { Evidence, JudgedPause } from '../../core/scopes/judge-call.ts';
import type { EvidenceReason } from '../../core/scopes/evidence.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { readPauses } from './paused-scopes.ts';
import type { SqlitePauses } from './pauses.ts';
import type { ScopeChange, ScopeFindings } from './submission.ts';

/** Older evidence counts no more: what failed an hour apart is no run. */
const countedForMs = 3_600_000;
/** So much evidence against a scope is enough for every rule. */
const mostOfScope = 20;

/** What counts against each scope until now. Every method is called inside a transaction. */
export class ScopeEvidence {
  readonly #database: Sqlite;
  readonly #pauses: SqlitePauses;
  readonly #statements;

  constructor(database: Sqlite, pauses: SqlitePauses) {
    this.#database = database;
    this.#pauses = pauses;
    this.#statements = {
      find: database.prepare<
        { scopes: string; sinceMs: number },
        Omit<Evidence, 'reason'> & { reason: EvidenceReason }
      >(
        `SELECT scope, reason, entry_id AS entryId, product FROM scope_evidence
         WHERE scope IN (SELECT value FROM json_each(:scopes)) AND at_ms > :sinceMs`,
      ),
      products: database
        .prepare<[string], string>(
          'SELECT DISTINCT product FROM scope_evidence WHERE scope = ? AND product IS NOT NULL',
        )
        .pluck(),
      count: database
        .prepare<[string, string], number>('SELECT count(*) FROM scope_evidence WHERE scope = ? AND reason = ?')
        .pluck(),
      remember: database.prepare(
        `INSERT INTO scope_evidence (scope, reason, entry_id, product, at_ms)
         VALUES (:scope, :reason, :entryId, :product, :nowMs)
         ON CONFLICT (scope, reason, entry_id) DO UPDATE SET at_ms = excluded.at_ms`,
      ),
      forgetOldest: database.prepare(
        `DELETE FROM scope_evidence WHERE scope = :scope AND reason = :reason AND entry_id = (
           SELECT entry_id FROM scope_evidence WHERE scope = :scope AND reason = :reason ORDER BY at_ms, entry_id LIMIT 1)`,
      ),
      forget: database.prepare('DELETE FROM scope_evidence WHERE scope = :scope AND reason = :reason'),
    };
  }

  find(scopes: readonly string[], nowMs: number): ScopeFindings {
    const pauses = readPauses(this.#database).filter((pause) => scopes.includes(pause.scope));
    const parameters = { scopes: JSON.stringify(scopes), sinceMs: nowMs - countedForMs };
    return { evidence: this.#statements.find.all(parameters), pauses: pauses satisfies readonly JudgedPause[] };
  }

  /** The products that count against a paused scope. */
  productsAgainst(scope: string): ReadonlySet<string> {
    return new Set(this.#statements.products.all(scope));
  }

  /** Returns whether a pause was opened, postponed or ended. */
  apply({ forget, remember, open, postpone, end }: ScopeChange, nowMs: number): boolean {
    for (const { scope, reason } of forget) this.#statements.forget.run({ scope, reason });
    for (const { scope, reason, entryId, product } of remember) {
      const count = this.#statements.count.get(scope, reason) ?? 0;
      if (count >= mostOfScope) this.#statements.forgetOldest.run({ scope, reason });
      this.#statements.remember.run({ scope, reason, entryId, product, nowMs });
    }
    for (const pause of open) this.#pauses.record({ ...pause, nowMs });
    for (const { scope, probeAtMs } of postpone) this.#pauses.postpone(scope, probeAtMs);
    for (const { scope, why } of end) this.#pauses.endByWorker(scope, why, nowMs);
    return open.length + postpone.length + end.length > 0;
  }
}
