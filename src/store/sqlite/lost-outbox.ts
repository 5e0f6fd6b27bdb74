import { mayHaveBoughtParts } from '../../core/decision/after-loss.ts';
import { outcomeRowFrom } from '../../core/answers/outcome.ts';
import type { PurchaseFacts } from '../../core/entry/may-be-bought.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { Sqlite } from './database.ts';
import { readMeta, writeMeta } from './meta.ts';
import { recoveryStageFrom, rulesFrom, type EntryRow } from './rows.ts';

const untilName = 'after_loss_until_ms';

/**
 * An outbox that replaces a lost one, or is an older copy of it, looks up the entries that came in before this time, in ms,
 * before it sends them. Null: it replaces none.
 */
export function readAfterLossUntil(database: Sqlite): number | null {
  const until = readMeta(database, untilName);
  return until === undefined ? null : Number(until);
}

/** Called inside a transaction. */
export function writeAfterLossUntil(database: Sqlite, untilMs: number): void {
  writeMeta(database, untilName, String(untilMs));
}

/** The state of an entry; for a held entry, the state that it had before. */
export function stateBehindHold(row: EntryRow): EntryState | null {
  return row.state === 'held' ? row.held_from : row.state;
}

/** Whether the lost outbox may have sent this entry: then it must be looked up before it is sent or ended. */
export function lostOutboxMayHaveSent(row: EntryRow, untilMs: number | null): boolean {
  if (untilMs === null || row.recovery_stage !== 0 || row.created_at_ms >= untilMs) return false;
  const state = stateBehindHold(row);
  return state === 'pending' || state === 'waiting';
}

/** Whether a lost outbox may have bought parts of an entry that is absent itself: then it must not end by itself. */
export function lostOutboxMayHaveBoughtParts(row: EntryRow): boolean {
  const state = stateBehindHold(row);
  if (state !== 'waiting' && state !== 'needs_review') return false;
  const { operation, quantity, currency } = row;
  const recoveryStage = recoveryStageFrom(row.recovery_stage);
  return mayHaveBoughtParts({ operation, quantity, currency, rules: rulesFrom(row.rules), recoveryStage });
}

/** What the row says of whether something of the entry may be bought. @param untilMs see `readAfterLossUntil` */
export function purchaseFactsOf(row: EntryRow, untilMs: number | null): PurchaseFacts {
  return {
    state: row.state,
    outcomeUnknown: row.outcome_unknown === 1,
    lostOutboxMayHaveBought: lostOutboxMayHaveSent(row, untilMs) || lostOutboxMayHaveBoughtParts(row),
    row: outcomeRowFrom(row.outcome_row),
    firstSentAtMs: row.first_sent_at_ms,
    orderNumber: row.order_number,
    errorCode: row.error_code,
    unitCount: row.unit_count,
  };
}
