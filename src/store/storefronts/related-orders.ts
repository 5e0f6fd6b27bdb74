import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { StorefrontOrder } from './storefront-order.ts';

const insertMarks = statementOf<[source: string, orderId: string, marks: string], never>(
  'INSERT INTO storefront_marks (source, order_id, kind, value) SELECT ?, ?, value ->> 0, value ->> 1 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING',
);
/** Why a new line looks like one of another order: see the view. */
export const selectRelated = statementOf<
  [source: string, orderId: string, lineId: string],
  Readonly<Record<'otherId' | 'why' | 'whyOther', string>>
>(
  'SELECT other_id AS otherId, why, why_other AS whyOther FROM storefront_related WHERE source = ? AND order_id = ? AND line_id = ? LIMIT 1',
);

/** Only of orders with lines of ours, also of those that wait for the SKU map. */
export function rememberMarks(database: Sqlite, { source, orderId, lines, marks = [] }: StorefrontOrder): void {
  if (lines?.some(({ isMapped, hold }) => isMapped || hold !== null))
    insertMarks(database).run(source, orderId, JSON.stringify(marks));
}
