import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import SqliteDatabase from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { Upkeep } from '../../src/app/upkeep.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { line, Outbox } from '../support/outbox.ts';

const eachSecond = '* * * * * *';

/** The upkeep of an outbox on a real file, and the lines of its log. */
async function upkeepOf(changes: { minFreeBytes?: number } = {}) {
  const outbox = await Outbox.open();
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'info' },
    { write: (text: string) => void log.push(JSON.parse(text)) },
  );
  const folder = join(dirname(outbox.path), 'backups');
  const { minFreeBytes = 0 } = changes;
  const config = {
    databasePath: outbox.path,
    backup: { folder, keep: 1, schedule: eachSecond },
    disk: { minFreeBytes, sendingMinFreeBytes: 0 },
  };
  const make = () => new Upkeep({ config, store: outbox.store, clock: new SystemClock(), logger });
  onTestFinished(() => outbox.close());
  return { outbox, folder, log, make };
}

it('backs up while the worker writes, keeps the newest, and remembers the result', async () => {
  const { outbox, folder, log, make } = await upkeepOf();
  await outbox.accept([line()]);
  const upkeep = make();
  await upkeep.start();
  await expect.poll(() => log.filter(({ msg }) => msg === 'upkeep done').length).toBeGreaterThan(1);
  await outbox.accept([line({ orderId: '2' })]);
  await upkeep.stop();
  expect(await upkeep.health()).toBe('pass');
  const copies = readdirSync(folder).filter(
    (name) => name.endsWith('.db') && !name.startsWith('.'),
  );
  expect(copies).toHaveLength(1);
  const copy = new SqliteDatabase(join(folder, copies[0] ?? ''), { readonly: true });
  expect(copy.prepare('SELECT count(*) FROM entries').pluck().get()).toBe(1);
  copy.close();
  expect(await outbox.store.upkeep.last('backup')).toMatchObject({ outcome: 'done', code: null });
});

it('makes no backup that would fill the disk, and says so in health until one is made, also after a restart', async () => {
  const { folder, log, make } = await upkeepOf({ minFreeBytes: Number.MAX_SAFE_INTEGER });
  const upkeep = make();
  await upkeep.start();
  await expect
    .poll(() =>
      log.some(({ msg }) => String(msg).startsWith('the backup or check of the database failed')),
    )
    .toBe(true);
  await upkeep.stop();
  const later = make();
  await later.start();
  expect(await later.health()).toBe('warn');
  expect(later.healthCheck.details?.()).toMatchObject({
    reason: 'the last backup of the database failed (DISK_FULL)',
  });
  await later.stop();
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
});

it('finds damage, and health fails', async () => {
  const { outbox, log, make } = await upkeepOf();
  await outbox.accept([line()]);
  await outbox.reopen();
  const side = new SqliteDatabase(outbox.path);
  side.pragma('foreign_keys = OFF');
  side.exec("INSERT INTO esims (iccid, entry_id) VALUES ('8944000000000000001', 999)");
  side.close();
  const upkeep = make();
  await upkeep.start();
  await expect.poll(() => log.some(({ problems }) => problems !== undefined)).toBe(true);
  await upkeep.stop();
  expect(await upkeep.health()).toBe('fail');
  expect(upkeep.healthCheck.details?.()).toMatchObject({
    reason: 'the check found damage in the database',
  });
});

it('ends what is under way at a stop, and the next backup removes what is left of it', async () => {
  const { outbox, folder, log, make } = await upkeepOf();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '.order-sync-20260101T000000000Z.db.tmp'), 'cut off');
  const first = make();
  await first.start();
  await first.stop();
  const second = make();
  await second.start();
  await expect.poll(() => log.some(({ msg }) => msg === 'upkeep done')).toBe(true);
  await second.stop();
  expect(readdirSync(folder).filter((name) => name.includes('20260101'))).toEqual([]);
  expect((await outbox.store.upkeep.last('backup'))?.outcome).toBe('done');
});
