import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { lineStateOf, type ResultLine } from '../../core/result/result-document.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';
import { longestText, statementOf } from '../sqlite/database.ts';
import { longestRun } from './csv-rows.ts';
import { rejectedColumns, rejectedLine, type RejectedRow } from './rejected-lines.ts';
import { type LineEntryRow, lineEntryColumns, resultEntryOf } from './result-reader.ts';
import { neverMs } from './due-results.ts';

export interface DueCsvFile {
  readonly id: number;
  readonly fileId: string;
  readonly name: string;
  readonly sha256: string;
  readonly delimiter: string;
  /** Rises with each change of a result. */
  readonly version: number;
  readonly tries: number;
}

const rowsAtOnce = 500;

// A file that is still being read, or moved, is not in the archive yet.
const selectDue = statementOf<[number], DueCsvFile>(
  `SELECT c.id, c.file_id AS fileId, f.name, f.sha256, c.delimiter, c.due_version AS version, c.tries
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
  'tries = tries + 1, last_error = :error, due_at_ms = :retryAtMs',
);
const giveUp = updateOf<{ error: string; nowMs: number }>(
  `tries = tries + 1, last_error = :error, given_up_at_ms = :nowMs, acknowledged_at_ms = NULL, due_at_ms = ${neverMs}`,
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
      if (entries.some(({ shredded }) => shredded !== undefined)) throw shreddedCodes(lineId);
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

  readonly fail = this.step(({ database }, failed: FileVersion & { error: string; retryAtMs: number }): void => {
    fail(database).run({ ...failed, error: failed.error.slice(0, longestText) });
  });

  /** This version is not tried again, and is flagged for review. */
  readonly giveUp = this.step(({ database }, given: FileVersion & { error: string; nowMs: number }): void => {
    giveUp(database).run({ ...given, error: given.error.slice(0, longestText) });
  });
}

/** The sender would replace the codes that it has by none. */
function shreddedCodes(lineId: string | null): OrderSyncError {
  const message = `the codes of line ${lineId} were shredded (retention.codes_days): the CSV is not written again without them`;
  return new OrderSyncError('REFUSED', message, { hint: 'the file that was written before stays as it is' });
}
