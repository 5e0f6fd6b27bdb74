import { afterAll, describe, expect, it } from 'vitest';
import { sweep } from './crash-sweep.ts';
import { failuresOf } from './failures-of.ts';
import { runSeed } from './run-seed.ts';
import { scenarios } from './scenarios.ts';
import { SimDisk } from './sim-disk.ts';

const disk = new SimDisk();
afterAll(() => disk.destroy());

describe('the whole worker on simulated time, in more runs than a developer waits for', () => {
  it('the worker keeps every promise in 200 runs', { timeout: 600_000 }, async () => {
    expect(await failuresOf(1, 200, disk)).toEqual([]);
  });

  it('a seed repeats a run exactly', async () => {
    for (const seed of [3, 23, 94]) {
      const first = await runSeed(seed, disk);
      const again = await runSeed(seed, disk);
      expect(again.hash).toBe(first.hash);
    }
  });

  it.each(
    scenarios
      .filter((scenario) => scenario.twice === true)
      .map((scenario) => [scenario.plan.name, scenario] as const),
  )(
    'the worker survives a kill and a power loss at every port call: %s',
    { timeout: 600_000 },
    async (_name, scenario) => {
      const { runs, failures } = await sweep(scenario, disk, false);
      expect(failures).toEqual([]);
      expect(runs).toBeGreaterThan(50);
    },
  );
});
