import type { DueCsvFile } from '../store/results/csv-files.ts';
import { stringify } from 'csv-stringify/sync';
import { csvResultCells, csvResultColumns, isCsvResultColumn, withoutFormula } from '../core/result/csv-result.ts';
import type { ResultLine } from '../core/result/result-document.ts';

/** A CSV order file as it came. */
export interface OriginalCsv {
  /** Whether it begins with a byte order mark. */
  readonly hasMark: boolean;
  readonly lineEnd: string;
  /** All of its records, in their order. To read them to the end fails when they are not those that were taken in. */
  readonly records: AsyncIterable<readonly OriginalRecord[]>;
}

interface OriginalRecord {
  readonly cells: readonly string[];
  /** The line of text on which it begins. */
  readonly lineNumber: number;
  readonly isBlank: boolean;
}

/**
 * Reads a file again.
 * @throws OrderSyncError NOT_FOUND when it is not kept any more; REFUSED when it is another file now
 */
export type ReadOriginal = (file: DueCsvFile, use: (csv: OriginalCsv) => Promise<void>) => Promise<void>;

type Results = (fromRow: number, toRow: number) => Promise<ReadonlyMap<number, ResultLine>>;

/** A program for spreadsheets writes `sep=;` as the first line, which names the separator. */
const isSeparatorLine = ({ cells, lineNumber }: OriginalRecord): boolean =>
  lineNumber === 1 && cells.length === 2 && cells[1] === '' && cells[0]?.toLowerCase() === 'sep=';

/** So many rows are looked up and written in one step. */
const rowsAtOnce = 100;

/** Yields the text of a CSV result: the records of the order file, each row with the cells of its result. */
export async function* csvTexts(csv: OriginalCsv, delimiter: string, results: Results): AsyncGenerator<string> {
  const render = (rows: readonly (readonly string[])[]): string =>
    stringify(
      rows.map((row) => [...row]),
      // Also a carriage return alone ends a line for some readers.
      { delimiter, record_delimiter: csv.lineEnd, quoted_match: /[\r\n]/ },
    );
  let width: number | null = null;
  let kept: readonly number[] = [];
  if (csv.hasMark) yield '\uFEFF';
  for await (const batch of csv.records) {
    for (let start = 0; start < batch.length; start += rowsAtOnce) {
      const records = batch.slice(start, start + rowsAtOnce);
      const found = await results(records[0]?.lineNumber ?? 0, records.at(-1)?.lineNumber ?? 0);
      const rows = records.map((record): readonly string[] => {
        const isAlone = width === null && (record.isBlank || isSeparatorLine(record));
        // A line without any cell stays one.
        if (isAlone || (record.isBlank && record.cells.length < 2)) return record.cells;
        if (width === null) {
          width = record.cells.length;
          kept = [...record.cells.keys()].filter((index) => !isCsvResultColumn(record.cells[index] ?? ''));
          return [...kept.map((index) => withoutFormula(record.cells[index] ?? '')), ...csvResultColumns];
        }
        return rowOf(record, found.get(record.lineNumber), kept, width);
      });
      yield render(rows);
    }
  }
}

/** A row with too few or too many cells keeps them, and its result stands under the right columns if it can. */
function rowOf(
  { cells }: OriginalRecord,
  line: ResultLine | undefined,
  kept: readonly number[],
  width: number,
): readonly string[] {
  const own = kept.map((index) => withoutFormula(cells[index] ?? ''));
  const result = line === undefined ? csvResultColumns.map(() => '') : csvResultCells(line);
  return [...own, ...result, ...cells.slice(width).map(withoutFormula)];
}
