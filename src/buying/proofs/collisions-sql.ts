import type { Unit } from '../../core/answers/order-answer.ts';
import type { Settlement } from '../decision/settlement.ts';
import { deliversUnits } from '../../core/order/purchase.ts';
import { endingOf } from '../../core/order/search-words.ts';
import { statementOf } from '../../store/sqlite/database.ts';
import type { Outbox } from '../../store/sqlite/outbox.ts';
import type { EntryRow } from '../../store/sqlite/rows.ts';
import { findEntryOfEsim } from '../../store/entries/esim-origins.ts';

/*
 * One order number, one code, one eSIM: one customer. Every search is by an index, and reads few
 * entries.
 */

type Other = Pick<EntryRow, 'id' | 'reference' | 'state' | 'units'>;

/**
 * What a person found to be another order, and what was never bought, has no number or code of its
 * own.
 */
const isOther = `e.id <> :id AND e.state NOT IN ('rejected', 'expired', 'cancelled') AND e.outcome_row IS NOT 'answer_mismatch'`;
/**
 * Of the numbers of one family; a top-up or a cancel may show the order that its eSIM came from.
 */
const selectByNumber = statementOf<{ orderNumber: string; operation: string; id: number }, Other>(
  `SELECT e.id, e.reference, e.state, e.units FROM entries e INDEXED BY entries_by_order_number
   WHERE e.order_number = :orderNumber AND e.operation = :operation AND ${isOther} LIMIT 1`,
);
/** Of the codes with this ending the newest. */
const mostCompared = 100;
const selectByEnding = statementOf<{ ending: string; id: number }, Other>(
  `SELECT e.id, e.reference, e.state, e.units FROM unit_endings u JOIN entries e ON e.id = u.entry_id
   WHERE u.ending = :ending AND e.units IS NOT NULL AND ${isOther} ORDER BY u.entry_id DESC LIMIT ${mostCompared}`,
);

/** Nothing is said twice, and what needs review has a row already. */
export const markShownTwice = statementOf<{ id: number; shared: string; nowMs: number }, never>(
  `UPDATE entries SET also_shown = :shared, acknowledged_at_ms = NULL, updated_at_ms = :nowMs
   WHERE id = :id AND state <> 'needs_review' AND also_shown IS NOT :shared`,
);

/**
 * An entry that has the same order number, code or eSIM, and which of these it is, without any
 * code.
 */
export interface Collision {
  readonly other: { readonly id: number; readonly reference: string; readonly state: string };
  readonly what: string;
}

/**
 * The first entry that already has what this answer shows; null: none has. Called inside the
 * transaction.
 */
export function collisionOf(
  outbox: Outbox,
  row: EntryRow,
  { answer, row: outcome }: Settlement,
): Collision | null {
  const { database } = outbox;
  const { id, operation } = row;
  if (answer === null || outcome !== 'accepted' || !deliversUnits(operation)) return null;
  const { orderNumber } = answer;
  const same =
    orderNumber === null ? undefined : selectByNumber(database).get({ orderNumber, operation, id });
  if (same !== undefined) return { other: same, what: `the order number ${orderNumber}` };
  for (const unit of answer.units) {
    const esim = unit.iccid === undefined ? undefined : findEntryOfEsim(database).get(unit.iccid);
    if (esim !== undefined && esim.id !== id)
      return { other: esim, what: `the eSIM ${unit.iccid}` };
    const ending = endingOf(unit);
    const others = ending === null ? [] : selectByEnding(database).all({ ending, id });
    const other = others.find((it) =>
      outbox.units.known(it).some((known) => isSameCode(known, unit)),
    );
    if (other !== undefined) return { other, what: 'a code' };
  }
  return null;
}

const plain = (text = ''): string => text.toUpperCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');
/** Gift cards may share a number, if each has a pin of its own. */
const isSameCode = (one: Unit, other: Unit): boolean =>
  plain(one.code) === plain(other.code) && plain(one.pin) === plain(other.pin);

/**
 * The settlement of an entry whose answer shows what another one has: a person decides whose it is.
 */
export function reviewOfCollision(settlement: Settlement, { other, what }: Collision): Settlement {
  const reason = `${what} is also that of ${other.reference}: one of them has the other's, so it is not delivered`;
  const reviewReason = [settlement.reviewReason ?? [], reason].flat().join('; ');
  return { ...settlement, state: 'needs_review', reviewReason };
}
