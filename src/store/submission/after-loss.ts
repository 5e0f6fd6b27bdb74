import { checkedAuditedRequest, type AuditTable } from '../operator/audit.ts';
import { inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { AuditedRequest } from '../operator/operator.ts';
import type { EntryRow } from '../sqlite/rows.ts';

const untilName = 'after_loss_until_ms';
const selectUntil = statementOf<[string], string>('SELECT value FROM meta WHERE name = ?');

/**
 * An older copy does not know what became of its doubts: each may have been refused since, and bought in another way. So
 * they are looked up as what was never sent; and what was looked up after an earlier loss, once more.
 */
const putInQuestion = `
  UPDATE entries SET recovery_stage = CASE WHEN outcome_unknown = 1 OR state = 'sending' THEN 1 ELSE 0 END, absences = 0
  WHERE state IN ('pending', 'sending', 'waiting', 'unknown', 'held', 'needs_review')`;

/**
 * Whether this outbox follows one that was lost, or is an older copy of it: then what it calls "never sent" may have
 * been bought, and is looked up before it is sent. It holds for entries that come in until a time; later ones are new.
 */
export class AfterLoss {
  readonly #database: Sqlite;
  readonly #audit: AuditTable;
  #untilMs: number | null;

  constructor(database: Sqlite, audit: AuditTable) {
    this.#database = database;
    this.#audit = audit;
    const until = selectUntil(database).pluck().get(untilName);
    this.#untilMs = until === undefined ? null : Number(until);
  }

  begin(given: AuditedRequest & { untilMs: number }): void {
    const wish = checkedAuditedRequest(given);
    inTransaction(this.#database, () => {
      this.#database
        .prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
        .run(untilName, String(wish.untilMs));
      this.#database.exec(putInQuestion);
      this.#audit.record({ ...wish, action: 'recovery_stage', subject: 'outbox', detail: { until_ms: wish.untilMs } });
    });
    this.#untilMs = wish.untilMs;
  }

  /** Whether nothing may be sent or ended for this entry before it was looked up. */
  appliesTo(row: EntryRow): boolean {
    if (this.#untilMs === null || row.recovery_stage !== 0 || row.created_at_ms >= this.#untilMs) return false;
    const state = row.state === 'held' ? row.held_from : row.state;
    return state === 'pending' || state === 'waiting';
  }
}
