import { hasCode } from '../../core/order-sync-error.ts';
import { lineStateOf, type ResultLine } from '../../core/result/result-document.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';
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
import { errorText, neverMs } from './due-results.ts';

export interface DueCsvFile {
  readonly id: number;
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

/** A run has at most so many rows: who reads some rows of a file finds their run without looking at all of them. */
const longestRun = 2000;

const insertFile = statementOf<{ fileId: string; delimiter: string; nowMs: number }, never>(
  'INSERT INTO csv_files (file_id, delimiter, due_at_ms) VALUES (:fileId, :delimiter, :nowMs) ON CONFLICT DO NOTHING',
);
const idOf = columnOf<[string], number>('SELECT id FROM csv_files WHERE file_id = ?');
// A file that is read again after a crash brings the same rows again.
const insertRun = statementOf<Run & { id: number }, never>(
  'INSERT OR REPLACE INTO csv_runs (csv_file_id, first_row, first_line, line_count) VALUES (:id, :firstRow, :firstLine, :lineCount)',
);
const insertRepeat = statementOf<[number, number], never>(
  'INSERT INTO csv_repeats (line_id, csv_file_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
);

interface CsvRow {
  readonly row: number | null;
  readonly line: number;
  /** The line came in before, from elsewhere. */
  readonly isRepeat: boolean;
}

/** Records which line each row of a CSV file is, by which its CSV result is written. */
export function recordCsvRows(
  database: Sqlite,
  file: { fileId: string; delimiter: string; nowMs: number },
  rows: readonly CsvRow[],
): void {
  insertFile(database).run(file);
  const id = idOf(database).get(file.fileId) ?? 0;
  for (const run of runsOf(rows)) insertRun(database).run({ ...run, id });
  for (const { line, isRepeat } of rows) if (isRepeat) insertRepeat(database).run(line, id);
}

/** Rows that follow each other in the file, and whose lines do in the outbox. */
function runsOf(rows: readonly CsvRow[]): readonly Run[] {
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

const ofFile = 'WHERE csv_file_id = (SELECT id FROM csv_files WHERE file_id = ?)';
const forget = [
  statementOf<[string], never>(`DELETE FROM csv_repeats ${ofFile}`),
  statementOf<[string], never>(`DELETE FROM csv_runs ${ofFile}`),
  statementOf<[string], never>('DELETE FROM csv_files WHERE file_id = ?'),
];

/** Nothing is written back for a file any more. */
export function forgetCsvFile(database: Sqlite, fileId: string): void {
  for (const remove of forget) remove(database).run(fileId);
}

const rowsAtOnce = 500;

// A file that is still being read, or moved, is not in the archive yet.
const selectDue = statementOf<[number], DueCsvFile>(
  `SELECT c.id, c.file_id AS fileId, f.name, f.folder, f.sha256, c.delimiter, c.due_version AS version, c.tries
   FROM csv_files c JOIN files f ON f.id = c.file_id
   WHERE c.done_version < c.due_version AND c.due_at_ms <= ? AND f.state = 'archived' AND f.sha256 IS NOT NULL
   ORDER BY c.due_at_ms LIMIT 1`,
);
const selectRows = statementOf<{ id: number; afterRow: number; rowsAtOnce: number }, { row: number; isOpen: number }>(
  `SELECT row, EXISTS (SELECT 1 FROM entries e WHERE e.line_id = line AND e.replaced = 0
     AND e.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed')) AS isOpen
   FROM (
     SELECT r.first_row + l.id - r.first_line AS row, l.id AS line FROM csv_runs r
     JOIN lines l ON l.id >= r.first_line + max(0, :afterRow + 1 - r.first_row) AND l.id < r.first_line + r.line_count
     WHERE r.csv_file_id = :id AND r.first_row > :afterRow - ${longestRun}
     ORDER BY r.first_row, l.id LIMIT :rowsAtOnce)`,
);
type EntryOfRow = LineEntryRow & { readonly row: number };
const selectEntries = statementOf<{ id: number; fromRow: number; toRow: number }, EntryOfRow>(
  `SELECT r.first_row + l.id - r.first_line AS row, ${lineEntryColumns}
   FROM csv_runs r
   JOIN lines l ON l.id >= r.first_line + max(0, :fromRow - r.first_row)
     AND l.id < r.first_line + min(r.line_count, :toRow + 1 - r.first_row)
   JOIN entries e ON e.line_id = l.id AND e.replaced = 0
   WHERE r.csv_file_id = :id AND r.first_row > :fromRow - ${longestRun} AND r.first_row <= :toRow
   ORDER BY row, e.generation, e.part`,
);
const selectRejections = statementOf<{ id: number; fromRow: number; toRow: number }, RejectedRow & { row: number }>(
  `SELECT line_number AS row, ${rejectedColumns} FROM rejections
   WHERE file_id = (SELECT file_id FROM csv_files WHERE id = :id) AND line_number BETWEEN :fromRow AND :toRow ORDER BY id`,
);
const isDone = statementOf<{ fileId: string; beforeMs: number }, number>(
  `SELECT 1 FROM csv_files c WHERE c.file_id = :fileId AND c.done_version >= c.due_version AND c.done_at_ms < :beforeMs AND NOT EXISTS (
     SELECT 1 FROM entries e WHERE e.state IN ('needs_review', 'held') AND e.replaced = 0 AND EXISTS (
       SELECT 1 FROM csv_runs r WHERE r.csv_file_id = c.id AND e.line_id >= r.first_line AND e.line_id < r.first_line + r.line_count))`,
);
type FileVersion = Pick<DueCsvFile, 'id' | 'version'>;
const updateOf = <Values extends {}>(set: string) =>
  statementOf<FileVersion & Values, never>(
    `UPDATE csv_files SET ${set} WHERE id = :id AND done_version < due_version AND due_version = :version`,
  );
const awaitChange = updateOf(`due_at_ms = ${neverMs}, tries = 0, last_error = NULL`);
const fail = updateOf<{ error: string; retryAtMs: number }>(
  `tries = tries + 1, last_error = ${errorText}, due_at_ms = :retryAtMs`,
);
const giveUp = updateOf<{ error: string; nowMs: number }>(
  `tries = tries + 1, last_error = ${errorText}, given_up_at_ms = :nowMs, acknowledged_at_ms = NULL, due_at_ms = ${neverMs}`,
);
const close = statementOf<{ id: number; version: number; nowMs: number }, never>(
  `UPDATE csv_files SET done_version = max(done_version, :version), done_at_ms = :nowMs, last_error = NULL, tries = 0 WHERE id = :id`,
);

/** The CSV order files that are written back. Each is due when a result of one of its rows has changed. */
export class CsvFiles extends OutboxSteps {
  readonly nextDue = this.first(selectDue);

  /**
   * Looks for a row that the worker still has something to do for, among the next rows of a file. Rows that need a person do
   * not count: a person may take weeks, and the other rows are wanted.
   * @param afterRow the line number where the step before ended; 0 at first
   * @returns `open`: whether there is one; `next`: where the next step begins; null at the end
   */
  async findOpenRow(id: number, afterRow: number): Promise<{ readonly open: boolean; readonly next: number | null }> {
    const rows = selectRows(this.database).all({ id, afterRow, rowsAtOnce });
    const open = rows.find(({ isOpen }) => isOpen === 1);
    // The next search begins with the open row: those before it have ended.
    if (open !== undefined) return { open: true, next: open.row - 1 };
    return { open: false, next: rows.length < rowsAtOnce ? null : (rows.at(-1)?.row ?? null) };
  }

  /**
   * The outcomes of the rows of a file in this range of line numbers, by line number.
   * @throws OrderSyncError REFUSED when the codes of one were shredded
   */
  async results(id: number, fromRow: number, toRow: number): Promise<ReadonlyMap<number, ResultLine>> {
    const found = new Map<number, ResultLine>();
    for (const row of selectRejections(this.database).all({ id, fromRow, toRow })) {
      if (!found.has(row.row)) found.set(row.row, rejectedLine(row));
    }
    const entries = Map.groupBy(selectEntries(this.database).all({ id, fromRow, toRow }), ({ row }) => row);
    for (const [row, rows] of entries) found.set(row, this.#lineOf(rows));
    return found;
  }

  #lineOf(rows: readonly EntryOfRow[]): ResultLine {
    const lineId = rows[0]?.line_id ?? null;
    try {
      const entries = rows.map((row) => resultEntryOf(row, this.outbox.units));
      if (entries.some(({ shredded }) => shredded !== undefined)) throw shreddedError(`line ${lineId}`, 'the CSV');
      return { line_id: lineId, state: lineStateOf(entries.map(({ state }) => state)), entries, error: null };
    } catch (error) {
      if (!hasCode(error, 'SEALED_UNREADABLE')) throw error;
      // The other rows have theirs.
      const unread = { code: 'sealed_unreadable', message: error.message, action: null };
      const entries = rows.map((row) => resultEntryOf({ ...row, units: null }, this.outbox.units));
      return { line_id: lineId, state: lineStateOf(entries.map(({ state }) => state)), entries, error: unread };
    }
  }

  /** Whether a row is open or needs a person, or the CSV was not written before a time; also of an unknown file. */
  async isNeeded(fileId: string, beforeMs: number): Promise<boolean> {
    return isDone(this.database).get({ fileId, beforeMs }) === undefined;
  }

  /** The file waits until a result of one of its rows changes, unless one has changed since this version. */
  readonly awaitChange = this.write(awaitChange);

  readonly close = this.write(close);

  readonly fail = this.write(fail);

  /** This version is not tried again, and is flagged for review. */
  readonly giveUp = this.write(giveUp);
}
