import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { runHere } from '../cli/installation.ts';
import { Installation } from '../support/worker-process.ts';

let place: Installation;
afterEach(() => place.close());

const rows = 300;
const kills = 6;

async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`${what} never came`);
    await delay(20);
  }
}

const writtenAt = (paths: readonly string[]): readonly number[] =>
  paths.map((path) => lstatSync(path).mtimeMs);

interface Seen {
  readonly path: string;
  readonly reads: number;
  readonly versions: number;
  readonly broken: readonly string[];
}

async function readerOf(paths: readonly string[]): Promise<() => Promise<readonly Seen[]>> {
  const script = join(import.meta.dirname, '../support/polling-reader.ts');
  const child = spawn(process.execPath, [script, ...paths], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child, 'spawn');
  return async () => {
    child.stdin.end();
    return JSON.parse(await text(child.stdout));
  };
}

describe('a program that reads a result a thousand times a second', { timeout: 120_000 }, () => {
  it('never sees a part of one, while it is written again and again and the worker is killed', async () => {
    place = await Installation.open({ folder: { source: 'shop' } });
    let worker = place.start();
    await worker.started();
    const lines = Array.from(
      { length: rows },
      (_, id) => `shop,${id},steam-usd-5,${id === 0 ? 500 : 1},USD`,
    );
    place.drop('many.csv', `source,order_id,variant,quantity,currency\n${lines.join('\n')}\n`);
    await until(
      () => place.csvResults().size === 1 && place.results().size === rows,
      'all results',
    );
    const [name = ''] = readdirSync(join(place.folder, 'results', 'files'));
    const paths = ['shop/0.json', `files/${name}`].map((path) =>
      join(place.folder, 'results', path),
    );
    const end = await readerOf(paths);
    for (let kill = 0; kill < kills; kill += 1) {
      const killed = new AbortController();
      const rewriting = (async () => {
        while (!killed.signal.aborted) {
          const argv = [
            'results',
            'rewrite',
            '--source',
            'shop',
            '--order',
            '0',
            '--reason',
            'test',
          ];
          await runHere([...argv, '--config', place.configFile], new SystemClock());
        }
      })();
      const before = writtenAt(paths);
      await until(
        () => writtenAt(paths).every((at, index) => at !== before[index]),
        'a new version of each file',
      );
      // In the middle of whatever it writes.
      await delay(100 + 150 * kill);
      await worker.end('SIGKILL');
      killed.abort();
      await rewriting;
      worker = place.start();
      await worker.started();
    }
    const seen = await end();
    await worker.end('SIGTERM');
    expect(seen.map(({ broken }) => broken)).toEqual([[], []]);
    for (const { reads, versions } of seen) {
      // On an idle machine a thousand a second; on a busy one fewer.
      expect(reads).toBeGreaterThan(1000);
      expect(versions).toBeGreaterThan(kills);
    }
    expect(place.csvResults().get(name)?.trimEnd().split('\n')).toHaveLength(rows + 1);
  });
});
