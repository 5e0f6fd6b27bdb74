import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FolderBench } from './folder-bench.ts';

let bench: FolderBench;
beforeEach(() => {
  bench = new FolderBench();
});
afterEach(() => bench.close());

const good = 'order_id,variant,currency\n1,v,USD\n';
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('an order file that is a hard link', () => {
  it('is rejected unread: its other name may be that of a file which its sender must not read', async () => {
    await bench.intake.scanOnce();
    const secret = join(bench.root, 'run.json');
    writeFileSync(secret, '{"control_token":"never-shown-token"}');
    linkSync(secret, join(bench.config.inbox, 'orders.json'));
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 0, rejected: 1 });
    const reports = bench.names('rejected').filter((name) => name.endsWith('.error.json'));
    expect(reports).toHaveLength(1);
    const report = readFileSync(join(bench.config.rejected, reports[0] ?? ''), 'utf8');
    expect(JSON.parse(report)).toMatchObject({
      code: 'hard_link',
      message: expect.stringContaining('2 hard links'),
    });
    expect(report + JSON.stringify(bench.log)).not.toContain('never-shown-token');
  });

  it('is taken once it has one name only', async () => {
    await bench.intake.scanOnce();
    const draft = join(bench.root, 'draft');
    writeFileSync(draft, good);
    linkSync(draft, join(bench.config.inbox, 'orders.csv'));
    rmSync(draft);
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 1 });
  });
});

describe('a folder of order files that is a link', () => {
  it.each(['inbox', 'work', 'archive', 'rejected'] as const)(
    'is refused at the start: %s',
    async (name) => {
      const elsewhere = join(bench.root, 'elsewhere');
      mkdirSync(elsewhere);
      symlinkSync(elsewhere, bench.config[name]);
      await expect(bench.intake.start()).rejects.toMatchObject({
        code: 'FOLDER_UNUSABLE',
        message: `${bench.config[name]} is not a folder, but a link or something else`,
      });
    },
  );

  it('gets no report while it runs: the file waits until the folder is back', async () => {
    await bench.intake.scanOnce();
    const elsewhere = join(bench.root, 'elsewhere');
    mkdirSync(elsewhere);
    rmSync(bench.config.rejected, { recursive: true });
    symlinkSync(elsewhere, bench.config.rejected);
    bench.drop('orders.csv', 'not a table');
    expect(await bench.intake.scanOnce()).toMatchObject({ rejected: 0, deferred: 1 });
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(bench.intake.status().degraded).toContain('is not a folder, but a link');
    rmSync(bench.config.rejected);
    mkdirSync(bench.config.rejected);
    bench.clock.advance(60_000);
    expect(await bench.intake.scanOnce()).toMatchObject({ rejected: 1 });
  });

  it('gets no archived file', async () => {
    await bench.intake.scanOnce();
    const elsewhere = join(bench.root, 'elsewhere');
    mkdirSync(elsewhere);
    const day = new Date(bench.clock.wallMs()).toISOString().slice(0, 10);
    symlinkSync(elsewhere, join(bench.config.archive, day));
    bench.drop('orders.csv', good);
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 0, deferred: 1 });
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});

describe('what the intake and the store make', () => {
  it('is closed to other users', async () => {
    await bench.intake.scanOnce();
    bench.drop('orders.csv', `${good}2,,USD\n`);
    await bench.intake.scanOnce();
    const { inbox, work, archive, rejected } = bench.config;
    const folders = [inbox, work, archive, rejected, join(archive, readdirSync(archive)[0] ?? '')];
    expect(folders.map(modeOf)).toEqual(['700', '700', '700', '700', '700']);
    const reports = bench.names('rejected').map((name) => join(rejected, name));
    const database = join(bench.root, 'order-sync.db');
    const files = [...reports, ...['', '-wal', '-shm', '-lock'].map((end) => `${database}${end}`)];
    expect(files.filter((path) => existsSync(path)).map(modeOf)).toEqual(files.map(() => '600'));
  });
});
