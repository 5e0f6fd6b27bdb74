import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { withFolder } from './support/folder.ts';
import { goal, type Row } from './support/row.ts';
import { keyValueOf, richAccount, startSandbox } from './support/sandbox.ts';
import { WorkerFolder } from './support/worker.ts';

const orders = 500;
/** A file is found within a second. */
const ordersAlone = 20;
const goals = { syncs: 4.5, cpuMs: 5 };
const hasStrace = spawnSync('strace', ['-V']).status === 0;
const hasProc = existsSync('/proc/self/stat');

/** Processor time of a process so far, user and system, in ms. */
function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // After the name of the program: fields 14 and 15 count hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Hands over files of so many orders each; the next one when the last has all its results. */
async function costOf(
  folder: string,
  url: string,
  wrapper: readonly string[],
  counted: (child: ChildProcess) => number,
): Promise<{ readonly together: number; readonly alone: number }> {
  mkdirSync(folder);
  const limits = { window_ms: 50, requests: 60_000, orders: 20_000, transit_ms: 50 };
  const worker = new WorkerFolder({ folder, url, keyValue: keyValueOf('cost'), limits });
  const child = worker.start([], wrapper);
  const results = join(folder, 'results/folder');
  let made = 0;
  const costOfEach = async (files: number, size: number): Promise<number> => {
    const before = made === 0 ? 0 : counted(child);
    for (let file = 0; file < files; file += 1) {
      const text = Array.from({ length: size }, (_, index) => orderOf(`order-${made + index}`));
      worker.drop(`${made}.ndjson`, `${text.join('\n')}\n`);
      made += size;
      while (!existsSync(results) || readdirSync(results).length < made) {
        if (child.exitCode !== null) throw new Error(`the worker ended with ${child.exitCode}`);
        await delay(20);
      }
    }
    // What is written after the last result belongs to it.
    await delay(1000);
    return (counted(child) - before) / (files * size);
  };
  try {
    // Until Node has compiled the code, and the first orders have proven the connector.
    await costOfEach(2, 50);
    const together = await costOfEach(1, orders);
    return { together, alone: await costOfEach(ordersAlone, 1) };
  } finally {
    // Under strace, the worker is a child of this child.
    const exited = once(child, 'exit');
    process.kill(pidOf(folder), 'SIGTERM');
    await exited;
  }
}

const pidOf = (folder: string): number =>
  z.object({ pid: z.number() }).parse(JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8')))
    .pid;

const orderOf = (id: string): string => {
  const line = { line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 };
  return JSON.stringify({ order_id: id, source: 'folder', currency: 'USD', lines: [line] });
};

export async function measure(): Promise<readonly Row[]> {
  return await withFolder(async (folder) => {
    const accounts = [richAccount('cost')];
    const sandbox = await startSandbox(folder, { limits: { enabled: false }, accounts });
    const trace = join(folder, 'trace');
    const strace = ['strace', '-f', '-e', 'trace=fsync,fdatasync', '-o', trace];
    const traced = (): number =>
      readFileSync(trace, 'utf8').match(/(?:fsync|fdatasync)\(/g)?.length ?? 0;
    const costIn = (name: string, ...how: [readonly string[], (child: ChildProcess) => number]) =>
      costOf(join(folder, name), sandbox.url, ...how);
    try {
      const syncs = hasStrace ? await costIn('traced', strace, traced) : null;
      const cpu = hasProc ? await costIn('timed', [], ({ pid = 0 }) => cpuMsOf(pid)) : null;
      return [
        row('synced writes', syncs, '', goals.syncs, 'strace is not installed'),
        row('processor time', cpu, ' ms', goals.cpuMs, 'this system has no /proc'),
      ];
    } finally {
      await sandbox.close();
    }
  });
}

function row(
  what: string,
  found: { readonly together: number; readonly alone: number } | null,
  unit: string,
  most: number,
  whySkipped: string,
): Row {
  const measured = `${what} an order, from its file to its result file, ${orders} in one file`;
  const common = { bench: 'order-cost', what: measured };
  if (found === null) return { ...common, result: `skipped: ${whySkipped}`, ratio: '', goal: '' };
  return {
    ...common,
    result: `${found.together.toFixed(1)}${unit}`,
    ratio: `${found.alone.toFixed(1)}${unit} in a file of its own`,
    goal: goal(`${most}${unit}`, found.together <= most),
  };
}
