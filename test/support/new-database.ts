import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/schema.ts';

let migrated: Buffer | null = null;

/**
 * Writes the file of an outbox that has its tables and nothing in them, as a worker left it that
 * died right after its migrations. They take longer than most tests, so they run once in a process.
 */
export function writeNewDatabase(path: string): void {
  migrated ??= migrateOne();
  writeFileSync(path, migrated, { mode: 0o600, flag: 'wx' });
}

function migrateOne(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-migrated-'));
  try {
    const path = join(folder, 'order-sync.db');
    const database = openDatabase(path, 'if-missing');
    migrate(database);
    database.close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
