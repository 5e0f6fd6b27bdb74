import { statementOf, type Sqlite } from '../sqlite/database.ts';

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
const idOf = statementOf<[string], { id: number }>('SELECT id FROM csv_files WHERE file_id = ?');
// A file that is read again after a crash brings the same rows again.
const insertRun = statementOf<[number, number, number, number], never>(
  'INSERT OR REPLACE INTO csv_runs (csv_file_id, first_row, first_line, line_count) VALUES (?, ?, ?, ?)',
);
const insertRepeat = statementOf<[number, number], never>(
  'INSERT INTO csv_repeats (line_id, csv_file_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
);

/** Which line each row of a CSV file is, by which its CSV result is written. For one batch, in its transaction. */
export class CsvRows {
  readonly #database: Sqlite;
  readonly #file: { readonly fileId: string; readonly delimiter: string; readonly nowMs: number };
  readonly #runs: Run[] = [];
  readonly #repeats: number[] = [];

  constructor(database: Sqlite, file: { fileId: string; delimiter: string; nowMs: number }) {
    this.#database = database;
    this.#file = file;
  }

  /** @param row the line number in the file */
  add(row: number | null, lineRowId: number): void {
    if (row === null) return;
    const last = this.#runs.at(-1);
    const isNext =
      last !== undefined &&
      last.lineCount < longestRun &&
      last.firstRow + last.lineCount === row &&
      last.firstLine + last.lineCount === lineRowId;
    if (isNext) last.lineCount += 1;
    else this.#runs.push({ firstRow: row, firstLine: lineRowId, lineCount: 1 });
  }

  /** A row whose line came in before, from elsewhere. */
  addRepeat(lineRowId: number): void {
    this.#repeats.push(lineRowId);
  }

  write(): void {
    insertFile(this.#database).run(this.#file);
    const id = idOf(this.#database).get(this.#file.fileId)?.id ?? 0;
    for (const { firstRow, firstLine, lineCount } of this.#runs)
      insertRun(this.#database).run(id, firstRow, firstLine, lineCount);
    for (const lineRowId of this.#repeats) insertRepeat(this.#database).run(lineRowId, id);
  }
}

const forgetting = [
  'DELETE FROM csv_repeats WHERE csv_file_id = (SELECT id FROM csv_files WHERE file_id = ?)',
  'DELETE FROM csv_runs WHERE csv_file_id = (SELECT id FROM csv_files WHERE file_id = ?)',
  'DELETE FROM csv_files WHERE file_id = ?',
];

/** Nothing is written back for a file any more. Called inside a transaction. */
export function forgetCsvFile(database: Sqlite, fileId: string): void {
  for (const sql of forgetting) database.prepare<[string]>(sql).run(fileId);
}
