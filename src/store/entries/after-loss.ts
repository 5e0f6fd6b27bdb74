import { steadyOf } from '../../core/clock.ts';
import { outcomeRowFrom } from '../../core/answers/outcome.ts';
import type { PurchaseFacts } from '../../core/entry/may-be-bought.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { OutboxProgress } from '../../core/outbox-progress.ts';
import { checkedAuditedRequest, recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { columnOf, inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import { makeDatabaseId, readMeta, writeMeta } from '../sqlite/meta.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { forgetRefusals } from './entry-changes.ts';

/*
 * This outbox may replace one that was lost, or be an older copy of it. The lost one may have sent
 * entries that are "never sent" here, so they are looked up first. That holds for entries that come
 * in until a time; later ones are new.
 */

export interface AfterLossRequest extends AuditedRequest {
  readonly untilMs: number;
  /** How far the lost outbox had come, if that is known. */
  readonly replaced?: OutboxProgress | null;
}

const factName = 'after_loss';
const openStates = `'pending', 'sending', 'waiting', 'unknown', 'held', 'needs_review'`;

const newestEntry = columnOf<[], number>('SELECT coalesce(max(id), 0) FROM entries');
// An older copy does not know what became of its entries of unknown outcome: since then each may
// have been rejected, and bought in another way. They are looked up like entries that were never
// sent. Entries that were looked up after an earlier loss are looked up again.
const restartRecovery = statementOf<[], never>(
  `UPDATE entries SET asked_after_loss = CASE WHEN outcome_unknown = 1 OR state = 'sending' THEN 0 END, absences = 0
   WHERE state IN (${openStates})`,
);
/**
 * Until when entries that come in are looked up before they are sent, in steady time, and the last
 * of those; null while more may come.
 */
interface AfterLoss {
  readonly untilMs: number;
  readonly lastEntry: number | null;
}

/** Null: no outbox was lost. */
function readAfterLoss(database: Sqlite): AfterLoss | null {
  return JSON.parse(readMeta(database, factName) ?? 'null');
}

/** Records that an outbox was lost, in a transaction of its own. */
export function beginAfterLoss({ database, clock }: Outbox, given: AfterLossRequest): void {
  const { replaced = null, ...request } = checkedAuditedRequest(given);
  inTransaction(database, () => {
    const untilMs = steadyOf(request.untilMs, {
      wallMs: request.nowMs,
      steadyMs: clock.steadyMs(),
    });
    makeDatabaseId(database);
    writeMeta(database, factName, JSON.stringify({ untilMs, lastEntry: null }));
    forgetRefusals(database).run();
    restartRecovery(database).run();
    const detail = { until_ms: request.untilMs, replaced };
    recordAudit(database, { ...request, action: 'after_loss', subject: 'outbox', detail });
  });
}

/** Called every ten seconds, inside a transaction: entries that come in after the time are new. */
export function endAfterLoss({ database, clock }: Outbox): void {
  const lost = readAfterLoss(database);
  if (lost === null || lost.lastEntry !== null || clock.steadyMs() < lost.untilMs) return;
  const lastEntry = newestEntry(database).get() ?? 0;
  writeMeta(database, factName, JSON.stringify({ ...lost, lastEntry }));
}

/** The state of an entry; for a held entry, the state that it had before. */
function stateBehindHold(row: EntryRow): EntryState | null {
  return row.state === 'held' ? row.held_from : row.state;
}

/**
 * Whether the lost outbox may have sent this entry: then it must be looked up before it is sent or
 * ended.
 */
export function lostOutboxMayHaveSent(database: Sqlite, row: EntryRow): boolean {
  const state = stateBehindHold(row);
  if (row.asked_after_loss !== null || (state !== 'pending' && state !== 'waiting')) return false;
  const lost = readAfterLoss(database);
  return lost !== null && row.id <= (lost.lastEntry ?? row.id);
}

/** Whether neither this outbox nor a lost one sent the entry. */
export function isSurelyUnsent(database: Sqlite, row: EntryRow): boolean {
  return (
    row.outcome_unknown === 0 &&
    stateBehindHold(row) === 'pending' &&
    !lostOutboxMayHaveSent(database, row)
  );
}

/** Surely not bought: never sent, or proven absent since, and waiting to be sent again. */
export const isSurelyUnbought = (database: Sqlite, row: EntryRow): boolean =>
  row.sent_since_lookup === 0 && isCancellable(database, row);

/**
 * Whether it can be cancelled: never sent, or surely not processed by what was answered, and
 * waiting to be sent again. If it was sent, it is looked up before it ends.
 */
export function isCancellable(database: Sqlite, row: EntryRow): boolean {
  if (isSurelyUnsent(database, row)) return true;
  const isClean =
    row.outcome_unknown === 0 &&
    row.order_number === null &&
    row.units === null &&
    row.outcome_row !== null;
  return isClean && stateBehindHold(row) === 'waiting' && !lostOutboxMayHaveSent(database, row);
}

/** The facts of the row that say whether a part of the entry may be bought. */
export function purchaseFactsOf(database: Sqlite, row: EntryRow): PurchaseFacts {
  return {
    state: row.state,
    // A refusal that is not confirmed yet proves nothing.
    outcomeUnknown: row.outcome_unknown === 1 || row.error_buffered > 0,
    lostOutboxMayHaveSent: lostOutboxMayHaveSent(database, row),
    row: outcomeRowFrom(row.outcome_row),
    firstSentAtMs: row.first_sent_steady,
    sentSinceLookup: row.sent_since_lookup === 1,
    orderNumber: row.order_number,
    errorCode: row.error_code,
    unitCount: row.unit_count,
  };
}
