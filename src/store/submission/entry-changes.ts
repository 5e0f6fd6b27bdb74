import { decisionTable } from '../../core/decision/decision-table.ts';
import { withDelivered } from '../../core/result/delivered-units.ts';
import { outcomeRowFrom } from '../../core/decision/outcome.ts';
import type { Settlement } from '../../core/decision/settlement.ts';
import { canTransition, isFinal, type EntryState } from '../../core/entry/states.ts';
import type { Replacement } from '../../core/entry/replacement.ts';
import type { OperatorMove } from '../../core/entry/operator-decision.ts';
import { assert } from '../../core/order-sync-error.ts';
import { referenceFor, type ReferenceNamespace } from '../../core/order/reference.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { SqliteResults } from '../results/sqlite-results.ts';
import { laneOf } from '../intake/lanes.ts';
import { recoveryStageNumber, rulesFrom, unitsFrom, type EntryRow } from '../sqlite/rows.ts';
import type { AttemptClose } from './submission.ts';

/** States that a shop is told about; the others are on their way to one of them. */
const reported: ReadonlySet<EntryState> = new Set([
  'placed',
  'fulfilled',
  'refunded',
  'rejected',
  'expired',
  'cancelled',
  'needs_review',
]);

/** Whether the last word was a refusal of this very order, and not a shut door or a limit that kept it from being asked. */
function isRefused(row: EntryRow): boolean {
  const outcome = outcomeRowFrom(row.outcome_row);
  const column = row.operation === 'esim_cancel' ? 'cancelClean' : 'clean';
  return outcome !== null && decisionTable[outcome][column].verdict === 'wait';
}

/** The only writer of an entry's state: every change is legal, conditional, and counted. */
export class EntryChanges {
  readonly #namespace: ReferenceNamespace;
  readonly #deliveries: SqliteResults;
  readonly #statements;

