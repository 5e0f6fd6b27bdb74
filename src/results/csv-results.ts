import { stringify } from 'csv-stringify/sync';
import type { Clock } from '../core/clock.ts';
import { hasCode } from '../core/order-sync-error.ts';
import { csvResultName } from '../core/order/order-file-names.ts';
import {
  csvResultCells,
  csvResultColumns,
  isCsvResultColumn,
  type OriginalCsv,
  type OriginalRecord,
  withoutFormula,
} from '../core/result/csv-result.ts';
import { DeliveryError, failureOf } from '../core/result/delivery-error.ts';
import type { ResultLine } from '../core/result/result-document.ts';
import type { DueCsvFile } from '../store/results/csv-files.ts';
import { csvSinkName } from '../store/results/due-results.ts';
import type { Store } from '../store/store.ts';
import { type FileSink, type Postponed, retryDelayMs } from './delivery-loop.ts';
import type { ResultFolder } from './result-folder.ts';

/**
 * @throws OrderSyncError NOT_FOUND when the file is not kept any more; NOT_ALLOWED when it is another
 * file now
 */
export type ReadOriginal = (
  file: DueCsvFile,
  use: (csv: OriginalCsv) => Promise<void>,
) => Promise<void>;

interface CsvSinkDeps {
  readonly store: Pick<Store, 'results'>;
  readonly clock: Clock;
  readonly folder: ResultFolder;
  readonly readOriginal: ReadOriginal;
}

/** Beside the folders of the sources. */
export const csvResultFolder = 'files';

/**
 * A file is moved to the archive after its rows are in the outbox: until then it is not found
 * there. It is looked for again after these times, in ms.
 */
const looksAgainMs = [500, 2000, 4000];
/** A large file must not delay orders: of the time, at most a quarter is spent on it. */
const pausePerWork = 3;

/**
 * Writes each CSV order file back as CSV, into `<results>/files/`: its rows as they came, with the
 * result of each. A file is written when the worker has nothing more to do for any of its rows, and
 * again when a result changes.
 */
export class CsvSink implements FileSink {
  readonly name = csvSinkName;
  /** An unwritten file stays due. */
  readonly stopGraceMs = 0;
  readonly #deps: CsvSinkDeps;

  constructor(deps: CsvSinkDeps) {
    this.#deps = deps;
  }

  async deliverFile(due: DueCsvFile, signal: AbortSignal): Promise<void | Postponed> {
    const { store, folder, readOriginal } = this.#deps;
    const { csvFiles } = store.results;
    if ((await csvFiles.openRow(due.requestId)) !== null)
      return { waitMs: null, why: 'the CSV result waits for the results of its rows' };
    const write = async (csv: OriginalCsv): Promise<void> =>
      await folder.replace(csvResultFolder, csvResultName(due.fileId, due.name), async (draft) => {
        const texts = csvTexts(csv, due.delimiter, (from, to) =>
          csvFiles.results(due.requestId, from, to),
        );
        for (;;) {
          signal.throwIfAborted();
          const { value, done } = await this.#paced(() => texts.next(), signal);
          if (done === true) return;
          await draft.writeFile(value, 'utf8');
        }
      });
    for (const waitMs of [...looksAgainMs, null]) {
      try {
        return await readOriginal(due, write);
      } catch (error) {
        const isAbsent = hasCode(error, 'NOT_FOUND');
        if (!isAbsent && !hasCode(error, 'NOT_ALLOWED')) throw error;
        if (!isAbsent || waitMs === null)
          throw new DeliveryError(error.message, {
            reason: error.code,
            refusesResult: true,
            cause: error,
          });
        await this.#deps.clock.sleep(waitMs, signal);
        signal.throwIfAborted();
      }
    }
  }

  retryDelayMs(failures: number, error: unknown): number | null {
    const { reason } = failureOf(error);
    const isLost = reason === 'NOT_ALLOWED' || reason === 'NOT_FOUND';
    return isLost ? null : retryDelayMs(failures - 1);
  }

  /** Runs a step, then leaves the processor to the orders. */
  async #paced<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock } = this.#deps;
    const startMs = clock.steadyMs();
    const done = await step();
    await clock.sleep(Math.ceil(pausePerWork * (clock.steadyMs() - startMs)), signal);
    return done;
  }
}

/** A program for spreadsheets writes `sep=;` as the first line, which names the separator. */
const isSeparatorLine = ({ cells, lineNumber }: OriginalRecord): boolean =>
  lineNumber === 1 && cells.length === 2 && cells[1] === '' && cells[0]?.toLowerCase() === 'sep=';

type ResultsOfRows = (fromRow: number, toRow: number) => Promise<ReadonlyMap<number, ResultLine>>;
/** So many rows are looked up and written in one step. */
const rowsAtOnce = 100;

/**
 * Yields the text of a CSV result: the records of the order file, each row with the cells of its
 * result.
 */
async function* csvTexts(
  csv: OriginalCsv,
  delimiter: string,
  results: ResultsOfRows,
): AsyncGenerator<string> {
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
          kept = [...record.cells.keys()].filter(
            (index) => !isCsvResultColumn(record.cells[index] ?? ''),
          );
          return [
            ...kept.map((index) => withoutFormula(record.cells[index] ?? '')),
            ...csvResultColumns,
          ];
        }
        return rowOf(record, found.get(record.lineNumber), kept, width);
      });
      yield render(rows);
    }
  }
}

/**
 * A row with too few or too many cells keeps them, and its result stands under the right columns if
 * it can.
 */
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
