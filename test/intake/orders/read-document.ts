import type { SkuMap } from '../../../src/core/order/sku-map.ts';
import { DocumentError } from '../../../src/intake/orders/document-error.ts';
import { type DocumentSummary, checkDocument } from '../../../src/intake/orders/check-document.ts';
import type { ParseLimits } from '../../../src/intake/orders/settings.ts';
import { parseLimits } from '../../support/intake-settings.ts';
import type { Only, OrderFormat, ParseOptions } from '../../../src/intake/orders/settings.ts';
import { readCsvFormat } from '../../../src/intake/orders/csv-formats.ts';
import { parseOrders } from '../../../src/intake/orders/parse-orders.ts';
import type { CheckedLine } from '../../../src/intake/orders/check-line.ts';

export type Line = Extract<CheckedLine, { kind: 'line' }>['line'];
export type Refused = Extract<CheckedLine, { kind: 'rejection' }>['rejection'];

/** The result of reading a document: an error, or accepted and rejected lines. */
export interface Reading {
  readonly error: DocumentError | null;
  readonly inspection: DocumentSummary | null;
  readonly lines: readonly Line[];
  readonly rejections: readonly Refused[];
  /** Rows that are not paid. */
  readonly skipped: number;
}

export interface ReadingChanges {
  readonly source?: string;
  readonly sources?: readonly string[];
  readonly currency?: string;
  readonly skus?: SkuMap;
  readonly columns?: ParseOptions['columns'];
  readonly format?: string;
  readonly only?: Only;
  readonly unmatched?: ParseOptions['unmatched'];
  readonly allowMangledIds?: boolean;
  readonly limits?: Partial<ParseLimits>;
  /** Bytes of each piece in which the document arrives. */
  readonly pieceBytes?: number;
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

/** Reads a document as the folder intake does: checks the whole document first, then its lines. */
export async function readDocument(
  content: string | Uint8Array,
  format: OrderFormat,
  changes: ReadingChanges = {},
): Promise<Reading> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const {
    source = 'folder',
    sources = [source],
    currency = null,
    skus = null,
    columns = {},
    format: formatName = 'own',
    only = {},
    unmatched = 'review',
    allowMangledIds = false,
    pieceBytes = 65_536,
  } = changes;
  const csvFormat = readCsvFormat({ format: formatName, only });
  const options = {
    source,
    sources,
    currency,
    skus,
    columns,
    format: csvFormat,
    unmatched,
    allowMangledIds,
    limits: { ...parseLimits, ...changes.limits },
  };
  const lines: Line[] = [];
  const rejections: Refused[] = [];
  let skipped = 0;
  try {
    const inspection = await checkDocument(inPieces(bytes, pieceBytes), format, options);
    for await (const items of parseOrders(
      inPieces(bytes, pieceBytes),
      format,
      options,
      inspection.counted,
    )) {
      for (const item of items) {
        if (item.kind === 'line') lines.push(item.line);
        else if (item.kind === 'rejection') rejections.push(item.rejection);
        else skipped += 1;
      }
    }
    return { error: null, inspection, lines, rejections, skipped };
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    return { error, inspection: null, lines, rejections, skipped };
  }
}
