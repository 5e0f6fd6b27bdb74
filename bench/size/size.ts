import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withFolder } from '../support/folder.ts';
import { goal, median, type Row } from '../support/row.ts';
import { tenLimits } from '../support/ten-limits.ts';
import { WorkerFolder } from '../support/worker.ts';
import { makeBundle } from './bundled-program.ts';
import { csvOfShops } from './csv-of-shops.ts';
import { settleOlder } from './settle-older.ts';
import { ownTimes } from './own-times.ts';
import { commandTimes, peakMemory, processorTime, startWorker, stopWorker } from './processes.ts';

const linesOfFile = 50_000;
const rounds = 5;
const starts = 5;
/** Nothing listens there: the bench is about the worker, not about the API. */
const api = 'http://127.0.0.1:1';
const limits = { window_ms: 60_000, requests: 60, orders: 20, transit_ms: 2000 };

interface Sized {
  readonly entries: number;
  /** `bin/order-sync.js` of the bundle. */
  readonly program: string;
}

const row = (what: string, result: string, ratio = '', promised = ''): Row => ({
  bench: 'size',
  what,
  result,
  ratio,
  goal: promised,
});
const times = (value: number): string => `${value.toFixed(2)} x`;

/** Twenty files of 50,000 lines at a million entries, one after the other, through a worker. */
async function takeInFiles(folder: string, { entries, program }: Sized): Promise<readonly Row[]> {
  const worker = new WorkerFolder({ folder, url: api, keyValue: 'sandbox-key-main', limits });
  const { child } = await startWorker([program, 'run', '--config', worker.configFile], folder);
  const files: { ms: number; cpuMs: number }[] = [];
  for (let index = 0; index < entries / linesOfFile; index += 1) {
    const name = `file-${index}.csv`;
    const cpuBefore = processorTime(child);
    const begun = performance.now();
    worker.drop(name, csvOfShops(index * linesOfFile, linesOfFile));
    while (!isArchived(folder, name) && child.exitCode === null) await delay(20);
    files.push({ ms: performance.now() - begun, cpuMs: processorTime(child) - cpuBefore });
  }
  const peak = peakMemory(child);
  await stopWorker(child);
  const [first = { ms: Number.NaN, cpuMs: Number.NaN }] = files;
  const last = files.at(-1) ?? first;
  const ratio = last.ms / first.ms;
  return [
    row(
      `a file of ${linesOfFile} lines at entry ${entries}, compared with the first`,
      `${(last.ms / 1000).toFixed(1)} s, the first ${(first.ms / 1000).toFixed(1)} s`,
      times(ratio),
      goal('1.3 x', ratio <= 1.3),
    ),
    row(
      '  by processor time, which a busy machine changes less',
      `${last.cpuMs} ms, the first ${first.cpuMs} ms`,
      times(last.cpuMs / first.cpuMs),
    ),
    row(
      `memory of the worker after ${files.length} files, at its peak`,
      `${peak.toFixed(0)} MB`,
      '',
      goal('200 MB', peak < 200),
    ),
  ];
}

/** The archive has a folder for each day. */
function isArchived(folder: string, name: string): boolean {
  const archive = join(folder, 'archive');
  return (
    existsSync(archive) &&
    readdirSync(archive, { recursive: true }).some((path) => String(path).includes(name))
  );
}

/** What people ask, of an outbox in which the older part is settled. */
async function ask(folder: string, { entries, program }: Sized): Promise<readonly Row[]> {
  const worker = new WorkerFolder({ folder, url: api, keyValue: 'sandbox-key-main', limits });
  settleOlder(worker.databasePath, entries / 2, Date.now());
  const [slowest = { what: '', ms: Number.NaN }, ...others] = ownTimes(worker.databasePath);
  const config = ['--config', worker.configFile];
  const readyTimes: number[] = [];
  const limitedTimes: number[] = [];
  let running = await startWorker([program, 'run', ...config], folder);
  for (let round = 0; round < starts; round += 1) {
    for (const [spendLimits, found] of [
      [tenLimits('folder', 'card-17'), limitedTimes],
      [[], readyTimes],
    ] as const) {
      await stopWorker(running.child);
      worker.limitSpending(spendLimits);
      running = await startWorker([program, 'run', ...config], folder);
      found.push(running.readyMs);
    }
  }
  const commands = {
    node: ['-e', '0'],
    version: [program, '--version'],
    health: [join(program, '../health.js'), '--live', folder],
    'queue status': [program, 'queue', 'status', ...config],
    'queue status --explain': [program, 'queue', 'status', '--explain', ...config],
    'orders list': [program, 'orders', 'list', ...config],
    'orders list --state': [program, 'orders', 'list', '--state', 'fulfilled', ...config],
    'orders list --search': [program, 'orders', 'list', '--search', 'card-17', ...config],
    'orders list --attention': [program, 'orders', 'list', '--attention', ...config],
    'orders show': [program, 'orders', 'show', 'order-7', ...config],
  };
  const measured = commandTimes(commands, rounds);
  await stopWorker(running.child);
  return rowsOf({ slowest, others, measured, readyTimes, limitedTimes });
}

function rowsOf(found: {
  slowest: { what: string; ms: number };
  others: readonly { what: string; ms: number }[];
  measured: ReadonlyMap<string, number>;
  readyTimes: readonly number[];
  limitedTimes: readonly number[];
}): readonly Row[] {
  const { slowest, others, measured, readyTimes } = found;
  const of = (name: string): number => measured.get(name) ?? Number.NaN;
  const [node, version] = [of('node'), of('version')];
  const [ready, limited] = [median(readyTimes), median(found.limitedTimes)];
  const compared = (name: string, base: number, most: number, baseName: string): Row => {
    const ratio = of(name) / base;
    return row(
      name,
      `${of(name).toFixed(0)} ms`,
      `${times(ratio)} ${baseName}`,
      goal(`${most} x`, ratio <= most),
    );
  };
  return [
    row(
      `the slowest of ${others.length + 1} lists, searches and counts: ${slowest.what}`,
      `${slowest.ms.toFixed(1)} ms`,
      '',
      goal('100 ms', slowest.ms <= 100),
    ),
    ...others.slice(0, 3).map(({ what, ms }) => row(`  then: ${what}`, `${ms.toFixed(1)} ms`)),
    row(
      'start to ready',
      `${ready.toFixed(0)} ms`,
      `${times((ready - 100) / node)} node, and 100 ms`,
      goal('4 x', ready <= 4 * node + 100),
    ),
    row(
      'start to ready with ten limits on spending',
      `${limited.toFixed(0)} ms`,
      `${times(limited / ready)} without`,
      goal('1.1 x', limited / ready <= 1.1),
    ),
    row('node -e 0', `${node.toFixed(0)} ms`, '1'),
    compared('version', node, 2.5, 'node'),
    compared('health', node, 2, 'node'),
    ...[...measured.keys()].slice(3).map((name) => compared(name, version, 2, 'version')),
  ];
}

/**
 * @param entries how many entries the outbox has; at least two files of 50,000 lines are taken in
 */
export async function measure(entries = 1_000_000): Promise<readonly Row[]> {
  return await withFolder(async (folder) => {
    const program = join(makeBundle(join(folder, 'program')), 'bin/order-sync.js');
    const sized = { entries: Math.max(entries, 2 * linesOfFile), program };
    const data = join(folder, 'data');
    mkdirSync(data);
    const files = await takeInFiles(data, sized);
    return [...files, ...(await ask(data, sized))];
  });
}
