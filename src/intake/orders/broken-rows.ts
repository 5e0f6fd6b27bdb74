import type { CheckedRow } from './check-row.ts';
import { type CheckedLine, rejectionOf, shownValue, unidentified } from './check-line.ts';
import { cellOf } from './check-row.ts';
import type { CsvHeader } from './csv-columns.ts';
import { type CsvRow, hasLineBreak } from './csv-rows.ts';

const idOf = (row: CsvRow): string => cellOf(row, 'order_id') ?? '';

/** Whether an id may be of the same shop as another one: a customer's text mostly has no digit, or has spaces. */
const isIdLike = (id: string, other: string): boolean =>
  (/\d/.test(id) || !/\d/.test(other)) && (!/\s/.test(id) || /\s/.test(other));

/** Rejects rows that a line break without quotes, or a stray quote, has made of others: their cells are not their own. */
export class BrokenRows {
  /** Of the last accepted row. */
  #id: string | null = null;
  /** The line of a rejected row, as long as the next rows may be its rest. */
  #brokenLine: number | null = null;

  check(checked: CheckedRow, row: CsvRow): CheckedRow {
    const id = idOf(row);
    this.#id ??= id;
    if (checked.kind === 'rejection') {
      this.#brokenLine ??= row.lineNumber;
      return checked;
    }
    const { cells, header } = row;
    const rejected = (code: string, rule: string): CheckedLine => {
      return rejectionOf(unidentified(row.lineNumber), [{ code, field: null, rule, value: shownValue(id) }]);
    };
    if (this.#brokenLine !== null && !isIdLike(id, this.#id)) {
      const rule = `seems to be the rest of the row on line ${this.#brokenLine}: put cells with line breaks in quotes`;
      return rejected('rest_of_row', rule);
    }
    this.#brokenLine = null;
    this.#id = id;
    // A spreadsheet writes ="1" for a text. Of a SKU, the map says whether it is right.
    const hasQuote = cells.some(
      (cell, at) =>
        cell.includes('"') && !/^="[^"]*"$/.test(cell) && at !== header.known.get('sku') && isKnown(header, at),
    );
    if (hasQuote) return rejected('misplaced_quote', 'has a quote within a cell: put the whole cell in quotes');
    if (!hasSwallowedRow(row)) return checked;
    return rejected('suspicious_quote', 'has a cell that seems to contain the next rows: look for a stray quote');
  }
}

const isKnown = ({ known }: CsvHeader, at: number): boolean => [...known.values()].includes(at);

/** Between two stray quotes is one cell. It begins with the end of a row, and ends with the begin of another, with its id. */
function hasSwallowedRow(row: CsvRow): boolean {
  const { cells, header } = row;
  return cells.some((cell, index) => {
    if (!hasLineBreak(cell)) return false;
    const lines = cell.split(/[\r\n]+/).map((line) => line.split(header.delimiter));
    const [first = [], last = []] = [lines[0], lines.at(-1)];
    const one = [...cells.slice(0, index), ...first];
    const other = [...last, ...cells.slice(index + 1)];
    if (one.length !== header.width || other.length !== header.width) return false;
    return isIdLike(idOf({ ...row, cells: other }), idOf({ ...row, cells: one }));
  });
}
