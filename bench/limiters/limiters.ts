import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { mostInAnyWindow } from '../../sandbox/operator/ledger.ts';
import { withFolder } from '../support/folder.ts';
import { goal, type Row } from '../support/row.ts';
import { keyValueOf, richAccount, startSandbox, type SandboxProcess } from '../support/sandbox.ts';
import type { KeyReport } from '../support/key-report.ts';
import { csvOf, kill, WorkerFolder } from '../support/worker.ts';

/**
 * The limits of Spec 8 with a tenth of the window: 20 orders and 60 requests in any 6 s, counted as
 * a sliding log.
 */
const windowMs = 6000;
const limits = { window_ms: windowMs, requests: 60, orders: 20 };
const backlog = { steady: 80, killed: 60 };
/** In ms; inside the first window of the first process. */
const killAfterMs = 2500;
const giveUpMs = 90_000;

const ours = 'order-sync';
const contenders = [ours, 'p-queue', 'p-queue strict'] as const;
type Contender = (typeof contenders)[number];
type Mode = keyof typeof backlog;

interface Place {
  readonly folder: string;
  readonly sandbox: SandboxProcess;
}

const accountOf = (contender: Contender, mode: Mode): string =>
  `${contender.toLowerCase().replace(/[^a-z]/g, '-')}-${mode}`;

/**
 * Starts a contender. `left`: the references that the server has not sold yet; null at the first
 * start.
 */
type Starter = (left: readonly string[] | null) => ChildProcess;

function starterOf(contender: Contender, mode: Mode, place: Place): Starter {
  const account = accountOf(contender, mode);
  const count = backlog[mode];
  if (contender === ours) {
    const folder = join(place.folder, account);
    mkdirSync(folder);
    const worker = new WorkerFolder({
      folder,
      url: place.sandbox.url,
      keyValue: keyValueOf(account),
      // A tenth, like the window. All other settings have their defaults, except the in-flight
      // window of two minutes.
      limits: { ...limits, transit_ms: 500 },
      submit: { in_flight_window_ms: 2000 },
      timeScale: 0.1,
    });
    worker.drop('orders.csv', csvOf(count, account));
    return () => worker.start();
  }
  const all = Array.from({ length: count }, (_, index) => `${account}-${index}`);
  return (left) => {
    const given = {
      contender,
      url: place.sandbox.url,
      keyValue: keyValueOf(account),
      references: left ?? all,
      windowMs,
      orders: limits.orders,
    };
    const file = join(import.meta.dirname, 'contenders.ts');
    return spawn(process.execPath, [file, JSON.stringify(given)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  };
}

async function drain(contender: Contender, mode: Mode, place: Place): Promise<KeyReport> {
  const account = accountOf(contender, mode);
  const start = starterOf(contender, mode, place);
  const report = (): Promise<KeyReport> => place.sandbox.reportOn(account);
  let child = start(null);
  const until = performance.now() + giveUpMs;
  let killed = mode !== 'killed';
  try {
    for (;;) {
      await delay(50);
      const found = await report();
      const first = found.arrivals[0];
      if (!killed && first !== undefined && Date.now() - first >= killAfterMs) {
        await kill(child);
        // A contender with its jobs in memory gets them again, as from a queue on disk: the bench
        // compares only what the limiters remember.
        const bought = new Set((await report()).bought);
        const all = Array.from({ length: backlog[mode] }, (_, index) => `${account}-${index}`);
        child = start(all.filter((reference) => !bought.has(reference)));
        killed = true;
      }
      if (found.bought.length >= backlog[mode] || performance.now() > until) return found;
    }
  } finally {
    await kill(child);
  }
}

function rowOf(contender: Contender, mode: Mode, found: KeyReport): Row {
  const first = Math.min(...found.arrivals);
  const elapsedMs = found.lastBoughtAt - first;
  const atBestMs = (backlog[mode] / limits.orders - 1) * windowMs;
  const most = mostInAnyWindow(found.arrivals, windowMs);
  const share = atBestMs / elapsedMs;
  const all = found.bought.length >= backlog[mode];
  return {
    bench: 'limiters',
    what: `${contender}${mode === 'killed' ? ', killed and restarted inside a window' : ''}`,
    result: `${found.limited} x 429, ${most} calls in the busiest window of ${limits.orders}, ${found.bought.length} orders in ${(elapsedMs / 1000).toFixed(1)} s`,
    ratio: all ? `${(share * 100).toFixed(0)} % of the ceiling` : 'not drained',
    goal: contender === ours ? goal('0 x 429', found.limited === 0 && most <= limits.orders) : '',
  };
}

export async function measure(): Promise<readonly Row[]> {
  const modes: readonly Mode[] = ['steady', 'killed'];
  return await withFolder(async (folder) => {
    const sandbox = await startSandbox(folder, {
      limits,
      latency: { before_ms: [10, 120], after_ms: [5, 60] },
      accounts: contenders.flatMap((contender) =>
        modes.map((mode) => richAccount(accountOf(contender, mode))),
      ),
    });
    const rows: Row[] = [];
    try {
      for (const mode of modes) {
        for (const contender of contenders) {
          process.stderr.write(`  ${contender}, ${mode}\n`);
          const found = await drain(contender, mode, { folder, sandbox });
          rows.push(rowOf(contender, mode, found));
        }
      }
    } finally {
      await sandbox.close();
    }
    return rows;
  });
}
