import { applicationId, checkSchema, schemaVersion } from './check-schema.ts';
import { inTransaction, type Sqlite } from './database.ts';
import { migrations, views, type SchemaFile } from './schema-files.ts';

/**
 * Brings the schema up to date in one transaction: the migrations that did not run yet, then the views. Each file is recorded
 * with its hash, by which every later version recognises the database.
 * @throws OrderSyncError DATABASE_FOREIGN, DATABASE_NEWER
 */
export function migrate(database: Sqlite): void {
  inTransaction(database, () => {
    if (checkSchema(database) === 'current') return;
    // A table that changes may be a part of a view.
    for (const { sql } of views()) {
      for (const [, view] of sql.matchAll(/^CREATE VIEW (\w+)/gm)) database.exec(`DROP VIEW IF EXISTS ${view}`);
    }
    for (const file of [...migrations().slice(schemaVersion(database)), ...views()]) {
      database.exec(file.sql);
      record(database, file);
    }
    database.pragma(`application_id = ${applicationId}`);
    database.pragma(`user_version = ${migrations().length}`);
  });
}

function record(database: Sqlite, { name, sha256 }: SchemaFile): void {
  const sql =
    'INSERT INTO schema_files (name, sha256) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET sha256 = excluded.sha256';
  database.prepare<[string, string]>(sql).run(name, sha256);
}
