/** A limit on everything that a document can make grow. */
export interface ParseLimits {
  /** Bytes of a CSV or NDJSON document, which are read as a stream. */
  readonly documentBytes: number;
  /** Bytes of a whole JSON document, which has to be held in memory. */
  readonly jsonBytes: number;
  /** Order lines in one document. */
  readonly rows: number;
  /** Bytes of one row of a CSV document. */
  readonly rowBytes: number;
  /** Bytes of one line of an NDJSON document: a whole order with up to 1,000 lines. */
  readonly orderBytes: number;
  /** Objects and arrays within each other. */
  readonly depth: number;
}

export const defaultParseLimits: ParseLimits = {
  documentBytes: 64 * 1024 * 1024,
  jsonBytes: 8 * 1024 * 1024,
  rows: 50_000,
  rowBytes: 64 * 1024,
  orderBytes: 1024 * 1024,
  depth: 16,
};
