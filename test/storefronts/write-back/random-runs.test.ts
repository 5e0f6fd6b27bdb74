import { expect, it } from 'vitest';
import { RandomRun } from './random-run.ts';

const runs = Number(process.env['WRITE_BACK_RUNS'] ?? 20);
/** The first seed, to repeat a run that failed. */
const first = Number(process.env['WRITE_BACK_SEED'] ?? 1);
const together = 5;

const batches = Array.from(
  { length: Math.ceil(runs / together) },
  (_, index) => first + index * together,
);

/**
 * Results go into shops that answer late, twice or never, while the worker is killed and people
 * edit their orders. In the end each line is fulfilled once, each note stands once, statuses are
 * right, and no order has anything of another one.
 */
it.each(batches)(
  'writes each result into its order once, whatever happens: seeds from %i',
  async (from) => {
    const seeds = Array.from(
      { length: Math.min(together, first + runs - from) },
      (_, index) => from + index,
    );
    // Each run has checked itself.
    const played = await Promise.all(
      seeds.map(async (seed) => {
        const run = new RandomRun(seed);
        try {
          await run.play();
          await run.check();
        } catch (cause) {
          throw new Error(`seed ${seed}: WRITE_BACK_RUNS=1 WRITE_BACK_SEED=${seed} repeats it`, {
            cause,
          });
        }
        return run;
      }),
    );
    const disturbed = played.filter(({ kills, faults }) => kills + faults > 0);
    expect(disturbed.length).toBeGreaterThan(runs < together ? -1 : 0);
  },
);
