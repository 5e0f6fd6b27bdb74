import type { EntryState } from '../../core/entry/states.ts';
import type { ReferencedPurchase } from '../../core/order/purchase.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { purchaseColumnsOf, rulesFrom, textsFrom } from '../sqlite/rows.ts';

/** `rules` and `extra` are JSON, `isFromFile` is a boolean. */
interface LineRow extends ReferencedPurchase {
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  readonly state: EntryState;
  readonly rules: string;
  readonly extra: string;
  readonly isFromFile: number;
}

/** A line of a shop's order whose SKU was not in the map. */
export interface FlaggedSku {
  readonly id: string;
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  /** The order as it was read, with such lines only; null: its newest state is not paid, or asks for nothing unmapped. */
  readonly keptOrder: string | null;
  /** How many of each line the customer keeps in that state, by line id, as JSON; null: that was not read. */
  readonly linesLeft: string | null;
}

const selectLine = statementOf<[string], LineRow>(
  `SELECT ${purchaseColumnsOf('e')}, e.reference, r.source, r.order_id AS orderId, l.line_id AS lineId, e.state, e.rules,
     l.extra, l.file_id IS NOT NULL AS isFromFile
   FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id WHERE e.reference = ?`,
);
// With any other status, nobody knows whether the order is paid.
const selectFlag = statementOf<[number], FlaggedSku>(
  `SELECT 'line:' || j.id AS id, j.source, j.order_id AS orderId, j.line_id AS lineId, o.kept_order AS keptOrder,
     o.lines_left AS linesLeft
   FROM rejections j LEFT JOIN storefront_orders o ON o.state = 'paid' AND o.awaits_read_back = 0 AND o.source = j.source AND o.order_id = j.order_id
   WHERE j.id = ? AND j.code = 'unknown_sku' AND j.file_id IS NULL AND j.line_number IS NULL
     AND j.line_id IS NOT NULL AND j.corrected_at_ms IS NULL AND j.taken_back = 0`,
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
    isFromFile: row.isFromFile === 1,
  };
}

/** @param id names a row of the attention list; null: it is no open flag for a SKU of a shop's order */
export function readFlaggedSku(database: Sqlite, id: string): FlaggedSku | null {
  const [, number] = /^line:(\d{1,15})$/.exec(id) ?? [];
  return number === undefined ? null : (selectFlag(database).get(Number(number)) ?? null);
}
