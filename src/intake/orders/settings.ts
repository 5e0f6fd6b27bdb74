/** The columns of a CSV order file that the worker reads; all others are carried through to the result. */
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
  'source',
  'not_after',
] as const;
export type CsvColumn = (typeof csvColumns)[number];

/**
 * The shop's names for these columns: `{ order_id: 'Order No.' }`. A file must have every column that is named here. `null`:
 * its files do not have the column, whatever looks like it.
 */
export type ColumnMapping = Readonly<Partial<Record<CsvColumn, string | null>>>;

/** Limits on everything in a document that can grow. */
export interface ParseLimits {
  /** Bytes of a CSV or NDJSON document, which is read as a stream. */
  readonly documentBytes: number;
  /** Bytes of a JSON document, which is held in memory as a whole. */
  readonly jsonBytes: number;
  /** Order lines in one document. */
  readonly rows: number;
  /** Bytes of one row of a CSV document. */
  readonly rowBytes: number;
  /** Bytes of one line of an NDJSON document: a whole order with up to 1,000 lines. */
  readonly orderBytes: number;
  /** Levels of nested objects and arrays. */
  readonly depth: number;
}

export const defaultParseLimits: ParseLimits = {
  documentBytes: 67_108_864,
  jsonBytes: 8_388_608,
  rows: 50_000,
  rowBytes: 65_536,
  orderBytes: 1_048_576,
  depth: 16,
};
