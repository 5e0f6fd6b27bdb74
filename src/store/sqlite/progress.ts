import { randomBytes } from 'node:crypto';
import { assert } from '../../core/order-sync-error.ts';
import type { OutboxProgress } from '../../core/outbox-progress.ts';
import { columnOf, statementOf, type Sqlite } from './database.ts';
import { readMeta, writeMeta } from './meta.ts';

const idName = 'database_id';

/** The newest row of a table whose rows are never deleted. */
const counts = statementOf<[], Omit<OutboxProgress, 'databaseId'>>(
  `SELECT coalesce((SELECT max(id) FROM attempts), 0) AS attempt, coalesce((SELECT max(id) FROM entries), 0) AS entry,
          coalesce((SELECT max(id) FROM audit), 0) AS decision`,
);

/** Where a database has taken the place of a lost one, the audit log has how far that one had come. */
const replaced = columnOf<[], string | null>(
  `SELECT json_extract(detail, '$.replaced') FROM audit WHERE subject = 'outbox' AND action = 'recovery_stage'
   ORDER BY id DESC LIMIT 1`,
);

/** Called inside a transaction. */
export function makeDatabaseId(database: Sqlite): void {
  writeMeta(database, idName, randomBytes(16).toString('hex'));
}

/** Called inside a transaction. */
export function makeDatabaseIdOnce(database: Sqlite): void {
  if (readMeta(database, idName) === undefined) makeDatabaseId(database);
}

/** The committed progress. `replaced`: how far the lost outbox had come whose place this database has taken, if known. */
export function readProgress(database: Sqlite): OutboxProgress & { readonly replaced: OutboxProgress | null } {
  const databaseId = readMeta(database, idName);
  const newest = counts(database).get();
  assert(databaseId !== undefined && newest !== undefined, 'a database has its id from the time when it was opened');
  const text = replaced(database).get() ?? null;
  const known: OutboxProgress | null = text === null ? null : JSON.parse(text);
  return { databaseId, ...newest, replaced: known };
}
