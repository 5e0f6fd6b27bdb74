import type { Statement } from 'better-sqlite3';
import { keptUnits, missingUnits, withDelivered } from '../../core/answers/units.ts';
import { decisionTable } from '../../core/decision/decision-table.ts';
import { outcomeRowFrom } from '../../core/answers/outcome.ts';
import type { Settlement } from '../../core/decision/settlement.ts';
import type { OperatorMove } from '../../core/operator/operator-decision.ts';
import { canTransition, isFinal, type EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { resultChanged } from '../results/due-results.ts';
import { indexUnits } from '../search/record-words.ts';
import { longestText, type Sqlite } from '../sqlite/database.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { recoveryStageNumber, type EntryRow } from '../sqlite/rows.ts';
import { rememberEsim } from './esim-origins.ts';
import type { Replacements } from './replacements.ts';
import type { AttemptClose } from './submission.ts';

/** Final states in which nothing was bought. */
export const endedUnbought: ReadonlySet<EntryState> = new Set(['cancelled', 'expired', 'rejected']);

/** States that are written back to the shop. The other states lead to one of them. */
const reported: ReadonlySet<EntryState> = new Set([
  'placed',
  'fulfilled',
  'refunded',
  'rejected',
  'expired',
  'cancelled',
  'needs_review',
]);

/** Whether the API refused this order itself, rather than the account, the key or the rate. */
function wasOrderRefused(row: EntryRow): boolean {
  const outcome = outcomeRowFrom(row.outcome_row);
  const column = row.operation === 'esim_cancel' ? 'cancelClean' : 'clean';
  return outcome !== null && decisionTable[outcome][column].verdict === 'wait';
}

/** New units take the place of those before; none leave them as they are. */
const setUnits = `units = coalesce(:units, units), unit_count = coalesce(:unitCount, unit_count),
         sealed_by = CASE WHEN :units IS NULL THEN sealed_by ELSE :sealedBy END`;

/** Changes of the state of one entry, each conditional on the state that was read. */
function stateStatements(database: Sqlite) {
  return {
    settle: database.prepare(
      `UPDATE entries SET state = :state, next_step = :nextStep, due_at_ms = :dueAtMs, outcome_unknown = :outcomeUnknown,
         -- A delay that did not begin now is kept as it is: the clock may have been set while the call was under way.
         settlement_delay_end_ms = CASE WHEN :settlementDelayEndMs IS NULL THEN NULL WHEN :settlementDelayEndMono IS NULL
           THEN coalesce(settlement_delay_end_ms, :settlementDelayEndMs) ELSE :settlementDelayEndMs END, tries = :tries, absences = :absences, recovery_stage = :recoveryStage,
         settlement_delay_end_mono = CASE WHEN :settlementDelayEndMs IS NULL THEN NULL ELSE coalesce(:settlementDelayEndMono, settlement_delay_end_mono) END,
         settlement_delay_boot_id = CASE WHEN :settlementDelayEndMono IS NULL THEN settlement_delay_boot_id ELSE :bootId END,
         attempts = attempts + :counted, outcome_row = :row,
         first_sent_at_ms = coalesce(first_sent_at_ms, :sentAtMs),
         error_code = :errorCode, error_message = :errorMessage, error_buffered = :errorBuffered,
         review_reason = :reviewReason,
         order_number = coalesce(:orderNumber, order_number), status = coalesce(:status, status),
         cost = coalesce(:cost, cost), charged_currency = coalesce(:chargedCurrency, charged_currency),
         ${setUnits}, updated_at_ms = :nowMs,
         settled_at_ms = CASE WHEN :final = 1 THEN :nowMs ELSE settled_at_ms END
       WHERE id = :id AND state = :from`,
    ),
    applyCommand: database.prepare(
      `UPDATE entries SET state = :state, next_step = :nextStep, due_at_ms = :dueAtMs, outcome_unknown = :outcomeUnknown,
         settlement_delay_end_ms = :settlementDelayEndMs, review_reason = :reviewReason,
         settlement_delay_end_mono = CASE WHEN :settlementDelayEndMs IS NULL THEN NULL ELSE settlement_delay_end_mono END, held_from = :heldFrom,
         held_by = NULL,
         order_number = coalesce(order_number, :orderNumber), ${setUnits}, units_missing = :unitsMissing,
         resolved_by = coalesce(:resolvedBy, resolved_by), tries = CASE WHEN :restartsSchedule = 1 THEN 0 ELSE tries END, absences = 0,
         error_code = CASE WHEN :keepError = 1 THEN error_code ELSE :errorCode END,
         error_message = CASE WHEN :keepError = 1 THEN error_message ELSE :errorMessage END,
         error_buffered = CASE WHEN :keepError = 1 THEN error_buffered ELSE 0 END, updated_at_ms = :nowMs,
         settled_at_ms = CASE WHEN :final = 1 THEN :nowMs ELSE settled_at_ms END
       WHERE id = :id AND state = :from
         AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = entries.id AND a.closed_at_ms IS NULL)`,
    ),
    end: database.prepare(
      `UPDATE entries SET state = :state, updated_at_ms = :nowMs, settled_at_ms = :nowMs,
         error_code = CASE WHEN :keepError = 1 THEN coalesce(error_code, :errorCode) ELSE :errorCode END,
         error_message = CASE WHEN :keepError = 1 THEN coalesce(error_message, :errorMessage) ELSE :errorMessage END
       WHERE id = :id AND state = :from`,
    ),
    flag: database.prepare(
      `UPDATE entries SET state = 'needs_review', review_reason = :reason, updated_at_ms = :nowMs WHERE id = :id AND state = :from`,
    ),
    lookUpNext: database.prepare(
      `UPDATE entries SET next_step = 'lookup', due_at_ms = :nowMs, updated_at_ms = :nowMs WHERE id = :id AND state = 'unknown'`,
    ),
    recover: database.prepare(
      `UPDATE entries SET state = 'unknown', outcome_unknown = 1, next_step = 'send', recovery_stage = 1, absences = 0, due_at_ms = :nowMs,
         updated_at_ms = :nowMs WHERE id = :id AND state = :from`,
    ),
    takeBack: database.prepare(
      'UPDATE entries SET taken_back = :takenBack WHERE line_id = :lineId AND taken_back <> :takenBack',
    ),
    lowerQuantity: database.prepare(
      `UPDATE entries SET quantity = :quantity, updated_at_ms = :nowMs WHERE id = :id AND quantity > :quantity
       AND state IN ('pending', 'held') AND attempts = 0 AND request_body IS NULL AND outcome_unknown = 0 AND generation = 0`,
    ),
  };
}

/** How many units nobody has of what a person found to be bought. */
function unitsMissingOf(row: EntryRow, { state, orderNumber, units }: OperatorMove, sealed: SealedUnits): number {
  if (state !== 'fulfilled') return 0;
  return missingUnits({ ...row, orderNumber: row.order_number ?? orderNumber }, units ?? sealed.of(row));
}

/** What the state of a shop's order holds and releases. */
function holdStatements(database: Sqlite) {
  return {
    hold: database.prepare(
      `UPDATE entries SET state = 'held', held_from = coalesce(held_from, :from), held_by = :by, review_reason = :why, updated_at_ms = :nowMs
       WHERE id = :id AND state = :from`,
    ),
    release: database.prepare(
      `UPDATE entries SET state = :state, held_from = NULL, held_by = NULL, review_reason = NULL, updated_at_ms = :nowMs
       WHERE id = :id AND state = 'held'`,
    ),
  };
}

/**
 * The only writer of an entry's state. Each change is legal, conditional on the state that was read, and counted. Every
 * method is called inside a transaction.
 */
export class EntryChanges {
  readonly #database: Sqlite;
  readonly #outbox: Outbox;
  readonly #replacements: Replacements;
  readonly #units: SealedUnits;
  readonly #statements;

  constructor(outbox: Outbox, replacements: Replacements) {
    const { database, units } = outbox;
    this.#database = database;
    this.#units = units;
    this.#replacements = replacements;
    this.#outbox = outbox;
    this.#statements = {
      ...stateStatements(database),
      ...holdStatements(database),
      requestOf: database.prepare<[number], number>('SELECT request_id FROM lines WHERE id = ?').pluck(),
    };
  }

  /** Records what a call led to. */
  settle(
    row: EntryRow,
    change: {
      settlement: Settlement;
      now: Pick<AttemptClose, 'nowMs' | 'nowMono' | 'bootId'>;
      expected: readonly EntryState[];
      sentAtMs: number | null;
    },
  ): void {
    const { settlement, expected, sentAtMs } = change;
    const { nowMs, nowMono, bootId } = change.now;
    const { state, answer, error, settlementDelayMs } = settlement;
    assert(expected.includes(row.state), `${row.reference} is in ${expected.join(' or ')}, found ${row.state}`);
    const delivered = withDelivered(answer?.units ?? [], this.#units.known(row));
    const units = delivered.slice(0, keptUnits(row.quantity));
    this.#change(
      row,
      state,
      this.#statements.settle,
      {
        nextStep: settlement.nextStep,
        dueAtMs: Math.round(settlement.dueAtMs),
        outcomeUnknown: settlement.outcomeUnknown ? 1 : 0,
        settlementDelayEndMs: settlement.settlementDelayEndMs,
        settlementDelayEndMono: settlementDelayMs === null ? null : nowMono + settlementDelayMs,
        bootId,
        tries: settlement.tries,
        absences: settlement.absences,
        recoveryStage: recoveryStageNumber(settlement.recoveryStage),
        counted: settlement.counted ? 1 : 0,
        row: settlement.row,
        sentAtMs,
        errorCode: error?.code ?? null,
        errorMessage: error?.message.slice(0, longestText) ?? null,
        errorBuffered: error?.buffered === true ? 1 : 0,
        reviewReason: settlement.reviewReason,
        orderNumber: answer?.orderNumber ?? null,
        status: answer?.status ?? null,
        cost: answer?.cost ?? null,
        chargedCurrency: answer?.currency ?? null,
        ...this.#units.toStore(row.reference, units),
        nowMs,
        final: isFinal(state) ? 1 : 0,
      },
      true,
    );
    indexUnits(this.#database, row.id, answer?.units ?? []);
    if (row.operation === 'esim_order') {
      for (const { iccid } of answer?.units ?? []) if (iccid !== undefined) rememberEsim(this.#database, iccid, row.id);
    }
    this.#replacements.add(row, settlement, nowMs);
    // A poll that finds nothing new is not reported.
    if (reported.has(state) && (row.state !== state || answer !== null)) this.#report(row, nowMs);
  }

  /** Performs what a person decided; `resolvedBy` is who settled the entry. Fails while a call for it is in flight. */
  applyCommand(row: EntryRow, move: OperatorMove & { readonly resolvedBy: string | null }, nowMs: number): void {
    const { state, error, units } = move;
    this.#change(
      row,
      state,
      this.#statements.applyCommand,
      {
        nextStep: move.nextStep,
        dueAtMs: move.dueAtMs,
        outcomeUnknown: move.outcomeUnknown ? 1 : 0,
        settlementDelayEndMs: move.settlementDelayEndMs,
        reviewReason: move.reviewReason,
        heldFrom: move.heldFrom,
        orderNumber: move.orderNumber,
        ...this.#units.toStore(row.reference, units ?? []),
        unitsMissing: unitsMissingOf(row, move, this.#units),
        resolvedBy: move.resolvedBy,
        restartsSchedule: move.restartsSchedule ? 1 : 0,
        keepError: error === 'keep' ? 1 : 0,
        errorCode: error === 'keep' ? null : (error?.code ?? null),
        errorMessage: error === 'keep' ? null : (error?.message.slice(0, longestText) ?? null),
        nowMs,
        final: isFinal(state) ? 1 : 0,
      },
      true,
    );
    indexUnits(this.#database, row.id, units ?? []);
    if (row.state !== state || units !== null) this.#report(row, nowMs);
  }

  /** Ends an entry for which nothing was charged, because its deadline passed. */
  endOverdue(row: EntryRow, nowMs: number): void {
    assert(row.state === 'pending' || row.state === 'waiting', `nothing was charged for ${row.reference}`);
    // A pending entry was never sent; a waiting one was answered.
    this.#end(row, row.state === 'pending' ? 'expired' : 'rejected', nowMs, {
      keepError: wasOrderRefused(row) ? 1 : 0,
      errorCode: 'not_after_passed',
      errorMessage: 'the deadline of the order passed before it could be bought; nothing was charged',
    });
  }

  /** Cancels an entry that was never sent, or that was refused and waits to be sent again. */
  cancel(row: EntryRow, message: string, nowMs: number): void {
    assert(row.outcome_unknown === 0, `${row.reference} was surely not bought`);
    this.#end(row, 'cancelled', nowMs, {
      keepError: 1,
      errorCode: 'taken_back',
      errorMessage: message.slice(0, longestText),
    });
  }

  /** Records whether the shop refunded the line, or cancelled its order: then nobody waits for what was not bought. */
  takeBack(lineId: number, isTakenBack: boolean): void {
    this.#statements.takeBack.run({ lineId, takenBack: isTakenBack ? 1 : 0 });
  }

  #end(
    row: EntryRow,
    state: EntryState,
    nowMs: number,
    values: { keepError: 0 | 1; errorCode: string; errorMessage: string },
  ): void {
    this.#change(row, state, this.#statements.end, { nowMs, ...values });
    this.#report(row, nowMs);
  }

  /** Flags an entry that the worker cannot settle by itself. */
  flagForReview(row: EntryRow, reason: string, nowMs: number): void {
    this.#change(row, 'needs_review', this.#statements.flag, { nowMs, reason });
    this.#report(row, nowMs);
  }

  /** Holds an entry that is not sent now; of one that is held, changes why. `by`: null for a person, who must release it. */
  hold(row: EntryRow, hold: { why: string; by: 'shop' | null }, nowMs: number): void {
    this.#change(row, 'held', this.#statements.hold, { ...hold, nowMs }, true);
    this.#report(row, nowMs);
  }

  /** Releases a held entry to the state that it had. */
  release(row: EntryRow, nowMs: number): void {
    assert(row.held_from !== null, `${row.reference} is held`);
    this.#change(row, row.held_from, this.#statements.release, { nowMs });
    this.#report(row, nowMs);
  }

  /** Has an entry looked up that was due to be sent again. */
  lookUpNext(row: EntryRow, nowMs: number): void {
    this.#change(row, 'unknown', this.#statements.lookUpNext, { nowMs }, true);
  }

  /** Begins the recovery of an entry that an outbox which was lost may have sent: its outcome is unknown. */
  recover(row: EntryRow, nowMs: number): void {
    this.#change(row, 'unknown', this.#statements.recover, { nowMs });
  }

  /** Lowers the quantity of an entry. False when its request was rendered before: a reference stands for its request. */
  lowerQuantity(row: EntryRow, quantity: number, nowMs: number): boolean {
    const { changes } = this.#statements.lowerQuantity.run({ id: row.id, quantity, nowMs });
    if (changes === 1) this.#report(row, nowMs);
    return changes === 1;
  }

  /** Runs the UPDATE of one entry, if it may go from the state that was read to this one. */
  #change(
    row: EntryRow,
    to: EntryState,
    update: Statement,
    values: Readonly<Record<string, unknown>>,
    mayStay = false,
  ): void {
    assert(
      (mayStay && row.state === to) || canTransition(row.state, to),
      `${row.reference} may go from ${row.state} to ${to}`,
    );
    const { changes } = update.run({ ...values, id: row.id, from: row.state, state: to });
    assert(changes === 1, `${row.reference} is still in ${row.state}, and no call for it is in flight`);
  }

  #report(row: EntryRow, nowMs: number): void {
    const requestId = this.#statements.requestOf.get(row.line_id);
    assert(requestId !== undefined, `the line of ${row.reference} exists`);
    resultChanged(this.#outbox, requestId, nowMs);
  }
}
