import type { SkuMap } from '../../core/order/sku.ts';
import type { ColumnMapping, ParseLimits } from './settings.ts';

export type OrderFormat = 'json' | 'ndjson' | 'csv';

export interface ParseOptions {
  /** The source of orders that name none. */
  readonly source: string;
  /** The balance to charge for orders that name none; null: each must name one. */
  readonly currency: string | null;
  readonly limits: ParseLimits;
  /** The names of the columns in a CSV document. */
  readonly columns: ColumnMapping;
  /** The SKU map of a CSV document; null: a column `sku` is carried through. */
  readonly skus: SkuMap | null;
}

/** Orders of a CSV document, as `checkDocument` found them. */
export interface CountedOrders {
  /** With more lines than an order may have. */
  readonly oversized: ReadonlySet<string>;
  /** With several rows, of which at least one has no line id. */
  readonly severalRows: ReadonlySet<string>;
}

/** The counts of a document that is not CSV. */
export const nothingCounted: CountedOrders = { oversized: new Set(), severalRows: new Set() };
