import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';

interface Run {
  readonly firstRow: number;
  readonly firstLine: number;
  lineCount: number;
}

/** A run has at most so many rows: who reads some rows of a file finds their run without looking at all of them. */
export const longestRun = 2000;

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

export interface CsvRow {
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
