import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { withMutant } from './mutant.ts';
import { mutants } from './mutants.ts';
import { failuresOf } from './failures-of.ts';
import { runSeed } from './run-seed.ts';
import { SimDisk } from './sim-disk.ts';

const disk = new SimDisk();
afterAll(() => disk.destroy());

describe('the whole worker on simulated time, against an API with random readings of its specification', () => {
  // `npm run simulate` runs many thousands; these few find obvious defects.
  it('the worker keeps every promise in the first runs', async () => {
    expect(await failuresOf(1, 8, disk)).toEqual([]);
  });

  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    'the planted bug changes what is in the program, and leaves a program: %s',
    (_name, mutant) => {
      const planted = withMutant(
        mutant,
        readFileSync(join(import.meta.dirname, '../../src', mutant.file), 'utf8'),
      );
      expect(() =>
        mutant.file.endsWith('.ts') ? stripTypeScriptTypes(planted) : planted,
      ).not.toThrow();
    },
  );

  it('a seed repeats a run exactly', async () => {
    const first = await runSeed(3, disk);
    const again = await runSeed(3, disk);
    expect(again.hash).toBe(first.hash);
  });
});