  constructor(database: Sqlite, namespace: ReferenceNamespace, deliveries: SqliteResults) {
    this.#namespace = namespace;
    this.#deliveries = deliveries;
    this.#statements = {
      update: database.prepare(
        `UPDATE entries SET state = :state, next_step = :nextStep, due_at_ms = :dueAtMs, outcome_unknown = :outcomeUnknown,
           settlement_delay_end_ms = :settlementDelayEndMs, tries = :tries, absences = :absences, recovery_stage = :recoveryStage,
           settlement_delay_end_mono = CASE WHEN :settlementDelayEndMs IS NULL THEN NULL ELSE coalesce(:settlementDelayEndMono, settlement_delay_end_mono) END,
           settlement_delay_boot_id = CASE WHEN :settlementDelayEndMono IS NULL THEN settlement_delay_boot_id ELSE :bootId END,
           attempts = attempts + :counted, outcome_row = :row,
           first_sent_at_ms = coalesce(first_sent_at_ms, :sentAtMs),
           error_code = :errorCode, error_message = :errorMessage, error_buffered = :errorBuffered,
           review_reason = :reviewReason,
           order_number = coalesce(:orderNumber, order_number), status = coalesce(:status, status),
           cost = coalesce(:cost, cost), charged_currency = coalesce(:chargedCurrency, charged_currency),
           units = coalesce(:units, units), updated_at_ms = :nowMs,
           settled_at_ms = CASE WHEN :final = 1 THEN :nowMs ELSE settled_at_ms END
         WHERE id = :id AND state = :from`,
      ),
      lineOf: database.prepare<[number], { source: string; order_id: string; line_id: string }>(
        'SELECT r.source, r.order_id, l.line_id FROM lines l JOIN requests r ON r.id = l.request_id WHERE l.id = +?',
      ),
      insertReplacement: database.prepare(
        `INSERT INTO entries (reference, line_id, generation, part, operation, variant, plan, iccid, quantity, days, currency,
                              not_after_ms, rules, state, lane, due_at_ms, created_at_ms, updated_at_ms)
         SELECT :reference, line_id, :generation, :part, operation, variant, plan, iccid, :quantity, days, :currency,
                -- A deadline that has passed was that of the first order; no person orders anew to have it expire. What
                -- the worker orders instead by itself keeps it.
                CASE WHEN :byPerson = 0 OR not_after_ms > :nowMs THEN not_after_ms END, rules, 'pending', :lane, :nowMs,
                -- After a loss it is looked up first as what it takes the place of was, however long that took.
                CASE WHEN :byPerson = 0 AND recovery_stage <> 0 THEN created_at_ms ELSE :nowMs END, :nowMs
         FROM entries WHERE id = :id`,
      ),
      markReplaced: database.prepare('UPDATE entries SET replaced = 1 WHERE id = ? AND replaced = 0'),
      learnLimit: database.prepare(
        `INSERT INTO variant_limits (variant, known_limit, learned_at_ms) VALUES (:variant, :limit, :nowMs)
         ON CONFLICT (variant) DO UPDATE SET known_limit = min(known_limit, :limit), learned_at_ms = :nowMs`,
      ),
      requestOf: database.prepare<[number], number>('SELECT request_id FROM lines WHERE id = ?').pluck(),
      rememberEsim: database.prepare(
        'INSERT INTO esims (iccid, entry_id) VALUES (?, ?) ON CONFLICT (iccid) DO NOTHING',
      ),
      lowerUnsent: database.prepare(
        `UPDATE entries SET quantity = :quantity, updated_at_ms = :nowMs WHERE id = :id AND quantity > :quantity
         AND state IN ('pending', 'held') AND attempts = 0 AND request_body IS NULL AND outcome_unknown = 0 AND generation = 0`,
      ),
      askFirst: database.prepare(
        `UPDATE entries SET next_step = 'lookup', due_at_ms = :nowMs, updated_at_ms = :nowMs WHERE id = :id AND state = 'unknown'`,
      ),
      lookUpFirst: database.prepare(
        `UPDATE entries SET state = 'unknown', outcome_unknown = 1, next_step = 'send', recovery_stage = 1, absences = 0, due_at_ms = :nowMs,
           updated_at_ms = :nowMs WHERE id = :id AND state = :from`,
      ),
      review: database.prepare(
        `UPDATE entries SET state = 'needs_review', review_reason = :reason, updated_at_ms = :nowMs WHERE id = :id AND state = :from`,
      ),
      end: database.prepare(
        `UPDATE entries SET state = :state, updated_at_ms = :nowMs, settled_at_ms = :nowMs,
           error_code = CASE WHEN :keepsError = 1 THEN coalesce(error_code, :code) ELSE :code END,
           error_message = CASE WHEN :keepsError = 1 THEN coalesce(error_message, :message) ELSE :message END
         WHERE id = :id AND state = :from`,
      ),
      move: database.prepare(
        `UPDATE entries SET state = :state, next_step = :nextStep, due_at_ms = :dueAtMs, outcome_unknown = :outcomeUnknown,
           settlement_delay_end_ms = :settlementDelayEndMs, review_reason = :reviewReason,
           settlement_delay_end_mono = CASE WHEN :settlementDelayEndMs IS NULL THEN NULL ELSE settlement_delay_end_mono END, held_from = :heldFrom,
           order_number = coalesce(order_number, :orderNumber), tries = CASE WHEN :restartsSchedule = 1 THEN 0 ELSE tries END, absences = 0,
           error_code = CASE WHEN :keepError = 1 THEN error_code ELSE :errorCode END,
           error_message = CASE WHEN :keepError = 1 THEN error_message ELSE :errorMessage END,
           error_buffered = CASE WHEN :keepError = 1 THEN error_buffered ELSE 0 END, updated_at_ms = :nowMs,
           settled_at_ms = CASE WHEN :final = 1 THEN :nowMs ELSE settled_at_ms END
         WHERE id = :id AND state = :from
           AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = entries.id AND a.closed_at_ms IS NULL)`,
      ),
      isTaken: database
        .prepare<[number, number, number], number>(
          'SELECT 1 FROM entries WHERE line_id = ? AND generation = ? AND part = ?',
        )
        .pluck(),
    };
  }

  settle(
    row: EntryRow,
    change: {
      settlement: Settlement;
      now: Pick<AttemptClose, 'nowMs' | 'nowMono' | 'bootId'>;
      expected: readonly EntryState[];
      sentAtMs: number | null;
    },
  ): void {
    const { settlement } = change;
    const { nowMs, nowMono, bootId } = change.now;
    const { settlementDelayMs } = settlement;
    assert(
      change.expected.includes(row.state),
      `${row.reference} is in ${change.expected.join(' or ')}, found ${row.state}`,
    );
    assert(
      row.state === settlement.state || canTransition(row.state, settlement.state),
      `${row.reference} may go from ${row.state} to ${settlement.state}`,
    );
    const { answer, error } = settlement;
    const units = withDelivered(answer?.units ?? [], unitsFrom(row.units));
    const { changes } = this.#statements.update.run({
      id: row.id,
      from: row.state,
      state: settlement.state,
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
      sentAtMs: change.sentAtMs,
      errorCode: error?.code ?? null,
      errorMessage: error?.message.slice(0, 500) ?? null,
      errorBuffered: error?.buffered === true ? 1 : 0,
      reviewReason: settlement.reviewReason,
      orderNumber: answer?.orderNumber ?? null,
      status: answer?.status ?? null,
      cost: answer?.cost ?? null,
      chargedCurrency: answer?.currency ?? null,
      units: units.length === 0 ? null : JSON.stringify(units),
      nowMs,
      final: isFinal(settlement.state) ? 1 : 0,
    });
    assert(changes === 1, `${row.reference} is moved once`);
    if (row.operation === 'esim_order') {
      for (const unit of answer?.units ?? [])
        if (unit.iccid !== undefined) this.#statements.rememberEsim.run(unit.iccid, row.id);
    }
    this.#replace(row, settlement, nowMs);
    // A poll that changes nothing is no news for the shop.
    if (reported.has(settlement.state) && (row.state !== settlement.state || answer !== null)) this.#report(row, nowMs);
  }

  /** What takes the place of a refused entry is on disk with the refusal, before any of it is sent. */
  #replace(row: EntryRow, settlement: Settlement, nowMs: number): void {
    if (
      settlement.row === 'limit_exceeded' &&
      settlement.error?.buffered === false &&
      row.quantity !== null &&
      row.variant !== null
    ) {
      this.#statements.learnLimit.run({ variant: row.variant, limit: row.quantity - 1, nowMs });
    }
    for (const replacement of settlement.replacements)
      this.#insertReplacement(row, replacement, { nowMs, byPerson: false });
    if (settlement.replacements.length > 0) this.#statements.markReplaced.run(row.id);
  }

  /** Puts another entry of the same line on disk, with a reference of its own; returns that. */
  #insertReplacement(row: EntryRow, replacement: Replacement, order: { nowMs: number; byPerson: boolean }): string {
    const { nowMs, byPerson } = order;
    const { generation, part, quantity, currency } = replacement;
    const line = this.#statements.lineOf.get(row.line_id);
    assert(line !== undefined, `the line of ${row.reference} exists`);
    const subject = { source: line.source, orderId: line.order_id, lineId: line.line_id, generation, part };
    const reference = referenceFor(this.#namespace, subject);
    const lane = laneOf(line.source, currency, rulesFrom(row.rules).fallback_currency);
    this.#statements.insertReplacement.run({
      id: row.id,
      reference,
      generation,
      part,
      quantity,
      currency,
      lane,
      nowMs,
      byPerson: byPerson ? 1 : 0,
    });
    return reference;
  }

  /** Moves an entry as a person decided. It is not moved while a call for it is open. */
  moveByPerson(row: EntryRow, move: OperatorMove, nowMs: number): void {
    assert(
      row.state === move.state || canTransition(row.state, move.state),
      `${row.reference} may go from ${row.state} to ${move.state}`,
    );
    const { error } = move;
    const { changes } = this.#statements.move.run({
      id: row.id,
      from: row.state,
      state: move.state,
      nextStep: move.nextStep,
      dueAtMs: move.dueAtMs,
      outcomeUnknown: move.outcomeUnknown ? 1 : 0,
      settlementDelayEndMs: move.settlementDelayEndMs,
      reviewReason: move.reviewReason,
      heldFrom: move.heldFrom,
      orderNumber: move.orderNumber,
      restartsSchedule: move.restartsSchedule ? 1 : 0,
      keepError: error === 'keep' ? 1 : 0,
      errorCode: error === 'keep' ? null : (error?.code ?? null),
      errorMessage: error === 'keep' ? null : (error?.message.slice(0, 500) ?? null),
      nowMs,
      final: isFinal(move.state) ? 1 : 0,
    });
    assert(changes === 1, `${row.reference} is moved once by a person`);
    if (row.state !== move.state) this.#report(row, nowMs);
  }

  /** Orders a refused entry anew, under the next free generation: the same parting rule as for the worker's own. */
  reorder(row: EntryRow, nowMs: number): string {
    assert(
      row.replaced === 0 && row.outcome_unknown === 0 && isFinal(row.state),
      `${row.reference} may be ordered anew`,
    );
    let [generation, part] = [row.generation + 1, row.part * 2];
    while (this.#statements.isTaken.get(row.line_id, generation, part) !== undefined) {
      generation += 1;
      part *= 2;
    }
    assert(Number.isSafeInteger(part), `${row.reference} was not ordered anew too often`);
    const reference = this.#insertReplacement(row, { ...row, generation, part }, { nowMs, byPerson: true });
    const { changes } = this.#statements.markReplaced.run(row.id);
    assert(changes === 1, `${row.reference} is replaced once`);
    this.#report(row, nowMs);
    return reference;
  }

  /** Ends an entry for which nothing was charged, because its deadline passed. */
  endOverdue(row: EntryRow, nowMs: number): void {
    const from = row.state;
    assert(from === 'pending' || from === 'waiting', `${row.reference} has not been charged for`);
    // An entry that waits was answered; a pending one was never sent.
    const to = from === 'pending' ? 'expired' : 'rejected';
    assert(canTransition(from, to), `${row.reference} may go from ${from} to ${to}`);
    const { changes } = this.#statements.end.run({
      id: row.id,
      from,
      state: to,
      nowMs,
      keepsError: isRefused(row) ? 1 : 0,
      code: 'not_after_passed',
      message: 'the deadline of the order passed before it could be bought; nothing was charged',
    });
    assert(changes === 1, `${row.reference} is ended once`);
    this.#report(row, nowMs);
  }

  /** Takes an entry back that was never sent. */
  cancelUnsentResult(row: EntryRow, message: string, nowMs: number): void {
    assert(canTransition(row.state, 'cancelled'), `${row.reference} may be taken back from the state ${row.state}`);
    assert(row.outcome_unknown === 0, `${row.reference} was not sent`);
    const change = {
      id: row.id,
      from: row.state,
      state: 'cancelled',
      nowMs,
      keepsError: 1,
      code: 'taken_back',
      message,
    };
    const { changes } = this.#statements.end.run(change);
    assert(changes === 1, `${row.reference} is taken back once`);
    this.#report(row, nowMs);
  }

  /** What another outbox may have sent is in doubt: it is looked up before it is sent, or sent as such. */
  lookUpFirst(row: EntryRow, nowMs: number): void {
    assert(canTransition(row.state, 'unknown'), `${row.reference} may be looked up from the state ${row.state}`);
    const { changes } = this.#statements.lookUpFirst.run({ id: row.id, from: row.state, nowMs });
    assert(changes === 1, `${row.reference} is looked up first once`);
  }

  /** The reference of the first entry that takes the place of this one, however it was parted or charged. */
  successorOf(row: EntryRow): string {
    const line = this.#statements.lineOf.get(row.line_id);
    assert(line !== undefined, `the line of ${row.reference} exists`);
    const { source, order_id: orderId, line_id: lineId } = line;
    return referenceFor(this.#namespace, {
      source,
      orderId,
      lineId,
      generation: row.generation + 1,
      part: row.part * 2,
    });
  }

  /** Lowers the quantity of an entry whose request was never made. False when one was: it stands for that, for ever. */
  lowerUnsent(row: EntryRow, quantity: number, nowMs: number): boolean {
    const { changes } = this.#statements.lowerUnsent.run({ id: row.id, quantity, nowMs });
    if (changes === 1) this.#report(row, nowMs);
    return changes === 1;
  }

  /** What was to be sent again is looked up instead. */
  askFirst(row: EntryRow, nowMs: number): void {
    const { changes } = this.#statements.askFirst.run({ id: row.id, nowMs });
    assert(changes === 1, `${row.reference} is in doubt`);
  }

  /** Sets an entry aside that the worker cannot go on with; nothing was sent by this. */
  putBeforePerson(row: EntryRow, reason: string, nowMs: number): void {
    assert(canTransition(row.state, 'needs_review'), `${row.reference} may be reviewed from the state ${row.state}`);
    const { changes } = this.#statements.review.run({ id: row.id, from: row.state, nowMs, reason });
    assert(changes === 1, `${row.reference} is set aside once`);
    this.#report(row, nowMs);
  }

  #report(row: EntryRow, nowMs: number): void {
    const requestId = this.#statements.requestOf.get(row.line_id);
    assert(requestId !== undefined, `the line of ${row.reference} exists`);
    this.#deliveries.changed(requestId, nowMs);
  }
}
