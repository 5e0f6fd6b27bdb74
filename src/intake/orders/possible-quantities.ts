import { mayMean } from './column-words.ts';
import { unclearColumn } from './csv-columns.ts';
import type { CsvRow } from './csv-rows.ts';
import { DocumentError } from './document-error.ts';
import type { ParseOptions } from './settings.ts';

interface Column {
  readonly name: string;
  readonly index: number;
  filled: number;
  areAllOne: boolean;
}

/** `2`, `2.0`, `2x`. */
const smallNumber = /^(?:x ?)?(\d{1,3})(?:[.,]0+)?(?: ?[x×])?$/i;

/** Notices the quantities of a file by their cells, where no column is named as them: small whole numbers that are not all 1. */
export class PossibleQuantities {
  readonly #isNamed: boolean;
  #columns: Column[] | null = null;
  #rows = 0;

  constructor({ columns }: Pick<ParseOptions, 'columns'>) {
    this.#isNamed = columns.quantity !== undefined;
  }

  see({ cells, header }: CsvRow): void {
    if (this.#isNamed || header.known.has('quantity')) return;
    this.#rows += 1;
    this.#columns ??= header.extra
      .filter(({ name }) => !mayMean('other_numbers', name))
      .map(({ name, index }) => ({ name, index, filled: 0, areAllOne: true }));
    if (this.#columns.length > 0) this.#columns = this.#columns.filter((column) => this.#mayBe(column, cells));
  }

  #mayBe(column: Column, cells: readonly string[]): boolean {
    const cell = cells[column.index]?.trim() ?? '';
    if (cell === '') return true;
    const number = Number(smallNumber.exec(cell)?.[1] ?? 0);
    column.filled += 1;
    column.areAllOne &&= number === 1;
    return number > 0;
  }

  /** @throws DocumentError when a column may be the quantity: by default, each row would be for one */
  check(): void {
    const found = this.#columns?.find((it) => it.filled * 2 > this.#rows && !it.areAllOne);
    if (found === undefined) return;
    const { code, message, hint } = unclearColumn('quantity', found.name);
    throw new DocumentError(code, message, { line: 1, hint });
  }
}
