import type { Settlement } from '../../core/decision/settlement.ts';
import type { NewRequest, Replacement } from '../../core/entry/replacement.ts';
import { isFinal } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { fingerprintOf, type OrderRules } from '../../core/order/order-request.ts';
import { productOf, type Purchase, purchaseOf } from '../../core/order/purchase.ts';
import { referenceFor } from '../../core/order/reference.ts';
import { laneOf } from './lanes.ts';
import { resultChanged } from '../results/due-results.ts';
import { indexProduct } from '../search/record-words.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { rulesFrom, type EntryRow } from '../sqlite/rows.ts';

/** An entry that takes the place of another one. */
interface NewEntry extends Purchase {
  readonly generation: number;
  readonly part: number;
  readonly notAfterMs: number | null;
  readonly rules: OrderRules;
}

/** The entries that take the place of a rejected one. Every method is called inside a transaction. */
export class Replacements {
  readonly #database: Sqlite;
  readonly #outbox: Outbox;
  readonly #statements;

  constructor(outbox: Outbox) {
    const { database } = outbox;
    this.#database = database;
    this.#outbox = outbox;
    this.#statements = {
      insert: database.prepare(
        `INSERT INTO entries (reference, line_id, generation, part, operation, variant, plan, iccid, quantity, days, currency,
                              not_after_ms, rules, taken_back, state, lane, due_at_ms, created_at_ms, updated_at_ms)
         SELECT :reference, line_id, :generation, :part, :operation, :variant, :plan, :iccid, :quantity, :days, :currency,
                :notAfterMs, :rules,
                -- Who orders it again waits for it again.
                CASE WHEN :byPerson = 0 THEN taken_back ELSE 0 END, 'pending', :lane, :nowMs,
                -- After a loss a replacement is looked up first, too, if its original was: however long that took.
                CASE WHEN :byPerson = 0 AND recovery_stage <> 0 THEN created_at_ms ELSE :nowMs END, :nowMs
         FROM entries WHERE id = :id`,
      ),
      markReplaced: database.prepare('UPDATE entries SET replaced = 1 WHERE id = ? AND replaced = 0'),
      isTaken: database
        .prepare<[number, number, number], number>(
          'SELECT 1 FROM entries WHERE line_id = ? AND generation = ? AND part = ?',
        )
        .pluck(),
      lineOf: database.prepare<[number], { requestId: number; source: string; orderId: string; lineId: string }>(
        `SELECT r.id AS requestId, r.source, r.order_id AS orderId, l.line_id AS lineId
         FROM lines l JOIN requests r ON r.id = l.request_id WHERE l.id = +?`,
      ),
      changeLine: database.prepare(
        `UPDATE lines SET operation = :operation, variant = :variant, plan = :plan, iccid = :iccid, quantity = :quantity,
           days = :days, currency = :currency, not_after_ms = :notAfterMs, fingerprint = :fingerprint WHERE id = :id`,
      ),
      learnLimit: database.prepare(
        `INSERT INTO variant_limits (variant, known_limit, learned_at_ms) VALUES (:variant, :limit, :nowMs)
         ON CONFLICT (variant) DO UPDATE SET known_limit = min(known_limit, :limit), learned_at_ms = :nowMs`,
      ),
    };
  }

  /**
   * Re-orders a rejected entry under the next free generation, numbering parts as the worker does.
   * @param as what the whole line orders from now on; null: the same again
   */
  reorder(row: EntryRow, as: NewRequest | null, nowMs: number): string {
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
    // A deadline that has passed is dropped: the new entry would expire at once.
    const notAfterMs = row.not_after_ms !== null && row.not_after_ms > nowMs ? row.not_after_ms : null;
    const again = { ...purchaseOf(row), rules: rulesFrom(row.rules), notAfterMs };
    const reference = this.#insert(row, { ...(as ?? again), generation, part }, { nowMs, byPerson: 1 });
    if (as !== null) this.#changeLine(row, as);
    const { changes } = this.#statements.markReplaced.run(row.id);
    assert(changes === 1, `${row.reference} is replaced once`);
    resultChanged(this.#outbox, this.#lineOf(row).requestId, nowMs);
    return reference;
  }

  /** A line that comes again is compared with what it orders now, and found by that. */
  #changeLine(row: EntryRow, request: NewRequest): void {
    const changed = { ...purchaseOf(request), id: row.line_id, fingerprint: fingerprintOf(request) };
    this.#statements.changeLine.run({ ...changed, notAfterMs: request.notAfterMs });
    indexProduct(this.#database, row.line_id, productOf(request));
  }

  /** The reference of the first replacement of this entry, whether it was split or charged to another balance. */
  firstReferenceOf(row: EntryRow): string {
    return this.#referenceOf(row, { generation: row.generation + 1, part: row.part * 2 });
  }

  /** The replacements of a rejected entry are on disk with its rejection, before any of them is sent. */
  add(row: EntryRow, { row: outcome, error, replacements }: Settlement, nowMs: number): void {
    const { variant, quantity } = row;
    if (outcome === 'limit_exceeded' && error?.buffered === false && quantity !== null && variant !== null) {
      this.#statements.learnLimit.run({ variant, limit: quantity - 1, nowMs });
    }
    for (const replacement of replacements) {
      const added = { ...purchaseOf(row), ...replacement, notAfterMs: row.not_after_ms, rules: rulesFrom(row.rules) };
      this.#insert(row, added, { nowMs, byPerson: 0 });
    }
    if (replacements.length > 0) this.#statements.markReplaced.run(row.id);
  }

  /** Inserts another entry of the same line; returns its reference. */
  #insert(row: EntryRow, added: NewEntry, by: { nowMs: number; byPerson: 0 | 1 }): string {
    const reference = this.#referenceOf(row, added);
    const lane = laneOf(this.#lineOf(row).source, added, added.rules.fallback_currency);
    this.#statements.insert.run({ ...added, ...by, rules: JSON.stringify(added.rules), id: row.id, reference, lane });
    return reference;
  }

  #referenceOf(row: EntryRow, { generation, part }: Pick<Replacement, 'generation' | 'part'>): string {
    const { source, orderId, lineId } = this.#lineOf(row);
    return referenceFor(this.#outbox.namespace, { source, orderId, lineId, generation, part });
  }

  #lineOf(row: EntryRow): { requestId: number; source: string; orderId: string; lineId: string } {
    const line = this.#statements.lineOf.get(row.line_id);
    assert(line !== undefined, `the line of ${row.reference} exists`);
    return line;
  }
}
