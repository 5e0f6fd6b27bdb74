import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { OrderSyncError } from '../../../src/core/order-sync-error.ts';
import type { FolderSettings } from '../../../src/intake/folder/settings.ts';
import { FolderBench, csvHeader } from './folder-bench.ts';
import { failNext } from './failing-calls.ts';
import { wrappedStore } from '../../support/wrapped-store.ts';

let bench: FolderBench;
afterEach(() => bench.close());

async function open(changes: Partial<FolderSettings> = {}): Promise<FolderBench> {
  bench = new FolderBench(changes);
  await bench.intake.scanOnce();
  return bench;
}

const row = (orderId: string) => `${orderId},1,gift_card_order,gift-us-25,,,1,,USD\n`;
const csv = (...orderIds: string[]) => `${csvHeader}\n${orderIds.map(row).join('')}`;

describe('a file in the inbox', () => {
  it('is only taken after it looked the same in three scans over two seconds', async () => {
    const { intake, clock, config } = await open({ stableObservations: 3, stableMs: 2000 });
    const path = join(config.inbox, 'slow.csv');
    writeFileSync(path, csv('1'));
    const taken = async (afterMs: number) => {
      clock.advance(afterMs);
      return (await intake.scanOnce()).ingested;
    };
    expect([await taken(0), await taken(1000)]).toEqual([0, 0]);
    appendFileSync(path, row('2'));
    expect([await taken(1000), await taken(500), await taken(500), await taken(500)]).toEqual([
      0, 0, 0, 0,
    ]);
    expect(await taken(500)).toBe(1);
    expect(bench.entryCount()).toBe(2);
  });

  it.each(['.hidden.csv', '~orders.csv', 'a.csv.tmp', 'a.swp', '.nfs0001'])(
    'is ignored while it has a name of unfinished files: %s',
    async (name) => {
      const { intake, config } = await open();
      writeFileSync(join(config.inbox, name), csv('1'));
      expect(await intake.scanOnce()).toMatchObject({ ingested: 0, rejected: 0, waiting: 0 });
      expect(bench.names('inbox')).toEqual([name]);
    },
  );

  it('is rejected when its extension is unknown', async () => {
    const { intake } = await open();
    bench.drop('orders.xlsx', 'PK');
    expect(await intake.scanOnce()).toMatchObject({ rejected: 1 });
    const hint = expect.stringContaining('Save a workbook as "CSV UTF-8"');
    expect(bench.report()).toMatchObject({
      code: 'unknown_extension',
      file: 'orders.xlsx',
      next_step: hint,
    });
  });

  it('is rejected when it is a link or a pipe, and stays in the inbox when it is a folder', async () => {
    const { intake, config } = await open();
    symlinkSync('/etc/passwd', join(config.inbox, 'link.csv'));
    execFileSync('mkfifo', [join(config.inbox, 'pipe.csv')]);
    mkdirSync(join(config.inbox, 'folder.csv'));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 0, rejected: 2 });
    await intake.scanOnce();
    expect(bench.names('inbox')).toEqual(['folder.csv']);
    expect(bench.names('rejected').filter((name) => name.endsWith('.error.json'))).toHaveLength(2);
    expect(bench.log.filter(({ msg }) => msg.includes('the inbox has a folder'))).toHaveLength(1);
    expect(JSON.stringify(bench.log)).toContain('not_a_regular_file');
  });

  it('may have any name: 255 bytes, bytes that are not UTF-8, line breaks, dots', async () => {
    const { intake, config } = await open();
    const names = [
      Buffer.from(`${'x'.repeat(251)}.csv`),
      Buffer.concat([Buffer.from('caf'), Buffer.from([0xe9]), Buffer.from('.csv')]),
      Buffer.from('a\nb "c" $(d).csv'),
      Buffer.from('..x.csv').subarray(2),
      Buffer.from('заказы.csv'),
    ];
    for (const [index, name] of names.entries()) {
      writeFileSync(Buffer.concat([Buffer.from(`${config.inbox}/`), name]), csv(String(index)));
    }
    expect(await intake.scanOnce()).toMatchObject({ ingested: 5 });
    expect(bench.names('inbox')).toEqual([]);
    expect(
      bench.archived().every((name) => /^[0-9A-Z]{26}__[A-Za-z0-9._-]{1,80}$/.test(name)),
    ).toBe(true);
  });

  it('is taken by exactly one of two workers that share the inbox', async () => {
    const { intake, store } = await open();
    const second = bench.newIntake({}, store);
    await second.scanOnce();
    for (let index = 0; index < 40; index += 1) bench.drop(`${index}.csv`, csv(`order-${index}`));
    const reports = await Promise.all([intake.scanOnce(), second.scanOnce()]);
    expect(reports.reduce((sum, report) => sum + report.ingested, 0)).toBe(40);
    expect([bench.entryCount(), bench.archived().length]).toEqual([40, 40]);
    expect(reports.reduce((sum, report) => sum + report.deferred + report.rejected, 0)).toBe(0);
  });

  it('does not replace another of the same name in the archive', async () => {
    const { intake } = await open();
    for (const orderId of ['1', '2', '1']) {
      bench.drop('orders.csv', csv(orderId));
      await intake.scanOnce();
    }
    expect(bench.archived()).toHaveLength(3);
    expect(bench.entryCount()).toBe(2);
  });

  it('is taken before files that were seen later', async () => {
    const { intake, clock, store } = await open({ stableMs: 1000 });
    bench.drop('z.csv', csv('first'));
    await intake.scanOnce();
    clock.advance(10);
    bench.drop('a.csv', csv('second'));
    await intake.scanOnce();
    clock.advance(1000);
    await intake.scanOnce();
    const orders = store.read.listOrders({ limit: 10 }).toSorted((one, other) => one.id - other.id);
    expect(orders.map(({ orderId }) => orderId)).toEqual(['first', 'second']);
  });
});

