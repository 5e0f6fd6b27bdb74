import type { ResultLine } from '../../core/result/result-document.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

export interface RejectedRow {
  readonly fileId: string | null;
  readonly lineId: string | null;
  readonly product: string | null;
  readonly code: string;
  readonly field: string | null;
  readonly rule: string;
  readonly value: string | null;
}

/** The columns of `rejections` that a result shows. */
export const rejectedColumns = 'file_id AS fileId, line_id AS lineId, product, code, field, rule, value';

/** A result shows at most so many rejected lines; the outbox has all of them. */
const shownLines = 1000;

// The newest come first: a line that was sent again and again without being corrected is shown as it came last.
const selectOpen = statementOf<[string, string], RejectedRow>(`
  SELECT ${rejectedColumns} FROM rejections
  WHERE source = ? AND order_id = ? AND corrected_at_ms IS NULL AND code <> 'conflict'
  ORDER BY id DESC LIMIT ${10 * shownLines}`);

/**
 * The lines of an order that were not accepted and not corrected, each once. `accepted` are the ids of its other lines: a later
 * rejection under one of these ids does not change that line.
 */
export function readRejectedLines(
  database: Sqlite,
  { source, order_id: orderId }: { readonly source: string; readonly order_id: string },
  accepted: ReadonlySet<string>,
): readonly ResultLine[] {
  const rows = selectOpen(database).all(source, orderId);
  const lines = newestOfEach(
    rows.filter((row) => !isFlagOfOrder(row) && (hasOwnId(row) ? !accepted.has(row.lineId) : true)),
  );
  // A flag on the order as a whole is no line of it. Where nothing of the order was accepted, it is the only reason there is.
  const flags = lines.length === 0 && accepted.size === 0 ? rows.filter(isFlagOfOrder) : [];
  return [...lines, ...flags].slice(0, shownLines).map(rejectedLine);
}

/** A line of a shop's order whose id cannot be read is a line all the same. */
const isFlagOfOrder = (row: RejectedRow): boolean =>
  row.fileId === null && row.lineId === null && row.code !== 'unreadable_line';

/** A line without an id, or with that of another line, is told apart only by what is wrong with it. */
const hasOwnId = (row: RejectedRow): row is RejectedRow & { lineId: string } =>
  row.lineId !== null && row.code !== 'duplicate_line';

/** Each line once, the oldest first: of lines that look the same, those of the file that came last. */
function newestOfEach(rows: readonly RejectedRow[]): readonly RejectedRow[] {
  const files = new Map<string, string | null>();
  const seen = new Set<string>();
  const kept = rows.filter((row) => {
    if (hasOwnId(row)) {
      if (seen.has(row.lineId)) return false;
      seen.add(row.lineId);
      return true;
    }
    const { lineId, product, code, field, rule, value } = row;
    const key = JSON.stringify([lineId, product, code, field, rule, value]);
    if (!files.has(key)) files.set(key, row.fileId);
    return files.get(key) === row.fileId;
  });
  return kept.toReversed();
}

export function rejectedLine(row: RejectedRow): ResultLine {
  const product = hasOwnId(row) || row.product === null ? '' : `${row.product}: `;
  const value = row.value === null ? '' : `, got ${row.value}`;
  return {
    line_id: row.lineId,
    state: 'rejected',
    entries: [],
    error: {
      code: row.code,
      message: `${product}${row.field ?? 'line'}: ${row.rule}${value}`,
      action: 'Correct the line and send it again; nothing was sent for it.',
    },
  };
}
