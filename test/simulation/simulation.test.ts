import { afterAll, describe, expect, it } from 'vitest';
import { runSeed } from './run-seed.ts';
import { SimDisk } from './sim-disk.ts';

const disk = new SimDisk();
afterAll(() => disk.destroy());

describe('the whole worker, on simulated time, against an API that reads every gap of its specification its own way', () => {
  // The many thousands run with `npm run simulate`; these few show that nothing obvious is broken.
  it('keeps every promise in 300 runs', { timeout: 120_000 }, async () => {
    const failures: string[] = [];
    for (let seed = 1; seed <= 300; seed += 1) {
      const { violations } = await runSeed(seed, disk);
      const [first] = violations;
      if (first !== undefined)
        failures.push(`npm run simulate -- --seed ${seed}: ${first.invariant} ${first.sentence}`);
    }
    expect(failures).toEqual([]);
  });

  it('repeats a run exactly', async () => {
    for (const seed of [3, 23, 94]) {
      const first = await runSeed(seed, disk);
      const again = await runSeed(seed, disk);
      expect(again.hash).toBe(first.hash);
    }
  });
});
