import { hasCode } from '../../core/order-sync-error.ts';
import { lineStateOf, type ResultLine } from '../../core/result/result-document.ts';
import { OutboxSteps, type Outbox } from '../sqlite/outbox.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import {
  lineEntryColumns,
  rejectedColumns,
  rejectedLine,
  resultEntryOf,
  shreddedError,
  type LineEntryRow,
  type RejectedRow,
} from './result-reader.ts';
import { csvSinkName, longestRun } from './due-results.ts';

export interface DueCsvFile {
  /** The number of the file, negative. */
  readonly requestId: number;
  readonly fileId: string;
  readonly name: string;
  /** Of the configuration with which it was read. */
  readonly folder: string;
  readonly sha256: string;
  readonly delimiter: string;
  /** Rises with each change of a result. */
  readonly version: number;
  readonly tries: number;
}

interface Run {
  readonly firstRow: number;
  readonly firstLine: number;
  lineCount: number;
}

const setDelimiter = columnOf<{ fileId: string; delimiter: string }, number>(
  'UPDATE files SET delimiter = :delimiter WHERE id = :fileId RETURNING number',
);
// A file that is read again after a crash brings the same rows again.
const insertRun = statementOf<Run & { number: number }, never>(
  'INSERT OR REPLACE INTO file_rows (file_number, first_row, first_line, line_count) VALUES (:number, :firstRow, :firstLine, :lineCount)',
);

/** Records which line each row of a CSV file is, by which its CSV result is written. */
export function recordCsvRows(
  database: Sqlite,
  file: { fileId: string; delimiter: string },
  rows: readonly { readonly row: number | null; readonly line: number }[],
): void {
  const number = setDelimiter(database).get(file);
  if (number !== undefined)
    for (const run of runsOf(rows)) insertRun(database).run({ ...run, number });
}

/** Rows that follow each other in the file, and whose lines do in the outbox. */
function runsOf(rows: Parameters<typeof recordCsvRows>[2]): readonly Run[] {
  const runs: Run[] = [];
  for (const { row, line } of rows) {
    if (row === null) continue;
    const last = runs.at(-1);
    const isNext =
      last !== undefined &&
      last.lineCount < longestRun &&
      last.firstRow + last.lineCount === row &&
      last.firstLine + last.lineCount === line;
    if (isNext) last.lineCount += 1;
    else runs.push({ firstRow: row, firstLine: line, lineCount: 1 });
  }
  return runs;
}

const makeDue = statementOf<[number, string], never>(
  `INSERT INTO deliveries (request_id, sink, due_version, due_steady)
   SELECT -number, '${csvSinkName}', 1, ? FROM files WHERE id = ? AND delimiter IS NOT NULL ON CONFLICT DO NOTHING`,
);

/** Nothing changes the archived file any more: it is written back, if it is a CSV file. */
export function makeCsvFileDue({ database, clock }: Outbox, fileId: string): void {
  makeDue(database).run(Math.floor(clock.steadyMs()), fileId);
}

const numberOf = '(SELECT number FROM files WHERE id = ?)';
const forget = [
  statementOf<[string], never>(
    `DELETE FROM deliveries WHERE request_id = -${numberOf} AND sink = '${csvSinkName}'`,
  ),
  statementOf<[string], never>(`DELETE FROM file_rows WHERE file_number = ${numberOf}`),
  statementOf<[string], never>('UPDATE files SET delimiter = NULL WHERE id = ?'),
];

/** Nothing is written back for a file any more. */
export function forgetCsvFile(database: Sqlite, fileId: string): void {
  for (const remove of forget) remove(database).run(fileId);
}

