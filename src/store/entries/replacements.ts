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
import { takeTurn } from './entry-changes.ts';
import { laneOf } from './lanes.ts';

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
/** Refused by its balance, before the other balance refused what took its place. */
const findResting = statementOf<Record<string, unknown>, EntryRow>(
  `SELECT * FROM entries WHERE line_id = :lineId AND state = 'rejected' AND replaced = 1 AND error_code = 'insufficient_balance'
     AND currency = :currency AND variant IS :variant AND plan IS :plan AND iccid IS :iccid AND quantity IS :quantity AND days IS :days
     AND not_after_ms IS :notAfterMs AND ((generation = :generation AND part = :part) OR (generation = :generation - 2 AND part * 4 = :part))
   ORDER BY generation LIMIT 1`,
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
  assert(Number.isSafeInteger(part), `${row.reference} may be ordered anew once more`);
  // A deadline that has passed is dropped: the new entry would expire at once.
  const notAfterMs =
    row.not_after_ms !== null && row.not_after_ms > nowMs ? row.not_after_ms : null;
  const next = as ?? { ...purchaseOf(row), rules: rulesFrom(row.rules), notAfterMs };
  // After a loss it would need review again with its rules. The operator has looked for its parts.
  const { split: _, partial: _1, fallback_currency: _2, ...always } = next.rules;
  const rules = row.asked_after_loss === null ? next.rules : always;
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
 * any of them is sent. The entry of the other balance, which that balance refused before, has its
 * turn again: so two balances need two references, however long both are empty.
 */
export function addReplacements(
  outbox: Outbox,
  row: EntryRow,
  { replacements, dueAtMs }: { replacements: readonly Replacement[]; dueAtMs: number },
  nowMs: number,
): void {
  const { database } = outbox;
  const { not_after_ms: notAfterMs, line_id: lineId } = row;
  for (const replacement of replacements) {
    const entry = { ...purchaseOf(row), rules: rulesFrom(row.rules), ...replacement, notAfterMs };
    const resting = findResting(database).get({ ...entry, lineId });
    if (resting === undefined) insertEntry(outbox, row, entry, { nowMs, byPerson: 0 });
    else
      takeTurn(database, resting, {
        rules: JSON.stringify(entry.rules),
        lane: laneFor(outbox, row, entry),
        // The first balance begins a round, the other one ends it.
        dueAtMs: resting.generation > row.generation ? outbox.clock.steadyMs() : dueAtMs,
        nowMs,
      });
  }
  if (replacements.length > 0) markReplaced(database).run(row.id);
}

/**
 * The reference of the entry that takes the place of this one: the same from the other balance, or a
 * re-order by an operator. A replacement may also have given the place back.
 */
export function replacementOf(outbox: Outbox, row: EntryRow): string {
  const { generation, part, absences } = row;
  const isBefore = generation > 0 && absences % 2 === 0;
  return referenceOf(
    outbox,
    row,
    isBefore
      ? { generation: generation - 1, part: Math.floor(part / 2) }
      : { generation: generation + 1, part: part * 2 },
  );
}

/** Inserts another entry of the same line; returns its reference. */
function insertEntry(
  outbox: Outbox,
  row: EntryRow,
  added: NewEntry,
  by: { nowMs: number; byPerson: 0 | 1 },
): string {
  const reference = referenceOf(outbox, row, added);
  insert(outbox.database).run({
    ...added,
    ...by,
    rules: JSON.stringify(added.rules),
    id: row.id,
    reference,
    lane: laneFor(outbox, row, added),
    steadyMs: outbox.clock.steadyMs(),
  });
  return reference;
}

const laneFor = ({ database }: Outbox, row: EntryRow, added: NewEntry): string =>
  laneOf(lineOf(database, row).source, added, added.rules.fallback_currency);

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
