import { type OrderHead, orderLimits } from '../../core/order/order-request.ts';
import { isWithoutFormula } from '../../core/result/csv-result.ts';
import { normalSku, type SkuMap } from '../../core/order/sku-map.ts';
import { mangledAs, withoutTextMark } from '../../core/order/spreadsheet.ts';
import { addSku, mangledRule } from './add-sku.ts';
import {
  addProblemsOfLine,
  type Checked,
  type CheckedLine,
  checkHead,
  checkLine,
  identityOf,
  type LineIdentity,
  placeholderHead,
  type Problem,
  rejectionOf,
  shownValue,
} from './check-line.ts';
import { completeLine, onlyLineId } from './complete-line.ts';
import { productColumns } from './csv-columns.ts';
import { type CsvRow, isWholeRow } from './csv-rows.ts';
import { judgeRow } from './row-rules.ts';
import type { CsvColumn, ParseOptions } from './settings.ts';

/** Orders of a CSV document that `parseOrders` needs to know about. */
export interface CountedOrders {
  /** With more lines than an order may have. */
  readonly oversized: ReadonlySet<string>;
  /** With several rows, of which at least one has no line id. */
  readonly severalRows: ReadonlySet<string>;
  /** The columns in which a row has an id of digits only. */
  readonly numericIds: ReadonlySet<IdColumn>;
}

export const idColumns = ['order_id', 'line_id'] as const;
export type IdColumn = (typeof idColumns)[number];

/**
 * Rows with the same key are lines of one order, also where only some of them name the source that
 * the others have.
 */
export function orderKeyOf(row: CsvRow, defaultSource: string): string {
  return `${cellOf(row, 'source') ?? defaultSource}\u0000${cellOf(row, 'order_id') ?? ''}`;
}

const sameIdRule =
  '. Such a change can give other orders the same id; if this is the id in the shop, set intake.folders[].allow_mangled_ids';

const headColumns = ['source', 'order_id', 'currency', 'not_after'] as const;
const textColumns = ['line_id', 'type', 'variant', 'plan', 'iccid', 'max_cost'] as const;
/** `skipped`: it is not paid. */
export type CheckedRow =
  | CheckedLine
  | { readonly kind: 'skipped'; readonly orderId: string; readonly lineNumber: number };

/**
 * Checks the rows of one document; the fields of an order are checked again only when they change.
 */
export class RowChecker {
  readonly #options: ParseOptions;
  readonly #counted: CountedOrders;
  #before: { readonly key: string; readonly cells: readonly string[] } | null = null;
  /** How many rows of each order have had each SKU. */
  readonly #sameSku = new Map<string, number>();
  #head: { readonly key: string; readonly checked: Checked<OrderHead> } | null = null;

  constructor(options: ParseOptions, counted: CountedOrders) {
    this.#options = options;
    this.#counted = counted;
  }

