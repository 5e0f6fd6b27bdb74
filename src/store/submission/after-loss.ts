import type { PurchaseFacts } from '../../core/entry/may-be-bought.ts';
import { checkedAuditedRequest, recordAudit } from '../sqlite/audit.ts';
import type { AfterLossRequest } from '../operator/operator.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import {
  lostOutboxMayHaveBoughtParts,
  lostOutboxMayHaveSent,
  purchaseFactsOf,
  readAfterLossUntil,
  stateBehindHold,
  writeAfterLossUntil,
} from '../sqlite/lost-outbox.ts';
import { makeDatabaseId } from '../sqlite/progress.ts';
import type { EntryRow } from '../sqlite/rows.ts';

const openStates = `'pending', 'sending', 'waiting', 'unknown', 'held', 'needs_review'`;

/**
 * An older copy does not know what became of its entries of unknown outcome: since then each may have been rejected, and
 * bought in another way. They are looked up like entries that were never sent. Entries that were looked up after an
 * earlier loss are looked up again.
 */
const restartRecovery = `
  UPDATE entries SET recovery_stage = CASE WHEN outcome_unknown = 1 OR state = 'sending' THEN 1 ELSE 0 END, absences = 0
  WHERE state IN (${openStates})`;

function newestOpen(database: Sqlite): number {
  const sql = `SELECT coalesce(max(created_at_ms), 0) FROM entries WHERE state IN (${openStates})`;
  return database.prepare<[], number>(sql).pluck().get() ?? 0;
}

/**
 * Whether this outbox replaces one that was lost, or is an older copy of it. The lost one may have sent entries that are
 * "never sent" here, so they are looked up first. That holds for entries that come in until a time; later ones are new.
 */
export class AfterLoss {
  readonly #database: Sqlite;
  #untilMs: number | null;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#untilMs = readAfterLossUntil(database);
  }

  begin(given: AfterLossRequest): void {
    const { replaced = null, ...request } = checkedAuditedRequest(given);
    let { untilMs } = request;
    inTransaction(this.#database, () => {
      // What is here already may have been sent by the lost outbox, also what came in while the wall clock was ahead.
      untilMs = Math.max(untilMs, newestOpen(this.#database) + 1);
      makeDatabaseId(this.#database);
      writeAfterLossUntil(this.#database, untilMs);
      this.#database.exec(restartRecovery);
      recordAudit(this.#database, {
        ...request,
        action: 'recovery_stage',
        subject: 'outbox',
        detail: { until_ms: untilMs, replaced },
      });
    });
    this.#untilMs = untilMs;
  }

  /**
   * The wall clock has stepped. Until when entries are looked up first moves with it, and so does when those came in: both are
   * compared, and the age of a reference that the lost outbox may have sent is counted from then. Called inside a transaction.
   */
  follow(stepMs: number): void {
    const untilMs = this.#untilMs;
    if (untilMs === null || stepMs === 0) return;
    const sql = `UPDATE entries SET created_at_ms = created_at_ms + :stepMs WHERE state IN (${openStates}) AND created_at_ms < :untilMs`;
    this.#database.prepare(sql).run({ stepMs, untilMs });
    this.#untilMs = untilMs + stepMs;
    writeAfterLossUntil(this.#database, this.#untilMs);
  }

  /** Whether the lost outbox may have sent this entry: then it must be looked up before it is sent or ended. */
  mayHaveSent(row: EntryRow): boolean {
    return lostOutboxMayHaveSent(row, this.#untilMs);
  }

  /** Whether neither this outbox nor a lost one sent the entry. */
  isSurelyUnsent(row: EntryRow): boolean {
    return row.outcome_unknown === 0 && stateBehindHold(row) === 'pending' && !this.mayHaveSent(row);
  }

  /** Surely not bought: never sent, or refused in a way that time may change, and waiting to be sent again. */
  isSurelyUnbought(row: EntryRow): boolean {
    if (this.isSurelyUnsent(row)) return true;
    const isClean =
      row.outcome_unknown === 0 && row.order_number === null && row.units === null && row.outcome_row !== null;
    return isClean && stateBehindHold(row) === 'waiting' && !this.mayHaveSent(row) && !this.mayHaveBoughtParts(row);
  }

  /** Whether a lost outbox may have bought parts of an entry that is absent itself: then it must not end by itself. */
  mayHaveBoughtParts(row: EntryRow): boolean {
    return lostOutboxMayHaveBoughtParts(row);
  }

  /** What the row says of whether something of the entry may be bought. */
  purchaseFactsOf(row: EntryRow): PurchaseFacts {
    return purchaseFactsOf(row, this.#untilMs);
  }
}
