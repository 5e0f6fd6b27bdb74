import type { SkuMap } from '../../core/order/sku-map.ts';
import type { RowRule } from './row-rules.ts';

/**
 * The columns of a CSV order file that the worker reads; all others are carried through to the
 * result.
 */
export const csvColumns = [
  'order_id',
  'line_id',
  'type',
  'variant',
  'plan',
  'sku',
  'iccid',
  'quantity',
  'days',
  'currency',
  'max_cost',
  'source',
  'not_after',
] as const;
export type CsvColumn = (typeof csvColumns)[number];

/** The form in which names of columns are compared. */
export const plainName = (name: string): string =>
  name.toLowerCase().replace(/[\s_-]+/g, '') || name;

/**
 * The shop's names for these columns; a file must have each. `null`: its files do not have the
 * column.
 */
export type ColumnMapping = Readonly<Partial<Record<CsvColumn, string | null>>>;

/**
 * Which rows are bought, by the configuration: the texts of a column, or null where it says nothing
 * about payment.
 */
export type Only = Readonly<Record<string, readonly string[] | null>>;

/** How the exports of a shop are read. */
export interface CsvFormat {
  /** The names that each column may have, the best one first; null: another column has our name. */
  readonly columns: Readonly<Partial<Record<CsvColumn, readonly string[] | null>>>;
  readonly rules: readonly RowRule[];
  /** Columns that only the first row of an order has. */
  readonly inherited: readonly string[];
  /**
   * A row has no id of its own: it is known by its SKU within its order, and several with one SKU
   * by their number.
   */
  readonly lineIdIsSku: boolean;
}

/** Limits on everything in a document that can grow. */
export const defaultParseLimits = {
  /** Bytes of a CSV or NDJSON document, which is read as a stream. */
  documentBytes: 67_108_864,
  /** Bytes of a JSON document, which is held in memory as a whole. */
  jsonBytes: 8_388_608,
  rows: 50_000,
  rowBytes: 65_536,
  /** Bytes of one line of an NDJSON document: a whole order with up to 1,000 lines. */
  orderBytes: 1_048_576,
  /** Levels of nested objects and arrays. */
  depth: 16,
};
export type ParseLimits = Readonly<typeof defaultParseLimits>;

export type OrderFormat = 'json' | 'ndjson' | 'csv';

export interface ParseOptions {
  /** The source of orders that name none. */
  readonly source: string;
  /** The sources that the column `source` may name; the first is that of orders that name none. */
  readonly sources: readonly string[];
  /** The balance to charge for orders that name none; null: each must name one. */
  readonly currency: string | null;
  readonly limits: ParseLimits;
  readonly columns: ColumnMapping;
  readonly format: CsvFormat;
  /**
   * `ignore`: a row with a SKU that the map lacks is about other goods, unless the map has one that
   * is near.
   */
  readonly unmatched: 'review' | 'ignore';
  readonly allowMangledIds: boolean;
  /** null: a column `sku` is carried through, and a `sku` in JSON is a mistake. */
  readonly skus: SkuMap | null;
}
