import type { NewRequest, Replacement } from '../../core/entry/replacement.ts';
import { isFinal } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { fingerprintOf, type OrderRules } from '../../core/order/order-request.ts';
import { productOf, type Purchase, purchaseOf } from '../../core/order/purchase.ts';
import { referenceFor } from '../../core/order/reference.ts';
import { resultChanged } from '../results/due-results.ts';
import { indexProduct } from '../search/record-words.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { rulesFrom, type EntryRow } from '../sqlite/rows.ts';
import { laneOf } from './lanes.ts';

/** An entry that takes the place of another one. */
interface NewEntry extends Purchase {
  readonly generation: number;
  readonly part: number;
  readonly notAfterMs: number | null;
  readonly rules: OrderRules;
}

type EntryLine = { readonly requestId: number } & Readonly<
  Record<'source' | 'orderId' | 'lineId', string>
>;

const insert = statementOf<Record<string, unknown>, never>(
  `INSERT INTO entries (reference, line_id, generation, part, operation, variant, plan, iccid, quantity, days, currency,
                        not_after_ms, rules, taken_back, state, lane, due_steady, created_at_ms, updated_at_ms)
   SELECT :reference, line_id, :generation, :part, :operation, :variant, :plan, :iccid, :quantity, :days, :currency,
          :notAfterMs, :rules,
          -- Who orders it again waits for it again.
          CASE WHEN :byPerson = 0 THEN taken_back ELSE 0 END, 'pending', :lane, :steadyMs, :nowMs, :nowMs
   FROM entries WHERE id = :id`,
);
const markReplaced = statementOf<[number], never>(
  'UPDATE entries SET replaced = 1 WHERE id = ? AND replaced = 0',
);
const findPart = columnOf<[number, number, number], number>(
  'SELECT 1 FROM entries WHERE line_id = ? AND generation = ? AND part = ?',
);
const findLine = statementOf<[number], EntryLine>(
  `SELECT r.id AS requestId, r.source, r.order_id AS orderId, l.line_id AS lineId
   FROM lines l JOIN requests r ON r.id = l.request_id WHERE l.id = ?`,
);
const changeLine = statementOf<Record<string, unknown>, never>(
  `UPDATE lines SET operation = :operation, variant = :variant, plan = :plan, iccid = :iccid, quantity = :quantity,
     days = :days, currency = :currency, not_after_ms = :notAfterMs, fingerprint = :fingerprint WHERE id = :id`,
);
/**
 * Re-orders a rejected entry under the next free generation, numbering parts as the worker does.
 * Called inside a transaction.
 * @param as what the whole line orders from now on; null: the same again
 */
export function reorder(
  outbox: Outbox,
  row: EntryRow,
  as: NewRequest | null,
  nowMs: number,
): string {
  const { database } = outbox;
  assert(
    row.replaced === 0 && row.outcome_unknown === 0 && isFinal(row.state),
    `${row.reference} may be ordered anew`,
  );
  let [generation, part] = [row.generation + 1, row.part * 2];
  while (findPart(database).get(row.line_id, generation, part) !== undefined) {
    generation += 1;
    part *= 2;
  }
  assert(Number.isSafeInteger(part), `${row.reference} was not ordered anew too often`);
  // A deadline that has passed is dropped: the new entry would expire at once.
  const notAfterMs =
    row.not_after_ms !== null && row.not_after_ms > nowMs ? row.not_after_ms : null;
  const next = as ?? { ...purchaseOf(row), rules: rulesFrom(row.rules), notAfterMs };
  // After a loss it would need review again with its rules. The operator has looked for its parts.
  const rules = row.asked_after_loss === null ? next.rules : {};
  const reference = insertEntry(
    outbox,
    row,
    { ...next, rules, generation, part },
    { nowMs, byPerson: 1 },
  );
  if (as !== null) {
    // A line that comes again is compared with what it orders now, and found by that.
    const changed = {
      ...purchaseOf(as),
      notAfterMs: as.notAfterMs,
      fingerprint: fingerprintOf(as),
    };
    changeLine(database).run({ ...changed, id: row.line_id });
    indexProduct(database, row.line_id, productOf(as));
  }
  const { changes } = markReplaced(database).run(row.id);
  assert(changes === 1, `${row.reference} is replaced once`);
  resultChanged(outbox, lineOf(database, row).requestId, nowMs);
  return reference;
}

/**
 * Entries that take the place of this one. Called inside the transaction that rejects it, before
 * any of them is sent.
 */
export function addReplacements(
  outbox: Outbox,
  row: EntryRow,
  added: readonly Replacement[],
  nowMs: number,
): void {
  const { not_after_ms: notAfterMs } = row;
  for (const replacement of added) {
    const entry = { ...purchaseOf(row), ...replacement, notAfterMs, rules: rulesFrom(row.rules) };
    insertEntry(outbox, row, entry, { nowMs, byPerson: 0 });
  }
  if (added.length > 0) markReplaced(outbox.database).run(row.id);
}

/**
 * The reference of what takes the place of this entry first: the same from the other balance, or a
 * re-order by an operator.
 */
export function firstReplacementOf(outbox: Outbox, row: EntryRow): string {
  return referenceOf(outbox, row, { generation: row.generation + 1, part: row.part * 2 });
}

/** Inserts another entry of the same line; returns its reference. */
function insertEntry(
  outbox: Outbox,
  row: EntryRow,
  added: NewEntry,
  by: { nowMs: number; byPerson: 0 | 1 },
): string {
  const reference = referenceOf(outbox, row, added);
  const lane = laneOf(lineOf(outbox.database, row).source, added, added.rules.fallback_currency);
  insert(outbox.database).run({
    ...added,
    ...by,
    rules: JSON.stringify(added.rules),
    id: row.id,
    reference,
    lane,
    steadyMs: outbox.clock.steadyMs(),
  });
  return reference;
}

type Place = Pick<Replacement, 'generation' | 'part'>;

function referenceOf(
  { database, namespace }: Outbox,
  row: EntryRow,
  { generation, part }: Place,
): string {
  return referenceFor(namespace, { ...lineOf(database, row), generation, part });
}

function lineOf(database: Sqlite, row: EntryRow): EntryLine {
  const line = findLine(database).get(row.line_id);
  assert(line !== undefined, `the line of ${row.reference} exists`);
  return line;
}
