import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../support/row.ts';

/**
 * The whole time of each command, as the median of some rounds, in ms. In turns, because other
 * programs use the machine, too.
 */
export function commandTimes(
  commands: Readonly<Record<string, readonly string[]>>,
  rounds: number,
): ReadonlyMap<string, number> {
  const times = new Map(Object.keys(commands).map((name) => [name, [] as number[]]));
  // The first round fills the caches.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, command] of Object.entries(commands)) {
      const begun = performance.now();
      const { status, stderr } = spawnSync(process.execPath, command, {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      if (status !== 0)
        throw new Error(`${command.join(' ')} ended with ${status}: ${stderr.toString()}`);
      if (round > 0) times.get(name)?.push(performance.now() - begun);
    }
  }
  return new Map([...times].map(([name, all]) => [name, median(all)]));
}

/** Starts a worker; returns how long it took until it was ready, in ms. */
export async function startWorker(
  arguments_: readonly string[],
  dataDir: string,
): Promise<{ child: ChildProcess; readyMs: number }> {
  rmSync(join(dataDir, 'run.json'), { force: true });
  const begun = performance.now();
  const child = spawn(process.execPath, arguments_, { stdio: ['ignore', 'ignore', 'inherit'] });
  while (!(await isReady(dataDir))) {
    if (child.exitCode !== null) throw new Error('the worker ended before it was ready');
    await delay(2);
  }
  return { child, readyMs: performance.now() - begun };
}

async function isReady(dataDir: string): Promise<boolean> {
  const file = join(dataDir, 'run.json');
  if (!existsSync(file)) return false;
  try {
    const run: { admin_address: string } = JSON.parse(readFileSync(file, 'utf8'));
    return (await fetch(`http://${run.admin_address}/readyz`)).ok;
  } catch {
    return false;
  }
}

export async function stopWorker(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** The most memory that a process had so far, in MB. */
export function peakMemory(child: ChildProcess): number {
  const [, kilobytes = 'NaN'] =
    /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/** The processor time that a process has used so far, in ms. */
export function processorTime(child: ChildProcess): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
