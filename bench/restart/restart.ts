import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import * as z from 'zod';
import { withFolder } from '../support/folder.ts';
import { goal, median, type Row } from '../support/row.ts';
import { keyValueOf, richAccount, startSandbox } from '../support/sandbox.ts';
import { csvOf, kill, WorkerFolder } from '../support/worker.ts';

const pending = 100_000;
const kills = 7;
const goalMs = 1000;

const points = ['runtime', 'modules loaded', 'store open', 'first send', 'arrived'] as const;
type Point = (typeof points)[number];
const markSchema = z.object({ name: z.enum(points), at: z.number() });

const now = (): number => performance.timeOrigin + performance.now();

/** When a start reached each point, in ms since the process was started. */
type Start = Readonly<Record<Point, number>>;

/** Collects the start times of a worker until it has sent its first call. */
async function startTimesOf(child: ChildProcess, startedAt: number): Promise<Start> {
  const nothing = Number.NaN;
  const times: Record<Point, number> = {
    runtime: nothing,
    'modules loaded': nothing,
    'store open': nothing,
    'first send': nothing,
    arrived: nothing,
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.on('message', (message) => {
    const { name, at } = markSchema.parse(message);
    times[name] = at - startedAt;
    if (name === 'first send') resolve();
  });
  child.once('exit', () => reject(new Error('the worker ended before its first call')));
  await promise;
  return times;
}

function countPending(path: string): number {
  if (!existsSync(path)) return 0;
  const database = new SqliteDatabase(path, { readonly: true });
  try {
    // The first start has made the file, but perhaps not yet the table.
    if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'entries'").get() === undefined)
      return 0;
    return Number(
      database.prepare("SELECT count(*) FROM entries WHERE state = 'pending'").pluck().get(),
    );
  } finally {
    database.close();
  }
}

export async function measure(): Promise<readonly Row[]> {
  return await withFolder(async (folder) => {
    const sandbox = await startSandbox(folder, {
      limits: { enabled: false },
      // Slow answers: calls are in flight whenever the worker is killed.
      latency: { before_ms: [0, 0], after_ms: [20, 40] },
      accounts: [richAccount('restart')],
    });
    const own = join(folder, 'worker');
    mkdirSync(own);
    const worker = new WorkerFolder({
      folder: own,
      url: sandbox.url,
      keyValue: keyValueOf('restart'),
      // Limits that are never reached: the bench measures the start, not the budget.
      limits: { window_ms: 100, requests: 20_000, orders: 20_000, transit_ms: 50 },
    });
    for (const part of ['a', 'b']) worker.drop(`${part}.csv`, csvOf(50_000, part));
    worker.drop('c.csv', csvOf(20_000, 'c'));
    let child = worker.start();
    const starts: Start[] = [];
    let least = Number.POSITIVE_INFINITY;
    try {
      do await delay(500);
      while (countPending(worker.databasePath) < pending + 10_000);
      for (let round = 0; round < kills; round += 1) {
        await kill(child);
        least = Math.min(least, countPending(worker.databasePath));
        const arrival = sandbox.nextArrival();
        const startedAt = now();
        child = worker.start(['--import', new URL('start-times.ts', import.meta.url).href]);
        const times = await startTimesOf(child, startedAt);
        const arrived = (await arrival) - startedAt;
        starts.push({ ...times, arrived });
        await delay(300);
      }
    } finally {
      await kill(child);
      await sandbox.close();
    }
    return rowsOf(starts, least);
  });
}

function rowsOf(starts: readonly Start[], least: number): readonly Row[] {
  const at = (point: Point): number => median(starts.map((start) => start[point]));
  const total = at('arrived');
  const worst = Math.max(...starts.map((start) => start.arrived));
  const step = (what: string, from: number, to: Point): Row => ({
    bench: 'restart',
    what: `  of which ${what}`,
    result: `${Math.round(at(to) - from)} ms`,
    ratio: `${(((at(to) - from) / total) * 100).toFixed(0)} %`,
    goal: '',
  });
  return [
    {
      bench: 'restart',
      what: `kill -9 with ${least.toLocaleString('en')} pending: process start to first call at the server, median of ${starts.length}`,
      result: `${Math.round(total)} ms (worst ${Math.round(worst)} ms)`,
      ratio: `${(total / goalMs).toFixed(2)} of the goal`,
      goal: goal('1 s', worst < goalMs && least >= pending),
    },
    step("Node's start", 0, 'runtime'),
    step('loading modules and the config', at('runtime'), 'modules loaded'),
    step('opening the store', at('modules loaded'), 'store open'),
    step('recovery and the first claim', at('store open'), 'first send'),
    step('the way to the server', at('first send'), 'arrived'),
  ];
}
