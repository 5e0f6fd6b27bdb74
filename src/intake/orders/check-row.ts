import { type OrderHead, orderLimits } from '../../core/order/order-request.ts';
import type { CsvHeader } from './csv-columns.ts';
import { type CsvColumn, csvColumns } from './settings.ts';
import { type CsvRow, isWholeRow } from './csv-rows.ts';
import { type FieldNames, type Judged, judgeHead, judgeLine } from './check-line.ts';
import {
  type LineIdentity,
  type ParsedItem,
  type Problem,
  rejectionOf,
  identityOf,
  shownValue,
} from './checked-line.ts';

/** Whose row it is: rows with the same key are lines of one order. */
export function orderKeyOf(row: CsvRow): string {
  return `${cellOf(row, 'source') ?? ''}\u0000${cellOf(row, 'order_id') ?? ''}`;
}

/** Judges rows one by one; neighbours mostly belong to one order, so that its head is judged once. */
export function rowJudge(defaultSource: string, oversized: ReadonlySet<string>): (row: CsvRow) => ParsedItem {
  let headKey = '';
  let headJudged: Judged<OrderHead> | null = null;
  let names: { header: CsvHeader; nameOf: FieldNames } | null = null;

  return (row) => {
    const source = cellOf(row, 'source');
    const orderId = cellOf(row, 'order_id');
    const identify = (): LineIdentity =>
      identityOf({ source, orderId, lineId: cellOf(row, 'line_id') }, row.lineNumber, defaultSource);
    if (!isWholeRow(row)) {
      const rule = `has ${row.cells.length} cells where the header has ${row.header.width}`;
      return rejectionOf(identify(), [{ code: 'wrong_cell_count', field: null, rule, value: null }]);
    }
    if (oversized.size > 0 && oversized.has(orderKeyOf(row))) {
      const rule = `belongs to an order with more than ${orderLimits.linesPerRequest} lines: divide the order`;
      const field = row.header.nameOf('order_id');
      return rejectionOf(identify(), [{ code: 'too_many_lines', field, rule, value: shownValue(orderId) }]);
    }
    if (names?.header !== row.header) names = { header: row.header, nameOf: columnNames(row.header) };
    const { nameOf } = names;

    // A cancel names no balance, yet a shop fills the column in every row: it is said of the order.
    const currency = cellOf(row, 'currency');
    const notAfter = cellOf(row, 'not_after');
    const key = `${source ?? ''}\u0000${orderId ?? ''}\u0000${currency ?? ''}\u0000${notAfter ?? ''}`;
    if (headJudged === null || key !== headKey) {
      const head: Record<string, unknown> = {};
      if (source !== undefined) head['source'] = source;
      if (orderId !== undefined) head['order_id'] = orderId;
      if (currency !== undefined) head['currency'] = currency;
      if (notAfter !== undefined) head['not_after'] = notAfter;
      headKey = key;
      headJudged = judgeHead(head, nameOf);
    }
    const problems: Problem[] = headJudged.ok ? [] : [...headJudged.problems];
    for (const index of row.header.unnamed) {
      const cell = row.cells[index] ?? '';
      if (cell.trim() === '') continue;
      const rule = `stands in column ${index + 1}, which has no name`;
      problems.push({ code: 'cell_without_column', field: null, rule, value: shownValue(cell) });
    }
    const line = lineOf(row, nameOf, problems);
    const judged = judgeLine(
      headJudged.ok ? headJudged.value : { order_id: '-', currency: 'XXX' },
      line,
      nameOf,
      defaultSource,
    );
    if (!judged.ok)
      problems.push(...judged.problems.filter((problem) => !problems.some((known) => known.field === problem.field)));
    if (problems.length > 0 || !judged.ok) return rejectionOf(identify(), problems);
    return { kind: 'line', line: { ...judged.value, lineNumber: row.lineNumber } };
  };
}

/** A cell's text; undefined when the cell is empty or there is no such column. */
function cellOf(row: CsvRow, column: CsvColumn): string | undefined {
  const index = row.header.known.get(column);
  const cell = index === undefined ? undefined : row.cells[index];
  return cell === '' ? undefined : cell;
}

function lineOf(row: CsvRow, nameOf: FieldNames, problems: Problem[]): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  for (const column of ['line_id', 'type', 'variant', 'plan', 'iccid'] as const) {
    const cell = cellOf(row, column);
    if (cell !== undefined) line[column] = cell;
  }
  for (const column of ['quantity', 'days'] as const) {
    const cell = cellOf(row, column);
    if (cell === undefined) continue;
    if (/^(?:0|[1-9]\d{0,8})$/.test(cell)) {
      line[column] = Number(cell);
    } else {
      line[column] = cell;
      const rule = 'must be a whole number, written in digits alone';
      problems.push({ code: 'invalid_field', field: nameOf([column]), rule, value: shownValue(cell) });
    }
  }
  if (row.header.extra.length === 0) return line;
  const extra = row.header.extra.filter(({ index }) => (row.cells[index] ?? '') !== '');
  if (extra.length > 0)
    line['extra'] = Object.fromEntries(extra.map(({ name, index }) => [name, row.cells[index] ?? '']));
  return line;
}

function columnNames(header: CsvHeader): FieldNames {
  return (path) => {
    const column = csvColumns.find((known) => known === path[0]);
    if (column !== undefined) return header.nameOf(column);
    return String(path.at(-1) ?? '');
  };
}
