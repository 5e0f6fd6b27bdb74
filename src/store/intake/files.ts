import { assert } from '../../core/order-sync-error.ts';
import { forgetCsvFile } from '../results/csv-rows.ts';
import { inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
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
type Statement = ReturnType<typeof statementOf<FileId, never>>;

const select = statementOf<[string], FileRow>(
  `SELECT id, name, state, sha256, starts, accepted_count AS acceptedCount, known_count AS knownCount,
     conflict_count AS conflictCount, rejected_count AS rejectedCount, error_code AS errorCode, error_message AS errorMessage
   FROM files WHERE id = ?`,
);
const selectRejections = statementOf<[string], Rejection>(
  `SELECT ${rejectionColumns} FROM rejections WHERE file_id = ? ORDER BY line_number, id`,
);
const begin = statementOf<FileId, never>(
  `INSERT INTO files (id, name, size_bytes, state, starts, claimed_at_ms) VALUES (:id, :name, :sizeBytes, 'ingesting', 1, :nowMs)
   ON CONFLICT (id) DO UPDATE SET starts = starts + 1, size_bytes = excluded.size_bytes
   WHERE state IN ('claimed', 'ingesting')`,
);
const finish = statementOf<FileId, never>(
  "UPDATE files SET state = 'ingested', sha256 = :sha256, finished_at_ms = :nowMs WHERE id = :id AND state = 'ingesting'",
);
const postpone = statementOf<[string], never>(
  "UPDATE files SET starts = starts - 1 WHERE id = ? AND state = 'ingesting' AND starts > 0",
);
const reject = statementOf<FileId, never>(
  `UPDATE files SET state = 'rejected', sha256 = :sha256, error_code = :code, error_message = :message, finished_at_ms = :nowMs
   WHERE id = :id AND state IN ('claimed', 'ingesting', 'rejected')`,
);
const archive = statementOf<FileId, never>(
  "UPDATE files SET state = 'archived' WHERE id = :id AND state IN ('ingested', 'archived')",
);

/** The order files that were taken in: the state of each, and the rejections of its lines. */
export class OrderFiles {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  async find(id: string): Promise<FileRow | null> {
    return select(this.#database).get(id) ?? null;
  }

  /** Counts a start of a file before it is read, so that a file which kills the worker is noticed. */
  async begin(file: { id: string; name: string; sizeBytes: number; nowMs: number }): Promise<FileRow> {
    return this.#write(begin, file, null);
  }

  /** The file was read to its end: records its content hash and returns its counts. */
  async finish(file: { id: string; sha256: string; nowMs: number }): Promise<FileRow> {
    return this.#write(finish, file, 'is finished once');
  }

  /** The worker stopped in good order while it read the file: that start does not count. */
  async postpone(id: string): Promise<void> {
    inTransaction(this.#database, () => postpone(this.#database).run(id));
  }

  /** Nothing of the file is accepted, and this is why. */
  async reject(file: FileId & { sha256: string | null; code: string; message: string; nowMs: number }): Promise<void> {
    this.#write(reject, file, 'is rejected before anything of it is ingested');
  }

  /** The file was moved to the archive. */
  async archive(id: string): Promise<void> {
    this.#write(archive, { id }, 'is archived after it was ingested');
  }

  /** Another file has taken its place, with all of its rows: nothing is written back for this one. */
  async replaced(id: string): Promise<void> {
    inTransaction(this.#database, () => forgetCsvFile(this.#database, id));
  }

  async rejections(id: string): Promise<readonly Rejection[]> {
    return selectRejections(this.#database).all(id);
  }

  /** Writes one file, and asserts that it changed where a rule is given. Returns its row. */
  #write(statement: Statement, file: FileId, rule: string | null): FileRow {
    return inTransaction(this.#database, () => {
      const { changes } = statement(this.#database).run(file);
      assert(rule === null || changes === 1, `file ${file.id} ${rule}`);
      const row = select(this.#database).get(file.id);
      assert(row !== undefined, `file ${file.id} was begun`);
      return row;
    });
  }
}
