import type { EntryState } from '../../core/entry/states.ts';
import type { ReferencedPurchase } from '../../core/order/purchase.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { purchaseColumnsOf, rulesFrom, textsFrom } from '../sqlite/rows.ts';

/** `rules` and `extra` are JSON. */
interface LineRow extends ReferencedPurchase {
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  readonly state: EntryState;
  readonly rules: string;
  readonly extra: string;
  /** The name of the watched folder that it came from; null: it came another way. */
  readonly folder: string | null;
}

const selectLine = statementOf<[string], LineRow>(
  `SELECT ${purchaseColumnsOf('e')}, e.reference, r.source, r.order_id AS orderId, l.line_id AS lineId, e.state, e.rules,
     l.extra, f.folder
   FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
   LEFT JOIN files f ON f.id = l.file_id WHERE e.reference = ?`,
);
/** The line of an entry that a corrected SKU map may order anew. */
export type MappedLine = NonNullable<ReturnType<typeof readMappedLine>>;

export function readMappedLine(database: Sqlite, reference: string) {
  const row = selectLine(database).get(reference);
  if (row === undefined) return null;
  const { extra, ...line } = row;
  const { sku: name, shop_quantity: quantity } = textsFrom(extra);
  return {
    ...line,
    rules: rulesFrom(row.rules),
    /** The shop's SKU and the ordered quantity; null: it was not ordered by a SKU. */
    sku: name === undefined || quantity === undefined ? null : { name, quantity: Number(quantity) },
  };
}