  check(given: CsvRow): CheckedRow {
    const orderKey = orderKeyOf(given, this.#options.source);
    const row = this.#filled(given, orderKey);
    const { header, cells, lineNumber } = row;
    const { oversized, severalRows } = this.#counted;
    const lineId = this.#lineIdOf(row, orderKey);
    // Then the row needs a line id.
    const isOneOfSeveral = severalRows.has(orderKey);
    const rejected = (problems: readonly Problem[]): CheckedLine =>
      rejectionOf(
        this.#identityOf(row, lineId ?? (isOneOfSeveral ? undefined : onlyLineId)),
        problems,
      );
    const whole = noRowOfAnOrder(row);
    if (whole !== null) return rejected([whole]);
    const judged = judgeRow(header.rules, cells);
    if (judged === 'skipped' || this.#isOther(row))
      return { kind: 'skipped', orderId: cellOf(row, 'order_id') ?? '', lineNumber };
    const mangled = this.#mangledIds(row);
    if (oversized.has(orderKey)) {
      const rule = `belongs to an order with more than ${orderLimits.linesPerRequest} lines: split the order`;
      const value = shownValue(cellOf(row, 'order_id'));
      return rejected([
        ...mangled,
        { code: 'too_many_lines', field: header.nameOf(['order_id']), rule, value },
      ]);
    }
    const head = this.#headOf(row);
    const problems: Problem[] = head.ok ? mangled : [...mangled, ...head.problems];
    if (judged !== 'bought') problems.unshift(judged);
    const source = cellOf(row, 'source');
    if (source !== undefined && !this.#options.sources.includes(source)) {
      const rule = 'is none of intake.folders[].source';
      problems.push({
        code: 'unknown_source',
        field: header.nameOf(['source']),
        rule,
        value: shownValue(source),
      });
    }
    addUnnamedCells(row, problems);
    addEscapedIds(row, problems);
    const line = lineOf(row, { lineId, isOneOfSeveral }, this.#options.skus, problems);
    const joinedHead = head.ok ? head.value : placeholderHead(filledCells(row, headColumns));
    const checked = checkLine(joinedHead, line, header.nameOf, this.#options);
    if (checked.ok && problems.length === 0)
      return { kind: 'line', line: { ...checked.value, lineNumber } };
    addProblemsOfLine(problems, checked, header.nameOf);
    return rejected(problems);
  }

  /** The row, with what only the first row of its order has. */
  #filled(row: CsvRow, key: string): CsvRow {
    const { header, cells } = row;
    const inherited = [...header.inherited, ...header.rules.map(({ index }) => index)];
    if (inherited.length === 0) return row;
    const before = this.#before?.key === key ? this.#before.cells : [];
    const filled = cells.map((cell, index) =>
      cell.trim() === '' && inherited.includes(index) ? (before[index] ?? '') : cell,
    );
    this.#before = { key, cells: filled };
    return { ...row, cells: filled };
  }

  #lineIdOf(row: CsvRow, orderKey: string): string | undefined {
    const own = cellOf(row, 'line_id');
    if (row.header.known.has('line_id') || !this.#options.format.lineIdIsSku) return own;
    const sku = normalSku(cellOf(row, 'sku') ?? '');
    if (sku === '') return undefined;
    const key = `${orderKey}\u0000${sku}`;
    const count = (this.#sameSku.get(key) ?? 0) + 1;
    this.#sameSku.set(key, count);
    return count === 1 ? sku : `${sku} ${count}`;
  }

  /** It is about other goods. */
  #isOther(row: CsvRow): boolean {
    const { skus, unmatched } = this.#options;
    const sku = cellOf(row, 'sku');
    if (unmatched === 'review' || skus === null || sku === undefined) return false;
    return !skus.has(sku) && skus.whyOurs(sku, []) === null;
  }

  /**
   * Different ids may have become the same one: the second order would get the code of the first.
   */
  #mangledIds(row: CsvRow): Problem[] {
    const isIdRead = this.#options.allowMangledIds;
    return ([...idColumns, 'variant', 'plan'] as const).flatMap((column) => {
      const cell = cellOf(row, column) ?? '';
      const as = mangledAs(cell);
      const isId = column === 'order_id' || column === 'line_id';
      if (
        as === null ||
        (isId && (isIdRead || (as === 'date' && !this.#counted.numericIds.has(column))))
      )
        return [];
      const [field, rule] = [row.header.nameOf([column]), mangledRule + (isId ? sameIdRule : '')];
      return [{ code: 'id_mangled', field, rule, value: shownValue(cell) }];
    });
  }

  /**
   * The currency belongs to the order: a cancel must name none, but shops fill the column in every
   * row.
   */
  #headOf(row: CsvRow): Checked<OrderHead> {
    const key = headColumns.map((column) => cellOf(row, column) ?? '').join('\u0000');
    if (this.#head?.key !== key) {
      this.#head = { key, checked: checkHead(filledCells(row, headColumns), row.header.nameOf) };
    }
    return this.#head.checked;
  }

  #identityOf(row: CsvRow, lineId: string | undefined): LineIdentity {
    const { source: defaultSource, sources, skus } = this.#options;
    const source = cellOf(row, 'source');
    const sku = skus?.get(cellOf(row, 'sku') ?? '');
    const ofSku = sku === undefined ? undefined : 'variant' in sku ? sku.variant : sku.plan;
    const mangled = this.#mangledIds(row).map(({ field }) => field);
    const idOf = (column: IdColumn) =>
      mangled.includes(row.header.nameOf([column])) ? '' : cellOf(row, column);
    const read = {
      source: source === undefined || sources.includes(source) ? source : '',
      orderId: isTotals(row) ? '' : idOf('order_id'),
      lineId: mangled.includes(row.header.nameOf(['line_id'])) ? '' : lineId,
      product: cellOf(row, 'variant') ?? cellOf(row, 'plan') ?? ofSku ?? cellOf(row, 'iccid'),
    };
    return identityOf(read, row.lineNumber, defaultSource);
  }
}

/** What is wrong with a row that cannot be read as one of an order; null: nothing. */
function noRowOfAnOrder(row: CsvRow): Problem | null {
  const { cells, header } = row;
  if (!isWholeRow(row)) {
    const rule = `has ${cells.length} cells, but the header has ${header.width}`;
    return { code: 'wrong_cell_count', field: null, rule, value: null };
  }
  if (!isTotals(row) || cellOf(row, 'line_id') !== undefined) return null;
  const rule = 'looks like a row of totals: it names no product, and its id has no digit';
  return { code: 'totals_row', field: null, rule, value: shownValue(cells.join(header.delimiter)) };
}

/**
 * The last row of a table may have its totals, with a word in the place of the id: that is no
 * order.
 */
function isTotals(row: CsvRow): boolean {
  const namesNothing = ([...productColumns, 'type'] as const).every(
    (column) => cellOf(row, column) === undefined,
  );
  return namesNothing && !/\d/.test(cellOf(row, 'order_id') ?? '');
}

/** The text of a cell; undefined when the cell is empty or there is no such column. */
export function cellOf(row: CsvRow, column: CsvColumn): string | undefined {
  const index = row.header.known.get(column);
  const cell = index === undefined ? '' : withoutTextMark(row.cells[index] ?? '');
  return cell === '' ? undefined : cell;
}

function filledCells(row: CsvRow, columns: readonly CsvColumn[]): Record<string, unknown> {
  const cells = columns.map((column) => [column, cellOf(row, column)] as const);
  return Object.fromEntries(cells.filter(([, cell]) => cell !== undefined));
}

function addUnnamedCells(row: CsvRow, problems: Problem[]): void {
  for (const index of row.header.unnamed) {
    const cell = row.cells[index] ?? '';
    if (cell.trim() === '') continue;
    const rule = `is in column ${index + 1}, which has no name`;
    problems.push({ code: 'cell_without_column', field: null, rule, value: shownValue(cell) });
  }
}

/** A row of a CSV result that is sent again would be another order, and bought again. */
function addEscapedIds(row: CsvRow, problems: Problem[]): void {
  for (const column of idColumns) {
    const cell = cellOf(row, column);
    if (cell === undefined || !isWithoutFormula(cell)) continue;
    const rule = 'has an apostrophe before a formula, as in a CSV result: remove the apostrophe';
    problems.push({
      code: 'escaped_id',
      field: row.header.nameOf([column]),
      rule,
      value: shownValue(cell),
    });
  }
}

function lineOf(
  row: CsvRow,
  { lineId, isOneOfSeveral }: { lineId: string | undefined; isOneOfSeveral: boolean },
  skus: SkuMap | null,
  problems: Problem[],
): Record<string, unknown> {
  const { header, cells } = row;
  const { nameOf } = header;
  const line = filledCells(row, textColumns);
  if (lineId !== undefined) line['line_id'] = lineId;
  for (const column of ['quantity', 'days'] as const) {
    const cell = cellOf(row, column);
    if (cell === undefined) continue;
    const isNumber = /^(?:0|[1-9]\d{0,8})$/.test(cell);
    line[column] = isNumber ? Number(cell) : cell;
    if (!isNumber) {
      const rule = 'must be a whole number, written in digits only';
      problems.push({
        code: 'invalid_field',
        field: nameOf([column]),
        rule,
        value: shownValue(cell),
      });
    }
  }
  const extra = header.extra
    .map(({ name, index }) => [name, cells[index] ?? ''] as const)
    .filter(([, cell]) => cell !== '');
  if (extra.length > 0) line['extra'] = Object.fromEntries(extra);
  const named = cellOf(row, 'sku');
  // An empty cell in a column of quantities is a mistake: the quantity would be a guess.
  const hasQuantities = header.known.has('quantity');
  const otherwise = hasQuantities ? undefined : 1;
  if (named !== undefined && skus !== null)
    addSku(line, named, { nameOf, skus, otherwise }, problems);
  const products =
    named === undefined ? ['variant', 'plan', ...(skus === null ? [] : ['sku'])] : [];
  completeLine(line, { isOneOfSeveral, hasQuantities, products, nameOf }, problems);
  return line;
}
