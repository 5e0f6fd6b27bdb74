import { runSeed } from './run-seed.ts';
import type { SimDisk } from './sim-disk.ts';

/** What went wrong in these seeds, one sentence a seed. */
export async function failuresOf(from: number, to: number, disk: SimDisk): Promise<string[]> {
  const failures: string[] = [];
  for (let seed = from; seed <= to; seed += 1) {
    const [first] = (await runSeed(seed, disk)).violations;
    if (first !== undefined)
      failures.push(`npm run simulate -- --seed ${seed}: ${first.invariant} ${first.sentence}`);
  }
  return failures;
}
