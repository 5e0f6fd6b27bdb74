import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sweep } from './crash-sweep.ts';
import { withMutant } from './mutant.ts';
import { mutants } from './mutants.ts';
import { runSeed } from './run-seed.ts';
import { scenarios } from './scenarios.ts';
import { SimDisk } from './sim-disk.ts';

const disk = new SimDisk();
afterAll(() => disk.destroy());

describe('the whole worker on simulated time, against an API with random readings of its specification', () => {
  // `npm run simulate` runs many thousands; these few find obvious defects.
  it('the worker keeps every promise in 200 runs', { timeout: 120_000 }, async () => {
    const failures: string[] = [];
    for (let seed = 1; seed <= 200; seed += 1) {
      const { violations } = await runSeed(seed, disk);
      const [first] = violations;
      if (first !== undefined)
        failures.push(`npm run simulate -- --seed ${seed}: ${first.invariant} ${first.sentence}`);
    }
    expect(failures).toEqual([]);
  });

  it.each(
    scenarios.filter((scenario) => scenario.twice === true).map((scenario) => [scenario.plan.name, scenario] as const),
  )(
    'the worker survives a kill and a power loss at every port call: %s',
    { timeout: 120_000 },
    async (_name, scenario) => {
      const { runs, failures } = await sweep(scenario, disk, false);
      expect(failures).toEqual([]);
      expect(runs).toBeGreaterThan(50);
    },
  );

  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    'the planted bug changes what is in the program, and leaves a program: %s',
    (_name, mutant) => {
      const planted = withMutant(mutant, readFileSync(join(import.meta.dirname, '../../src', mutant.file), 'utf8'));
      expect(() => (mutant.file.endsWith('.ts') ? stripTypeScriptTypes(planted) : planted)).not.toThrow();
    },
  );

  it('a seed repeats a run exactly', async () => {
    for (const seed of [3, 23, 94]) {
      const first = await runSeed(seed, disk);
      const again = await runSeed(seed, disk);
      expect(again.hash).toBe(first.hash);
    }
  });
});
