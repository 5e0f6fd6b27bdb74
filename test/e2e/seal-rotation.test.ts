import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { runHere } from '../cli/installation.ts';
import { addSealedEntries, readableEntries } from '../support/many-sealed-entries.ts';
import { sealKey } from '../support/seal-keys.ts';
import { Installation, order, type WorkerProcess } from '../support/worker-process.ts';

// Three times what the worker seals between two lines of its log. Measured with 100,000.
const entries = Number(process.env['SEALED_ENTRIES'] ?? 30_000);

let installation: Installation;
afterEach(() => installation.close());

function sealWith(...ids: string[]): void {
  installation.configure((config) => {
    config.seal = { keys: ids.map(sealKey) };
  });
}

const bySealer = () =>
  Object.fromEntries(
    installation
      .query<{ key: string; n: number }>(
        'SELECT sealed_by AS key, count(*) AS n FROM entries WHERE units IS NOT NULL GROUP BY 1',
      )
      .map(({ key, n }) => [key, n]),
  );

/** An installation that was stopped, with entries that the old key has sealed. */
async function withOldEntries(): Promise<void> {
  installation = await Installation.open();
  sealWith('old');
  const worker = installation.start();
  await worker.started();
  await worker.end('SIGTERM');
  addSealedEntries(installation.databasePath, entries, sealKey('old'));
  sealWith('new', 'old');
}

const bought = (worker: WorkerProcess, id: number) =>
  worker.line(
    ({ msg, order_id: about, state }) =>
      msg === 'result delivered' && about === String(id) && state === 'completed',
  );

const cli = (...argv: string[]) =>
  runHere([...argv, '--config', installation.configFile], new SystemClock());

describe('a rotation of the sealing key', { timeout: 300_000 }, () => {
  it('is continued by the next worker after kill -9, while orders are bought', async () => {
    await withOldEntries();
    const first = installation.start();
    await first.line(({ msg }) => msg === 'sealing codes with the first key');
    await first.end('SIGKILL');
    const between = bySealer();
    // It was killed in the middle: otherwise this test shows nothing.
    expect(between['new']).toBeGreaterThan(0);
    expect(between['old']).toBeGreaterThan(0);
    const second = installation.start();
    await second.started();
    const start = performance.now();
    for (let id = 1; id <= 6; id += 1) {
      installation.drop(`${id}.json`, order(id));
      await bought(second, id);
    }
    await second.line(({ msg }) => msg === 'all codes are sealed with the first key');
    if (process.env['SEALED_ENTRIES'] !== undefined)
      process.stderr.write(
        `${entries} entries: ${Math.round(performance.now() - start)} ms after the kill\n`,
      );
    expect(bySealer()).toEqual({ new: entries + 6 });
    expect(JSON.parse((await cli('seal', 'rotate', '--json')).stdout)).toMatchObject({
      seals_with: 'new',
      keys: [
        { id: 'new', entries: entries + 6 },
        { id: 'old', entries: 0 },
      ],
      unreadable: [],
    });
    await second.end('SIGTERM');
    sealWith('new');
    const third = installation.start();
    await third.started();
    await third.end('SIGTERM');
    expect(readableEntries(installation.databasePath, [sealKey('new')])).toBe(entries);
  });

  it('is performed by the command while no worker runs, and can be repeated', async () => {
    await withOldEntries();
    const rotated = await cli('seal', 'rotate');
    expect(rotated).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('not used any more'),
    });
    expect(rotated.stderr).toMatch(/^\d+ entries are left\n/);
    expect(bySealer()).toEqual({ new: entries });
    expect((await cli('seal', 'rotate')).code).toBe(0);
    expect(readableEntries(installation.databasePath, [sealKey('new')])).toBe(entries);
  });
});
