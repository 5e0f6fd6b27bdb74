import { type OrderHead, orderLimits } from '../../core/order/order-request.ts';
import { type Checked, type FieldNames, checkHead, checkLine, standInFor } from './check-line.ts';
import {
  addProblems,
  type CheckedLine,
  type LineIdentity,
  type Problem,
  rejectionOf,
  identityOf,
  shownValue,
} from './checked-line.ts';
import type { CsvHeader } from './csv-columns.ts';
import { type CsvRow, isWholeRow } from './csv-rows.ts';
import { type CsvColumn, csvColumns } from './settings.ts';

/** Rows with the same key are lines of one order. */
export function orderKeyOf(row: CsvRow): string {
  return `${cellOf(row, 'source') ?? ''}\u0000${cellOf(row, 'order_id') ?? ''}`;
}

const headColumns = ['source', 'order_id', 'currency', 'not_after'] as const;
const textColumns = ['line_id', 'type', 'variant', 'plan', 'iccid'] as const;

/**
 * Returns a check for the rows of one document. Successive rows mostly belong to one order, so the fields of the order
 * are checked again only when they change.
 */
export function rowChecker(defaultSource: string, oversized: ReadonlySet<string>): (row: CsvRow) => CheckedLine {
  let headKey = '';
  let head: Checked<OrderHead> | null = null;
  let names: { header: CsvHeader; nameOf: FieldNames } | null = null;

  return (row) => {
    const orderId = cellOf(row, 'order_id');
    const identify = (): LineIdentity => {
      const product = cellOf(row, 'variant') ?? cellOf(row, 'plan') ?? cellOf(row, 'iccid');
      const read = { source: cellOf(row, 'source'), orderId, lineId: cellOf(row, 'line_id'), product };
      return identityOf(read, row.lineNumber, defaultSource);
    };
    if (!isWholeRow(row)) {
      const rule = `has ${row.cells.length} cells where the header has ${row.header.width}`;
      return rejectionOf(identify(), [{ code: 'wrong_cell_count', field: null, rule, value: null }]);
    }
    if (oversized.size > 0 && oversized.has(orderKeyOf(row))) {
      const rule = `belongs to an order with more than ${orderLimits.linesPerRequest} lines: split the order`;
      const field = row.header.nameOf('order_id');
      return rejectionOf(identify(), [{ code: 'too_many_lines', field, rule, value: shownValue(orderId) }]);
    }
    if (names?.header !== row.header) names = { header: row.header, nameOf: columnNames(row.header) };
    const { nameOf } = names;

    // The currency belongs to the order: a cancel must name none, but shops fill the column in every row.
    const key = headColumns.map((column) => cellOf(row, column) ?? '').join('\u0000');
    if (head === null || key !== headKey) {
      headKey = key;
      head = checkHead(filledCells(row, headColumns), nameOf);
    }
    const problems: Problem[] = head.ok ? [] : [...head.problems];
    addUnnamedCells(row, problems);
    const line = lineOf(row, nameOf, problems);
    const joinedHead = head.ok ? head.value : standInFor(filledCells(row, headColumns));
    const checked = checkLine(joinedHead, line, nameOf, { source: defaultSource });
    if (!checked.ok) addProblems(problems, checked.problems);
    if (problems.length > 0 || !checked.ok) return rejectionOf(identify(), problems);
    return { kind: 'line', line: { ...checked.value, lineNumber: row.lineNumber } };
  };
}

/** The text of a cell; undefined when the cell is empty or there is no such column. */
function cellOf(row: CsvRow, column: CsvColumn): string | undefined {
  const index = row.header.known.get(column);
  const cell = index === undefined ? undefined : row.cells[index];
  return cell === '' ? undefined : cell;
}

function filledCells(row: CsvRow, columns: readonly CsvColumn[]): Record<string, unknown> {
  const filled: Record<string, unknown> = {};
  for (const column of columns) {
    const cell = cellOf(row, column);
    if (cell !== undefined) filled[column] = cell;
  }
  return filled;
}

function addUnnamedCells(row: CsvRow, problems: Problem[]): void {
  for (const index of row.header.unnamed) {
    const cell = row.cells[index] ?? '';
    if (cell.trim() === '') continue;
    const rule = `is in column ${index + 1}, which has no name`;
    problems.push({ code: 'cell_without_column', field: null, rule, value: shownValue(cell) });
  }
}

function lineOf(row: CsvRow, nameOf: FieldNames, problems: Problem[]): Record<string, unknown> {
  const line = filledCells(row, textColumns);
  for (const column of ['quantity', 'days'] as const) {
    const cell = cellOf(row, column);
    if (cell === undefined) continue;
    if (/^(?:0|[1-9]\d{0,8})$/.test(cell)) {
      line[column] = Number(cell);
    } else {
      line[column] = cell;
      const rule = 'must be a whole number, written in digits only';
      problems.push({ code: 'invalid_field', field: nameOf([column]), rule, value: shownValue(cell) });
    }
  }
  const extra = row.header.extra.filter(({ index }) => (row.cells[index] ?? '') !== '');
  if (extra.length > 0)
    line['extra'] = Object.fromEntries(extra.map(({ name, index }) => [name, row.cells[index] ?? '']));
  return line;
}

function columnNames(header: CsvHeader): FieldNames {
  return (path) => {
    const column = csvColumns.find((known) => known === path[0]);
    return column === undefined ? String(path.at(-1) ?? '') : header.nameOf(column);
  };
}
