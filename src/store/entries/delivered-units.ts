import type { Unit } from '../../core/answers/order-answer.ts';
import { namesOf } from '../../core/answers/unit-names.ts';
import type { EntryState } from '../../core/entry/states.ts';
import { deliversUnits } from '../../core/order/purchase.ts';
import { unitMark } from '../../core/order/reference.ts';
import { endingOf } from '../../core/order/search-words.ts';
import { statementOf } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { forgetEsim, rememberEsim } from './esim-origins.ts';

/*
 * One unit, one customer: which entry was shown which unit, by a keyed hash of each of its names.
 * Every function is called inside a transaction.
 */

const insertMark = statementOf<[mark: string, entryId: number, ending: string | null], never>(
  'INSERT INTO unit_marks (mark, entry_id, ending) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
);
const deleteMark = statementOf<[mark: string, entryId: number], never>(
  'DELETE FROM unit_marks WHERE mark = ? AND entry_id = ?',
);
const clearEnding = statementOf<[mark: string, entryId: number], never>(
  'UPDATE unit_marks SET ending = NULL WHERE mark = ? AND entry_id = ?',
);
// An entry that was delivered the unit comes first. An entry that was never bought has no unit.
const selectOther = statementOf<[mark: string, entryId: number], OtherEntry>(
  `SELECT e.id, e.reference, e.state FROM unit_marks u JOIN entries e ON e.id = u.entry_id
   WHERE u.mark = ? AND e.id <> ? AND e.state NOT IN ('rejected', 'expired', 'cancelled')
   ORDER BY e.state = 'needs_review', e.id LIMIT 1`,
);

type OtherEntry = Readonly<{ id: number; reference: string; state: EntryState }>;

/** Another entry that has the same, and what that is, without any code. */
export interface Shared {
  readonly other: OtherEntry;
  readonly what: string;
}

/** The first other entry that was shown one of these units, also if its codes were shredded; null: none was. */
export function findShared(
  { database, namespace }: Outbox,
  entryId: number,
  units: readonly Unit[],
): Shared | null {
  for (const unit of units)
    for (const { name, what } of namesOf(unit).same) {
      const other = selectOther(database).get(unitMark(namespace, name), entryId);
      if (other !== undefined) return { other, what };
    }
  return null;
}

/** An entry has these units from now on, instead of those before. */
export function rememberUnits(
  { database, namespace }: Outbox,
  { id, operation }: Pick<EntryRow, 'id' | 'operation'>,
  before: readonly Unit[],
  now: readonly Unit[],
): void {
  // A top-up and a cancel show the eSIM of another order.
  if (!deliversUnits(operation)) return;
  const had = new Set(before.flatMap((unit) => namesOf(unit).own));
  const has = new Set(now.flatMap((unit) => namesOf(unit).own));
  for (const name of had)
    if (!has.has(name)) deleteMark(database).run(unitMark(namespace, name), id);
  for (const unit of now)
    for (const [index, name] of namesOf(unit).own.entries()) {
      const ending = index === 0 ? endingOf(unit) : null;
      if (!had.has(name)) insertMark(database).run(unitMark(namespace, name), id, ending);
    }
  if (operation !== 'esim_order') return;
  const iccids = new Set(now.flatMap(({ iccid }) => iccid ?? []));
  for (const { iccid } of before)
    if (iccid !== undefined && !iccids.has(iccid)) forgetEsim(database).run(iccid, id);
  for (const iccid of iccids) rememberEsim(database).run(iccid, id);
}

/** The codes of an entry are shredded: it is not found by their endings any more. */
export function forgetEndings(
  { database, namespace }: Outbox,
  entryId: number,
  units: readonly Unit[],
): void {
  for (const unit of units) {
    const [first] = namesOf(unit).own;
    if (first !== undefined) clearEnding(database).run(unitMark(namespace, first), entryId);
  }
}
