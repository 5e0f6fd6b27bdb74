import { RowChecker } from './check-row.ts';
import { type CsvHeader, type HeaderMistake, mistakenHeader } from './csv-columns.ts';
import type { CsvRow } from './csv-rows.ts';
import type { DocumentError, DocumentMistake } from './document-error.ts';
import { nothingCounted, type ParseOptions } from './parse-options.ts';

/** Nobody reads more mistakes than this. */
const shownMistakes = 100;

/**
 * Collects the mistakes of a CSV document whose header has some. Nothing of it is bought; its rows are checked with the
 * columns that were probably meant, so that its sender corrects everything at once.
 */
export class MistakenDocument {
  readonly #options: ParseOptions;
  readonly #found: DocumentMistake[] = [];
  #inHeader: readonly HeaderMistake[] = [];
  #checker: RowChecker | null = null;
  #count = 0;

  constructor(options: ParseOptions) {
    this.#options = options;
  }

  begin({ mistakes }: CsvHeader): void {
    this.#inHeader = mistakes;
    // Without a column that every row needs, each row would only repeat what the header lacks.
    const isReadable = mistakes.every(({ code }) => code !== 'missing_column');
    if (mistakes.length > 0 && isReadable) this.#checker = new RowChecker(this.#options, nothingCounted);
  }

  /** Does nothing where the header is correct. */
  check(row: CsvRow): void {
    const checked = this.#checker?.check(row);
    if (checked?.kind !== 'rejection') return;
    for (const { code, field, rule } of checked.problems) {
      this.#add({ line: row.lineNumber, code, message: `Line ${row.lineNumber}: ${field ?? 'the row'} ${rule}.` });
    }
  }

  /**
   * Null where the header is correct.
   * @param damage why the rest of the document could not be read; null: it was read to its end
   */
  rejection(damage: DocumentError | null): DocumentError | null {
    if (this.#inHeader.length === 0) return null;
    if (damage !== null) this.#add({ line: damage.line, code: damage.documentCode, message: damage.message });
    const told = this.#inHeader.slice(0, shownMistakes);
    const more = this.#found.slice(0, shownMistakes - told.length);
    return mistakenHeader(told, more, this.#inHeader.length + this.#count);
  }

  #add(mistake: DocumentMistake): void {
    this.#count += 1;
    if (this.#found.length < shownMistakes) this.#found.push(mistake);
  }
}
