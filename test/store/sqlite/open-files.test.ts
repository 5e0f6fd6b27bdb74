import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { OpenFiles } from '../../../src/store/sqlite/open-files.ts';

/** A database whose log has some pages, and which is watched. */
function watched() {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-files-'));
  const path = join(folder, 'order-sync.db');
  const database = new SqliteDatabase(path);
  onTestFinished(() => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  database.pragma('journal_mode = WAL');
  database.exec('CREATE TABLE texts (text)');
  const write = (bytes: number): void =>
    void database.prepare('INSERT INTO texts VALUES (?)').run('x'.repeat(bytes));
  write(100_000);
  const files = new OpenFiles(database);
  files.check(true);
  return { path, write, files };
}

it('takes nothing for lost when another program empties the log right before a step writes', () => {
  const { path, write, files } = watched();
  files.check();
  const other = new SqliteDatabase(path);
  other.pragma('wal_checkpoint(TRUNCATE)');
  other.close();
  write(10);
  expect(() => files.check(true)).not.toThrow();
  expect(() => files.check()).not.toThrow();
});

it.each([0, 32 + 4120])(
  'notices a log that was cut to %i bytes, before anything is written',
  (bytes) => {
    const { path, files } = watched();
    truncateSync(`${path}-wal`, bytes);
    expect(() => files.check()).toThrow(expect.objectContaining({ code: 'DATABASE_REPLACED' }));
  },
);

it.each([0, 32 + 4120])(
  'notices a log that was cut to %i bytes right before a step writes',
  (bytes) => {
    const { path, write, files } = watched();
    files.check();
    truncateSync(`${path}-wal`, bytes);
    write(10);
    expect(() => files.check(true)).toThrow(expect.objectContaining({ code: 'DATABASE_REPLACED' }));
  },
);
