import { deliversUnits } from '../../core/order/purchase.ts';
import { findShared, type Shared } from '../../store/entries/delivered-units.ts';
import { statementOf } from '../../store/sqlite/database.ts';
import type { Outbox } from '../../store/sqlite/outbox.ts';
import type { EntryRow } from '../../store/sqlite/rows.ts';
import type { Settlement } from '../decision/settlement.ts';

/**
 * An entry that was never bought, or whose answer was about another order, has no number of its own.
 * A number is compared within one family; a top-up or a cancel may show the order that its eSIM came
 * from.
 */
const selectByNumber = statementOf<
  { orderNumber: string; operation: string; id: number },
  Shared['other']
>(
  `SELECT e.id, e.reference, e.state FROM entries e INDEXED BY entries_by_order_number
   WHERE e.order_number = :orderNumber AND e.operation = :operation AND e.id <> :id
     AND e.state NOT IN ('rejected', 'expired', 'cancelled') AND e.outcome_row IS NOT 'answer_mismatch' LIMIT 1`,
);

/** Nothing is said twice. */
export const markShownTwice = statementOf<{ id: number; shared: string; nowMs: number }, never>(
  `UPDATE entries SET in_question = :shared, acknowledged_at_ms = NULL, updated_at_ms = :nowMs
   WHERE id = :id AND in_question IS NOT :shared`,
);

/**
 * The first entry that already has the order number or a unit that this answer shows; null: none
 * has. Called inside the transaction.
 */
export function collisionOf(
  outbox: Outbox,
  { id, operation }: EntryRow,
  { answer, row: outcome }: Settlement,
): Shared | null {
  if (answer === null || outcome !== 'accepted' || !deliversUnits(operation)) return null;
  const { orderNumber, units } = answer;
  const other =
    orderNumber === null
      ? undefined
      : selectByNumber(outbox.database).get({ orderNumber, operation, id });
  if (other !== undefined) return { other, what: `the order number ${orderNumber}` };
  return findShared(outbox, id, units);
}

/** Why an entry that shows what another one has needs an operator, who decides whose it is. */
export const sharedText = ({ other, what }: Shared, end = 'so it is not delivered'): string =>
  `${what} also belongs to ${other.reference}: one of the two orders shows what the other bought, ${end}`;
