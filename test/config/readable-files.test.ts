import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readReferenceSecret } from '../../src/config/reference-secret.ts';
import { loadConfig } from '../../src/config/load.ts';
import { openDatabase } from '../../sandbox/storage/database.ts';
import { folderWith, minimal } from './config-file.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

it('the check of a configuration warns of each file with secrets or codes that every user may read', () => {
  const names = ['reference.secret', 'order-sync.db', 'order-sync.db-wal', 'run.json'];
  const cwd = folderWith({
    'c.yaml': minimal,
    ...Object.fromEntries(names.map((name) => [`data/${name}`, 'x'])),
  });
  const warnings = () => loadConfig({ file: 'c.yaml', environment: {}, cwd }).warnings;
  expect(warnings()).toEqual([]);
  for (const name of names) {
    const path = join(cwd, 'data', name);
    chmodSync(path, 0o644);
    expect(warnings()).toEqual([
      expect.stringContaining(
        `${path} can be read by every user of this machine: run chmod 600 on it`,
      ),
    ]);
    chmodSync(path, 0o640);
  }
  expect(warnings()).toEqual([]);
});

it('a new reference secret, its folder and the database of a sandbox are closed to other users', () => {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-modes-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const secret = join(folder, 'secrets', 'reference.secret');
  readReferenceSecret(secret, true);
  const database = join(folder, 'sandbox', 'sandbox.db');
  const open = openDatabase(database, 'full');
  const wal = `${database}-wal`;
  const modes = [dirname(secret), secret, dirname(database), database, wal].map(modeOf);
  open.close();
  expect(modes).toEqual(['700', '600', '700', '600', '600']);
});