describe('a file that is written to after it was taken', () => {
  it('is read again: added lines are bought, known lines are not bought twice, and a warning is logged', async () => {
    const { intake, config, clock } = await open({ stableMs: 1000 });
    let appended = false;
    const writer = bench.newIntake(
      {},
      wrappedStore(bench.store, (name, step) => async (...values) => {
        if (name === 'intake.acceptBatch' && !appended) {
          // The writer still has the file open after the rename, and continues to write.
          appendFileSync(join(config.work, bench.names('work')[0] ?? ''), row('3'));
          appended = true;
        }
        return step(...values);
      }),
    );
    await intake.stop();
    bench.drop('orders.csv', csv('1', '2'));
    await writer.scanOnce();
    clock.advance(1000);
    expect(await writer.scanOnce()).toMatchObject({
      changed: 1,
      ingested: 0,
      lines: { accepted: 0 },
    });
    expect(bench.entryCount()).toBe(2);
    clock.advance(1000);
    expect(await writer.scanOnce()).toMatchObject({
      ingested: 1,
      lines: { accepted: 1, known: 2 },
    });
    expect([bench.entryCount(), bench.names('work')]).toEqual([3, []]);
    expect(bench.archived()).toHaveLength(1);
    expect(
      bench.log.filter(({ level, msg }) => level === 40 && msg.includes('written to after')),
    ).toHaveLength(1);
  });

  it.each([
    ['for as long as a slow writer may pause', 0, 0],
    ['after one scan of many files that takes longer', 0, 90_000],
    ['behind more files than each scan looks at', 500, 90_000],
  ])('is also read again from the archive, %s', async (_when, others, scanMs) => {
    const { intake, config, clock } = await open({ stableMs: 1000 });
    bench.drop('orders.csv', csv('1'));
    await intake.scanOnce();
    clock.advance(1000);
    for (let n = 0; n < others; n += 1) bench.drop(`other-${n}.csv`, csv('1'));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    await intake.scanOnce();
    clock.advance(1000);
    expect(await intake.scanOnce()).toMatchObject({ ingested: others });
    const [archived = ''] = readdirSync(config.archive, {
      recursive: true,
      encoding: 'utf8',
    }).filter((name) => name.endsWith('orders.csv'));
    appendFileSync(join(config.archive, archived), row('2'));
    clock.advance(scanMs);
    expect(await intake.scanOnce()).toMatchObject({ changed: 1, ingested: 0 });
    clock.advance(1000);
    expect(await intake.scanOnce()).toMatchObject({
      ingested: 1,
      lines: { accepted: 1, known: 1 },
    });
    expect([bench.entryCount(), bench.archived().length, bench.names('work')]).toEqual([
      2,
      1 + others,
      [],
    ]);
  });
});

