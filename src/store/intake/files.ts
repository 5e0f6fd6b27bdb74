import { assert } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { FileRow, OrderFiles, Rejection } from './intake.ts';

/** A row of `files`, as SQLite returns it. */
interface FileDbRow {
  readonly id: string;
  readonly name: string;
  readonly state: FileRow['state'];
  readonly sha256: string | null;
  readonly starts: number;
  readonly accepted_count: number;
  readonly known_count: number;
  readonly conflict_count: number;
  readonly rejected_count: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
}

function fileFrom(row: FileDbRow): FileRow {
  return {
    id: row.id,
    name: row.name,
    state: row.state,
    sha256: row.sha256,
    starts: row.starts,
    acceptedCount: row.accepted_count,
    knownCount: row.known_count,
    conflictCount: row.conflict_count,
    rejectedCount: row.rejected_count,
    errorCode: row.error_code,
    errorMessage: row.error_message,
  };
}

/** The order files that were taken in: where each stands, and what came of its lines. */
export class SqliteOrderFiles implements OrderFiles {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  async find(id: string): Promise<FileRow | null> {
    return this.#find(id);
  }

  #find(id: string): FileRow | null {
    const row = this.#database.prepare<[string], FileDbRow>('SELECT * FROM files WHERE id = ?').get(id);
    return row === undefined ? null : fileFrom(row);
  }

  #existing(id: string): FileRow {
    const row = this.#find(id);
    assert(row !== null, `file ${id} was begun before it is finished`);
    return row;
  }

  async begin(file: { id: string; name: string; sizeBytes: number; nowMs: number }): Promise<FileRow> {
    return inTransaction(this.#database, () => {
      this.#database
        .prepare(
          `INSERT INTO files (id, name, size_bytes, state, starts, claimed_at_ms) VALUES (:id, :name, :sizeBytes, 'ingesting', 1, :nowMs)
           ON CONFLICT (id) DO UPDATE SET starts = starts + 1, size_bytes = excluded.size_bytes
           WHERE state IN ('claimed', 'ingesting')`,
        )
        .run(file);
      return this.#existing(file.id);
    });
  }

  async finish(file: { id: string; sha256: string; nowMs: number }): Promise<FileRow> {
    return inTransaction(this.#database, () => {
      const { changes } = this.#database
        .prepare(
          `UPDATE files SET state = 'ingested', sha256 = :sha256, finished_at_ms = :nowMs WHERE id = :id AND state = 'ingesting'`,
        )
        .run(file);
      assert(changes === 1, `file ${file.id} is finished once`);
      return this.#existing(file.id);
    });
  }

  async postpone(id: string): Promise<void> {
    inTransaction(this.#database, () => {
      this.#database
        .prepare("UPDATE files SET starts = starts - 1 WHERE id = ? AND state = 'ingesting' AND starts > 0")
        .run(id);
    });
  }

  async reject(file: {
    id: string;
    sha256: string | null;
    code: string;
    message: string;
    nowMs: number;
  }): Promise<void> {
    inTransaction(this.#database, () => {
      const { changes } = this.#database
        .prepare(
          `UPDATE files SET state = 'rejected', sha256 = :sha256, error_code = :code, error_message = :message, finished_at_ms = :nowMs
           WHERE id = :id AND state IN ('claimed', 'ingesting', 'rejected')`,
        )
        .run(file);
      assert(changes === 1, `file ${file.id} is rejected before anything of it is ingested`);
    });
  }

  async archive(id: string): Promise<void> {
    inTransaction(this.#database, () => {
      const { changes } = this.#database
        .prepare(`UPDATE files SET state = 'archived' WHERE id = ? AND state IN ('ingested', 'archived')`)
        .run(id);
      assert(changes === 1, `file ${id} is archived after it was ingested`);
    });
  }

  async rejections(id: string): Promise<readonly Rejection[]> {
    return this.#database
      .prepare<[string], Rejection>(
        `SELECT line_number AS lineNumber, source, order_id AS orderId, line_id AS lineId, code, field, rule, value,
                created_at_ms AS createdAtMs
         FROM rejections WHERE file_id = ? ORDER BY line_number, id`,
      )
      .all(id);
  }
}
