import { stringify } from 'csv-stringify/sync';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { messageOf } from '../core/message-text.ts';
import { hasCode } from '../core/order-sync-error.ts';
import { csvResultName } from '../core/order/order-file-names.ts';
import { csvResultCells, csvResultColumns, isCsvResultColumn, withoutFormula } from '../core/result/csv-result.ts';
import type { ResultLine } from '../core/result/result-document.ts';
import { Loop } from '../ops/loop.ts';
import type { DueCsvFile } from '../store/results/csv-files.ts';
import type { Store } from '../store/store.ts';
import { retryDelayMs } from './delivery-loop.ts';
import type { ResultFolder } from './result-folder.ts';

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

/** @throws OrderSyncError NOT_FOUND when the file is not kept any more; REFUSED when it is another file now */
export type ReadOriginal = (file: DueCsvFile, use: (csv: OriginalCsv) => Promise<void>) => Promise<void>;

interface CsvResultsDeps {
  readonly store: Pick<Store, 'results'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly folder: ResultFolder;
  readonly readOriginal: ReadOriginal;
}

/** Beside the folders of the sources. */
export const csvResultFolder = 'files';

const idleDelayMs = 1000;
/** After a failure no file is tried for at most so long: the next one may have nothing wrong with it. */
const longestPauseMs = 30_000;
/** Of so many open files it is known how far their rows have ended; others are looked at from the start. */
const knownFiles = 1000;
/** A file is moved to the archive after its rows are in the outbox: until then it is not found there. */
const triesToFind = 3;
/** A large file must not delay orders: of the time, at most a quarter is spent on it. */
const pausePerWork = 3;

/**
 * Writes each CSV order file back as CSV, into `<results>/files/`: its rows as they came, with the result of each. A file is
 * written when the worker has nothing more to do for any of its rows, and again when a result changes. It is due in the
 * outbox until it was written, so a crash only delays it. A failure never affects buying, or other results.
 */
export class CsvResults {
  readonly #deps: CsvResultsDeps;
  readonly loop: Loop;
  /** How far the rows of a file have ended, by the id of the file. Earlier rows need no second look. */
  readonly #endedRows = new Map<number, number>();
  #retryAtMono = 0;
  /** Failures in a row, of whatever file. */
  #failures = 0;

  constructor(deps: CsvResultsDeps) {
    this.#deps = deps;
    this.loop = new Loop({ clock: deps.clock, round: () => this.#round() });
  }

  async #round(): Promise<number> {
    const { store, clock } = this.#deps;
    const waitMs = this.#retryAtMono - clock.monoMs();
    const due = waitMs > 0 ? null : await store.results.csvFiles.nextDue(clock.wallMs());
    if (due === null) return Math.max(idleDelayMs, waitMs);
    await this.#writeIfEnded(due);
    return 0;
  }

  async #writeIfEnded(due: DueCsvFile): Promise<void> {
    const { store } = this.#deps;
    const { csvFiles } = store.results;
    if (await this.#hasOpenRow(due.id)) {
      if (!this.loop.signal.aborted) await csvFiles.awaitChange(due);
      return;
    }
    try {
      await this.#write(due);
    } catch (error) {
      if (this.loop.signal.aborted) return;
      return await this.#failed(due, error);
    }
    // Not in the `try`: when the outbox cannot record this, the file has not failed.
    await this.#written(due);
  }

  async #written({ id, version, name, fileId }: DueCsvFile): Promise<void> {
    const { store, clock, logger } = this.#deps;
    this.#failures = 0;
    await store.results.csvFiles.close({ id, version, nowMs: clock.wallMs() });
    const result = csvResultName(fileId, name);
    logger.info({ file: name, file_id: fileId, result }, 'the results of an order file were written');
  }

  /** Looks at few rows at a time. An ended row that a person opened again is found by the search from the start. */
  async #hasOpenRow(id: number): Promise<boolean> {
    const { csvFiles } = this.#deps.store.results;
    const known = this.#endedRows.get(id) ?? 0;
    for (const start of known === 0 ? [0] : [known, 0]) {
      for (let after: number | null = start; after !== null; ) {
        const from: number = after;
        const { open, next } = await this.#paced(() => csvFiles.findOpenRow(id, from));
        if (open && this.#endedRows.size >= knownFiles && !this.#endedRows.has(id)) this.#endedRows.clear();
        if (open) this.#endedRows.set(id, next ?? 0);
        if (open || this.loop.signal.aborted) return true;
        after = next;
      }
    }
    this.#endedRows.delete(id);
    return false;
  }

  async #write(due: DueCsvFile): Promise<void> {
    const { store, folder, readOriginal } = this.#deps;
    const { csvFiles } = store.results;
    const { signal } = this.loop;
    const name = csvResultName(due.fileId, due.name);
    await readOriginal(due, (csv) =>
      folder.replace(csvResultFolder, name, async (draft) => {
        const results = (from: number, to: number) => csvFiles.results(due.id, from, to);
        const texts = csvTexts(csv, due.delimiter, results);
        for (;;) {
          const { value, done } = await this.#paced(() => texts.next());
          if (done === true) return;
          await draft.writeFile(value, 'utf8');
          signal.throwIfAborted();
        }
      }),
    );
  }

  async #failed(due: DueCsvFile, error: unknown): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const line = { file: due.name, file_id: due.fileId, err: messageOf(error) };
    const given = { id: due.id, version: due.version, error: line.err };
    const isGone = hasCode(error, 'NOT_FOUND') && due.tries + 1 >= triesToFind;
    if (isGone || hasCode(error, 'REFUSED')) {
      await store.results.csvFiles.giveUp({ ...given, nowMs: clock.wallMs() });
      const advice = 'each order has its result in a file of its own';
      return logger.error(line, `gave up writing the results of an order file: ${advice}`);
    }
    const delayMs = retryDelayMs(due.tries);
    await store.results.csvFiles.fail({ ...given, retryAtMs: clock.wallMs() + delayMs });
    // The folder of results is the same for all files: most likely the next one would fail, too.
    this.#retryAtMono = clock.monoMs() + Math.min(longestPauseMs, retryDelayMs(this.#failures));
    this.#failures += 1;
    logger.error({ ...line, retry_in_ms: delayMs }, 'the results of an order file could not be written');
  }

  /** Runs a step, then leaves the processor to the orders. */
  async #paced<T>(step: () => Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const startMono = clock.monoMs();
    const done = await step();
    await clock.sleep(Math.ceil(pausePerWork * (clock.monoMs() - startMono)), this.loop.signal);
    return done;
  }
}

/** A program for spreadsheets writes `sep=;` as the first line, which names the separator. */
const isSeparatorLine = ({ cells, lineNumber }: OriginalRecord): boolean =>
  lineNumber === 1 && cells.length === 2 && cells[1] === '' && cells[0]?.toLowerCase() === 'sep=';

type ResultsOfRows = (fromRow: number, toRow: number) => Promise<ReadonlyMap<number, ResultLine>>;
/** So many rows are looked up and written in one step. */
const rowsAtOnce = 100;

/** Yields the text of a CSV result: the records of the order file, each row with the cells of its result. */
async function* csvTexts(csv: OriginalCsv, delimiter: string, results: ResultsOfRows): AsyncGenerator<string> {
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