describe('with markers', () => {
  it('a file waits for its marker, then both leave the inbox', async () => {
    const { intake } = await open({ ready: 'done_file' });
    bench.drop('orders.csv', csv('1'));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 0, waiting: 1 });
    bench.drop('orders.csv.done', '');
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1, waiting: 0 });
    expect([bench.names('inbox'), bench.names('work')]).toEqual([[], []]);
  });

  it('a marker that comes first waits for its file', async () => {
    const { intake } = await open({ ready: 'done_file' });
    bench.drop('orders.csv.done', 'whatever it says');
    expect(await intake.scanOnce()).toMatchObject({ rejected: 0 });
    bench.drop('orders.csv', csv('1'));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
  });

  it('a claim that was interrupted between marker and file is undone at the next start', async () => {
    const { intake, config } = await open({ ready: 'done_file' });
    await intake.stop();
    bench.drop('orders.csv', csv('1'));
    writeFileSync(join(config.work, '01HZZZZZZZZZZZZZZZZZZZZZZZ__orders.csv.done'), '');
    await bench.restart();
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 1 });
    expect([bench.names('inbox'), bench.names('work')]).toEqual([[], []]);
  });
});

describe('when a power loss put a file back into the inbox, and not its marker', () => {
  const marker = (id: string) => join(bench.config.work, `${id}__orders.csv.done`);
  const idOf = () => /[0-9A-Z]{26}/.exec(bench.archived()[0] ?? '')?.[0] ?? '';

  it('a file that was read is archived again', async () => {
    const { intake } = await open({ ready: 'done_file' });
    bench.drop('orders.csv', csv('1'));
    bench.drop('orders.csv.done', '');
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    await intake.stop();
    bench.drop('orders.csv', csv('1'));
    writeFileSync(marker(idOf()), '');
    await bench.restart();
    expect(await bench.intake.scanOnce()).toMatchObject({
      ingested: 1,
      lines: { accepted: 0, known: 1 },
    });
    expect([bench.names('inbox'), bench.names('work')]).toEqual([[], []]);
  });

  it('a file of which not all was read is read', async () => {
    const { intake } = await open({ ready: 'done_file' });
    await intake.stop();
    const id = '01HZZZZZZZZZZZZZZZZZZZZZZZ';
    await bench.store.intake.files.begin({
      id,
      name: 'orders.csv',
      folder: 'folder',
      sizeBytes: 1,
      nowMs: 1000,
    });
    bench.drop('orders.csv', csv('1'));
    writeFileSync(marker(id), '');
    await bench.restart();
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 1, lines: { accepted: 1 } });
    expect([bench.names('inbox'), bench.names('work')]).toEqual([[], []]);
  });

  it('another file of that name waits for its own marker', async () => {
    const { intake } = await open({ ready: 'done_file' });
    bench.drop('orders.csv', csv('1'));
    bench.drop('orders.csv.done', '');
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    await intake.stop();
    bench.drop('orders.csv', csv('2'));
    writeFileSync(marker(idOf()), '');
    await bench.restart();
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 0, waiting: 1 });
    expect([bench.names('inbox'), bench.names('work')]).toEqual([['orders.csv'], []]);
  });
});

