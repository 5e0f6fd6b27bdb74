import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { expect, it } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { knownInstallation, runHere } from './installation.ts';
import { fillOutbox, openOutbox } from './sample-outbox.ts';

it('copies the database while a worker has it open, checks the copy and keeps the newest', async () => {
  const place = knownInstallation();
  await fillOutbox(place);
  const worker = openOutbox(place);
  const run = () =>
    runHere(
      ['db', 'backup', '--json', '--config', place.configFile, '--set', 'backup.keep=2'],
      new SystemClock(),
    );
  const made = [await run(), await run(), await run()].map(({ stdout }) => JSON.parse(stdout));
  await worker.close();
  const folder = join(place.dataDir, 'backups');
  expect(readdirSync(folder).toSorted()).toEqual(
    made.slice(1).map(({ file }) => String(file).split('/').at(-1)),
  );
  expect(made[2].removed).toHaveLength(1);
  expect(statSync(made[2].file).mode & 0o777).toBe(0o600);
  const copy = new SqliteDatabase(made[2].file, { readonly: true });
  expect(copy.prepare('SELECT count(*) FROM entries').pluck().get()).toBe(4);
  copy.close();
});

it('refuses a backup of another upstream before it changes anything', async () => {
  const place = knownInstallation();
  await fillOutbox(place);
  const { file } = JSON.parse((await place.run('db', 'backup', '--json')).stdout);
  const other = new SqliteDatabase(file);
  other
    .prepare("UPDATE meta SET value = 'https://another.example.com' WHERE name = 'upstream'")
    .run();
  other.close();
  const before = readFileSync(join(place.dataDir, 'order-sync.db'));
  const refused = await place.run('db', 'restore', file);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('is a backup of the upstream https://another.example.com');
  expect(readFileSync(join(place.dataDir, 'order-sync.db')).equals(before)).toBe(true);
  expect(
    readdirSync(place.dataDir).filter(
      (name) => name.includes('restore') || name.startsWith('replaced'),
    ),
  ).toEqual([]);
});

it('restores a backup, keeps the old database, and begins the after-loss mode', async () => {
  const place = knownInstallation();
  await fillOutbox(place);
  const { file } = JSON.parse((await place.run('db', 'backup', '--json')).stdout);
  const worker = openOutbox(place);
  expect((await place.run('db', 'restore', file)).code).toBe(5);
  await worker.close();
  const damaged = join(place.folder, 'damaged.db');
  writeFileSync(damaged, 'no database');
  expect((await place.run('db', 'restore', damaged)).stderr).toContain('could not be read');
  expect((await place.run('db', 'check')).code).toBe(0);
  const restored = await place.run('db', 'restore', file, '--json');
  expect(restored).toMatchObject({ code: 0 });
  const { replaced } = JSON.parse(restored.stdout);
  expect(readFileSync(join(replaced, 'order-sync.db')).length).toBeGreaterThan(0);
  const store = openOutbox(place);
  expect(store.read.listOrders({ limit: 10 })).toHaveLength(3);
  expect((await store.pauses.all()).map(({ scope, reason }) => `${scope} ${reason}`)).toContain(
    'account older_copy',
  );
  await store.close();
});
