import { assert } from '../../core/order-sync-error.ts';
import { forgetCsvFile, makeCsvFileDue } from '../results/csv-files.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';
import { rejectionColumns, type Rejection } from './rejections.ts';

export interface FileRow {
  readonly id: string;
  readonly name: string;
  readonly state: 'claimed' | 'ingesting' | 'ingested' | 'archived' | 'rejected';
  readonly sha256: string | null;
  readonly starts: number;
  readonly acceptedCount: number;
  readonly knownCount: number;
  readonly conflictCount: number;
  readonly rejectedCount: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

type FileId = { readonly id: string };

const select = statementOf<[string], FileRow>(
  `SELECT id, name, state, sha256, starts, accepted_count AS acceptedCount, known_count AS knownCount,
     conflict_count AS conflictCount, rejected_count AS rejectedCount, error_code AS errorCode, error_message AS errorMessage
   FROM files WHERE id = ?`,
);
const selectRejections = statementOf<[string], Rejection>(
  `SELECT ${rejectionColumns} FROM rejections WHERE file_id = ? ORDER BY line_number, id`,
);
const begin = statementOf<
  FileId & { name: string; folder: string; sizeBytes: number; nowMs: number },
  never
>(
  `INSERT INTO files (id, name, folder, size_bytes, state, starts, claimed_at_ms)
   VALUES (:id, :name, :folder, :sizeBytes, 'ingesting', 1, :nowMs)
   ON CONFLICT (id) DO UPDATE SET starts = starts + 1, folder = excluded.folder, size_bytes = excluded.size_bytes
   WHERE state IN ('claimed', 'ingesting')`,
);
const finish = statementOf<FileId & { sha256: string; nowMs: number }, never>(
  "UPDATE files SET state = 'ingested', sha256 = :sha256, finished_at_ms = :nowMs WHERE id = :id AND state = 'ingesting'",
);
const postpone = statementOf<[string], never>(
  "UPDATE files SET starts = starts - 1 WHERE id = ? AND state = 'ingesting' AND starts > 0",
);
const reject = statementOf<
  FileId & { sha256: string | null; code: string; message: string; nowMs: number },
  never
>(
  // A program may write a file that is no order file again and again: it needs attention once.
  `UPDATE files SET state = 'rejected', sha256 = :sha256, error_code = :code, error_message = :message, finished_at_ms = :nowMs,
     acknowledged_at_ms = CASE WHEN :code = 'unknown_extension' AND EXISTS (SELECT 1 FROM files o
       WHERE o.name = files.name AND o.state = 'rejected' AND o.acknowledged_at_ms IS NULL) THEN :nowMs END
   WHERE id = :id AND state IN ('claimed', 'ingesting', 'rejected')`,
);
const archive = statementOf<[string], never>(
  "UPDATE files SET state = 'archived' WHERE id = ? AND state IN ('ingested', 'archived')",
);

const giveBack = statementOf<{ id: string; nowMs: number }, never>(
  `UPDATE files SET state = 'rejected', error_code = 'unfinished', error_message = 'It was not complete, and is in the inbox again.',
     finished_at_ms = :nowMs, acknowledged_at_ms = :nowMs
   WHERE id = :id AND state = 'ingesting' AND accepted_count + known_count + conflict_count + rejected_count = 0`,
);

/** The order files that were taken in: the state of each, and the rejections of its lines. */
export class OrderFiles extends OutboxSteps {
  readonly find = this.first(select);

  /**
   * Counts a start of a file before it is read, so that a file which kills the worker is noticed.
   */
  readonly begin = this.#change(begin, null);

  /** The file was read to its end: records its content hash and returns its counts. */
  readonly finish = this.#change(finish, 'is finished once');

  /** The worker stopped in good order while it read the file: that start does not count. */
  readonly postpone = this.write(postpone);

  /** Nothing of the file is accepted, and this is why. */
  readonly reject = this.#change(reject, 'is rejected as a whole: nothing of it is taken in');

  /** Its rows are in the outbox. From now on its results are written back, if it is a CSV file. */
  readonly archive = this.step((outbox, id: string): void => {
    const { changes } = archive(outbox.database).run(id);
    assert(changes === 1, `file ${id} is archived after it was ingested`);
    makeCsvFileDue(outbox, id);
  });

  /**
   * Another file has taken its place, with all of its rows: nothing is written back for this one.
   */
  readonly replaced = this.step(({ database }, id: string) => forgetCsvFile(database, id));

  /**
   * The file is in the inbox again, where it will have another id. A row to which lines belong
   * stays as it is.
   */
  readonly giveBack = this.write(giveBack);

  async rejections(id: string): Promise<readonly Rejection[]> {
    return selectRejections(this.database).all(id);
  }

  /** Changes one file, which is asserted where a rule is given. Returns its row. */
  #change<File extends FileId>(
    statement: (database: Sqlite) => { run(file: File): { changes: number } },
    rule: string | null,
  ): (file: File) => Promise<FileRow> {
    return this.step(({ database }, file: File) => {
      const { changes } = statement(database).run(file);
      assert(rule === null || changes === 1, `file ${file.id} ${rule}`);
      const row = select(database).get(file.id);
      assert(row !== undefined, `file ${file.id} was begun`);
      return row;
    });
  }
}