describe('when the folders fail', () => {
  it('a folder that cannot be used stops the start with a hint', async () => {
    await open();
    rmSync(bench.config.archive, { recursive: true });
    writeFileSync(bench.config.archive, 'not a folder');
    await expect(bench.newIntake().start()).rejects.toMatchObject({
      code: 'FOLDER_UNUSABLE',
      hint: expect.any(String),
    });
  });

  it('folders on different mounts stop the start, because no file could be renamed between them', async () => {
    await open();
    const own = statSync(bench.config.inbox).dev;
    const mount = ['/dev/shm', '/tmp', import.meta.dirname].find(
      (folder) => existsSync(folder) && statSync(folder).dev !== own,
    );
    const elsewhere = mkdtempSync(join(mount ?? '/', 'order-sync-intake-'));
    try {
      await expect(bench.newIntake({ archive: elsewhere }).start()).rejects.toMatchObject({
        code: 'FOLDER_UNUSABLE',
        hint: expect.stringContaining('one mount'),
      });
      expect(bench.names('work')).toEqual([]);
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });

  it('an inbox that disappears is logged once, shown in the status, and used again when it is back', async () => {
    const { intake, config } = await open();
    renameSync(config.inbox, `${config.inbox}.away`);
    await intake.scanOnce();
    await intake.scanOnce();
    expect(intake.status().degraded).toContain('cannot be read');
    expect(bench.log.filter(({ level }) => level >= 50)).toHaveLength(1);
    mkdirSync(config.inbox);
    bench.drop('orders.csv', csv('1'));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    expect(intake.status().degraded).toBeNull();
  });

  it('while the disk is nearly full, files stay in the inbox, which is not to blame', async () => {
    await open();
    bench.drop('orders.csv', csv('1'));
    bench.hasSpace = false;
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 0 });
    expect(bench.intake.status().degraded).toBeNull();
    expect(bench.names('inbox')).toEqual(['orders.csv']);
    bench.hasSpace = true;
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 1 });
    expect(bench.intake.status().degraded).toBeNull();
  });

  it('a file that was claimed, although the disk failed at it, is taken without a restart', async () => {
    const { intake, config } = await open();
    bench.drop('orders.csv', csv('1'));
    // The rename is done; then the folder cannot be synced, and nobody knows where the file is.
    failNext('open', new RegExp(`^${config.work}$`));
    failNext('lstat', new RegExp(`^${config.work}/.*orders`));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 0, deferred: 1 });
    expect([bench.names('inbox'), bench.names('work').length]).toEqual([[], 1]);
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    expect([bench.entryCount(), bench.names('work')]).toEqual([1, []]);
  });

  it('an archive that cannot be read stops nothing, and is shown in the status until it can', async () => {
    const { intake } = await open();
    bench.drop('orders.csv', csv('1'));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    bench.drop('more.csv', csv('2'));
    failNext('lstat', /archive/);
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    expect(intake.status().degraded).toContain('archive');
    await intake.scanOnce();
    expect(intake.status().degraded).toBeNull();
  });

  it('a late write to an archived file is read, although the first try fails', async () => {
    const { intake, config, clock } = await open();
    bench.drop('orders.csv', csv('1'));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    const [archived = ''] = bench.archived();
    const day = new Date(clock.wallMs()).toISOString().slice(0, 10);
    appendFileSync(join(config.archive, day, archived), row('2'));
    // After its rename the file is in the work folder, and the folder of the day cannot be synced.
    failNext('open', new RegExp(`${day}$`));
    expect(await intake.scanOnce()).toMatchObject({ changed: 0 });
    expect(await intake.scanOnce()).toMatchObject({
      ingested: 1,
      lines: { accepted: 1, known: 1 },
    });
    expect([bench.entryCount(), bench.names('work')]).toEqual([2, []]);
  });

  it('a late write is read although the disk is full when the file leaves the archive, and the intake does not stop', async () => {
    const { intake, config, clock } = await open();
    bench.drop('orders.csv', csv('1'));
    expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    let failures = 0;
    const full = wrappedStore(bench.store, (name, step) => (...values) => {
      if (name !== 'intake.files.replaced' || failures === 2) return step(...values);
      failures += 1;
      return Promise.reject(new OrderSyncError('DISK_FULL', 'The disk is full'));
    });
    const running = bench.newIntake({ scanIntervalMs: 20 }, full);
    const stopped: unknown[] = [];
    running.failed.catch((error: unknown) => stopped.push(error));
    await running.start();
    bench.drop('more.csv', csv('2'));
    await expect.poll(() => bench.archived()).toHaveLength(2);
    const more = bench.archived().find((name) => name.includes('more')) ?? '';
    const day = new Date(clock.wallMs()).toISOString().slice(0, 10);
    appendFileSync(join(config.archive, day, more), row('3'));
    await expect.poll(() => bench.entryCount()).toBe(3);
    await running.stop();
    expect([failures, stopped, bench.names('work')]).toEqual([2, [], []]);
    expect(running.status().degraded).toBeNull();
  });

  it('a file whose report cannot be written is finished a minute later', async () => {
    const { intake, config, clock } = await open();
    rmSync(config.rejected, { recursive: true });
    bench.drop('orders.csv', `${csv('1')}2,1,nonsense,v,,,1,,USD\n`);
    expect(await intake.scanOnce()).toMatchObject({ ingested: 0, deferred: 1 });
    expect(intake.status().degraded).toContain('orders.csv');
    mkdirSync(config.rejected);
    clock.advance(60_000);
    expect(await intake.scanOnce()).toMatchObject({
      ingested: 1,
      lines: { accepted: 1, rejected: 1 },
    });
    expect(bench.report().lines).toHaveLength(1);
    expect(bench.entryCount()).toBe(1);
    expect([bench.names('work'), intake.status().degraded]).toEqual([[], null]);
  });

  it.skipIf(process.getuid?.() === 0)(
    'a file without read permission stays in the inbox and is logged once',
    async () => {
      const { intake, config } = await open();
      bench.drop('orders.csv', csv('1'));
      chmodSync(join(config.inbox, 'orders.csv'), 0);
      expect(await intake.scanOnce()).toMatchObject({ deferred: 1 });
      await intake.scanOnce();
      expect(bench.log.filter(({ level }) => level >= 50)).toHaveLength(1);
      chmodSync(join(config.inbox, 'orders.csv'), 0o600);
      bench.clock.advance(60_000);
      expect(await intake.scanOnce()).toMatchObject({ ingested: 1 });
    },
  );

  it('a failure of the store stops the intake and is reported, and nothing is lost', async () => {
    await open();
    bench.drop('orders.csv', csv('1'));
    await bench.store.close();
    const intake = bench.newIntake();
    const failed = intake.failed.catch((error: unknown) => error);
    await intake.start();
    expect(await failed).toBeInstanceOf(Error);
    await intake.stop();
    await bench.restart();
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 1 });
  });
});

describe('the running intake', () => {
  it('takes files that are dropped while it runs, and may be stopped twice', async () => {
    const { intake } = await open({ scanIntervalMs: 20 });
    await intake.start();
    await intake.start();
    const accepted = bench.nextAccepted();
    bench.drop('orders.csv', csv('1'));
    await accepted;
    await Promise.all([intake.stop(), intake.stop()]);
    bench.drop('more.csv', csv('2'));
    expect(bench.names('inbox')).toEqual(['more.csv']);
  });
});
