import { assert } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import { forgetCsvFile } from './csv-rows.ts';
import type { FileRow, OrderFiles, Rejection } from './intake.ts';

const fileColumns = `id, name, state, sha256, starts, accepted_count AS acceptedCount, known_count AS knownCount,
  conflict_count AS conflictCount, rejected_count AS rejectedCount, error_code AS errorCode, error_message AS errorMessage`;

export const rejectionColumns = `line_number AS lineNumber, source, order_id AS orderId, line_id AS lineId, code, field,
  rule, value, created_at_ms AS createdAtMs`;

/** The order files: the state of each, and the rejections of its lines. */
export class SqliteOrderFiles implements OrderFiles {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  async find(id: string): Promise<FileRow | null> {
    return this.#find(id) ?? null;
  }

  async begin(file: { id: string; name: string; sizeBytes: number; nowMs: number }): Promise<FileRow> {
    return this.#write(
      file,
      `INSERT INTO files (id, name, size_bytes, state, starts, claimed_at_ms) VALUES (:id, :name, :sizeBytes, 'ingesting', 1, :nowMs)
       ON CONFLICT (id) DO UPDATE SET starts = starts + 1, size_bytes = excluded.size_bytes
       WHERE state IN ('claimed', 'ingesting')`,
      null,
    );
  }

  async finish(file: { id: string; sha256: string; nowMs: number }): Promise<FileRow> {
    return this.#write(
      file,
      "UPDATE files SET state = 'ingested', sha256 = :sha256, finished_at_ms = :nowMs WHERE id = :id AND state = 'ingesting'",
      'is finished once',
    );
  }

  async postpone(id: string): Promise<void> {
    const sql = "UPDATE files SET starts = starts - 1 WHERE id = :id AND state = 'ingesting' AND starts > 0";
    inTransaction(this.#database, () => this.#database.prepare(sql).run({ id }));
  }

  async reject(file: {
    id: string;
    sha256: string | null;
    code: string;
    message: string;
    nowMs: number;
  }): Promise<void> {
    this.#write(
      file,
      `UPDATE files SET state = 'rejected', sha256 = :sha256, error_code = :code, error_message = :message, finished_at_ms = :nowMs
       WHERE id = :id AND state IN ('claimed', 'ingesting', 'rejected')`,
      'is rejected before anything of it is ingested',
    );
  }

  async archive(id: string): Promise<void> {
    const sql = "UPDATE files SET state = 'archived' WHERE id = :id AND state IN ('ingested', 'archived')";
    this.#write({ id }, sql, 'is archived after it was ingested');
  }

  async replaced(id: string): Promise<void> {
    inTransaction(this.#database, () => forgetCsvFile(this.#database, id));
  }

  async rejections(id: string): Promise<readonly Rejection[]> {
    return this.#database
      .prepare<[string], Rejection>(
        `SELECT ${rejectionColumns} FROM rejections WHERE file_id = ? ORDER BY line_number, id`,
      )
      .all(id);
  }

  /** Writes one file, and asserts that it changed where a rule is given. Returns its row. */
  #write(file: { readonly id: string }, sql: string, rule: string | null): FileRow {
    return inTransaction(this.#database, () => {
      const { changes } = this.#database.prepare(sql).run(file);
      assert(rule === null || changes === 1, `file ${file.id} ${rule}`);
      const row = this.#find(file.id);
      assert(row !== undefined, `file ${file.id} was begun`);
      return row;
    });
  }

  #find(id: string): FileRow | undefined {
    return this.#database.prepare<[string], FileRow>(`SELECT ${fileColumns} FROM files WHERE id = ?`).get(id);
  }
}