const selectDue = statementOf<[number], DueCsvFile>(
  `SELECT d.request_id AS requestId, f.id AS fileId, f.name, f.folder, f.sha256, f.delimiter, d.due_version AS version, d.tries
   FROM deliveries d INDEXED BY deliveries_due JOIN files f ON f.number = -d.request_id
   WHERE d.done_version < d.due_version AND d.sink = '${csvSinkName}' AND d.due_steady <= ? ORDER BY d.due_steady LIMIT 1`,
);
type Rows = { requestId: number; fromRow: number; toRow: number };
// From the end: the last rows are mostly open for longest.
const openRow = columnOf<[number], number>(
  `SELECT l.id FROM file_rows r JOIN lines l ON l.id >= r.first_line AND l.id < r.first_line + r.line_count
   WHERE r.file_number = -? AND EXISTS (SELECT 1 FROM entries e WHERE e.line_id = l.id AND e.replaced = 0
     AND e.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed'))
   ORDER BY r.first_row DESC, l.id DESC LIMIT 1`,
);
type EntryOfRow = LineEntryRow & { readonly row: number };
const selectEntries = statementOf<Rows, EntryOfRow>(
  `SELECT r.first_row + l.id - r.first_line AS row, ${lineEntryColumns}
   FROM file_rows r
   JOIN lines l ON l.id >= r.first_line + max(0, :fromRow - r.first_row)
     AND l.id < r.first_line + min(r.line_count, :toRow + 1 - r.first_row)
   JOIN entries e ON e.line_id = l.id AND e.replaced = 0
   WHERE r.file_number = -:requestId AND r.first_row > :fromRow - ${longestRun} AND r.first_row <= :toRow
   ORDER BY row, e.generation, e.part`,
);
const selectRejections = statementOf<Rows, RejectedRow & { row: number }>(
  `SELECT line_number AS row, ${rejectedColumns} FROM rejections
   WHERE file_id = (SELECT id FROM files WHERE number = -:requestId) AND line_number BETWEEN :fromRow AND :toRow ORDER BY id`,
);
const isDone = statementOf<{ fileId: string; beforeMs: number }, unknown>(
  `SELECT 1 FROM files f JOIN deliveries d ON d.request_id = -f.number AND d.sink = '${csvSinkName}'
   WHERE f.id = :fileId AND d.done_version >= d.due_version AND d.done_at_ms < :beforeMs AND NOT EXISTS (
     SELECT 1 FROM entries e WHERE e.state IN ('needs_review', 'held') AND e.replaced = 0 AND EXISTS (
       SELECT 1 FROM file_rows r WHERE r.file_number = f.number AND e.line_id >= r.first_line AND e.line_id < r.first_line + r.line_count))`,
);

/**
 * The CSV order files that are written back: each is a delivery to a sink of its own, due when a
 * result of its rows changed.
 */
export class CsvFiles extends OutboxSteps {
  readonly nextDue = this.first(selectDue);

  /**
   * A row that the worker still has something to do for; null: there is none. Rows that need an
   * operator do not count: an operator may take weeks, and the other rows are wanted.
   */
  readonly openRow = this.first(openRow);

  /**
   * The outcomes of the rows of a file in this range of line numbers, by line number.
   * @throws OrderSyncError NOT_ALLOWED when the codes of one were shredded
   */
  async results(
    requestId: number,
    fromRow: number,
    toRow: number,
  ): Promise<ReadonlyMap<number, ResultLine>> {
    const range = { requestId, fromRow, toRow };
    const found = new Map<number, ResultLine>();
    for (const row of selectRejections(this.database).all(range)) {
      if (!found.has(row.row)) found.set(row.row, rejectedLine(row));
    }
    const entries = Map.groupBy(selectEntries(this.database).all(range), ({ row }) => row);
    for (const [row, rows] of entries) found.set(row, this.#lineOf(rows));
    return found;
  }

  #lineOf(rows: readonly EntryOfRow[]): ResultLine {
    const lineId = rows[0]?.line_id ?? null;
    const lineWith = (units: readonly EntryOfRow[], error: ResultLine['error']): ResultLine => {
      const entries = units.map((row) => resultEntryOf(row, this.outbox.units));
      if (entries.some(({ shredded }) => shredded !== undefined))
        throw shreddedError(`line ${lineId}`, 'the CSV');
      return {
        line_id: lineId,
        state: lineStateOf(entries.map(({ state }) => state)),
        entries,
        error,
      };
    };
    try {
      return lineWith(rows, null);
    } catch (error) {
      if (!hasCode(error, 'SEALED_UNREADABLE')) throw error;
      // The other rows have theirs.
      const unread = { code: 'sealed_unreadable', message: error.message, action: null };
      return lineWith(
        rows.map((row) => ({ ...row, units: null })),
        unread,
      );
    }
  }

  /**
   * Whether a row is open or needs an operator, or the CSV was not written before a time; also of an
   * unknown file.
   */
  async isNeeded(fileId: string, beforeMs: number): Promise<boolean> {
    return isDone(this.database).get({ fileId, beforeMs }) === undefined;
  }
}
