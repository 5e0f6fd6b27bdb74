import { setImmediate as turn } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { runSeed, type RunReport } from './run-seed.ts';
import { SimDisk } from './sim-disk.ts';
import type { Violation } from './world.ts';

/** A range of seeds to run, every `step`-th one. */
export interface SeedRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  /** Every n-th seed is run twice, to check that runs can be repeated; 0: none. */
  readonly twiceEvery: number;
}

export interface SeedFailure {
  readonly seed: number;
  readonly violations: readonly Violation[];
}

export type SeedMessage =
  | { readonly kind: 'progress'; readonly seeds: number; readonly repeated: number }
  | { readonly kind: 'failure'; readonly failure: SeedFailure }
  | { readonly kind: 'done'; readonly coverage: readonly (readonly [string, number])[] };

/** Runs the seeds of a range, and reports each failure at once. */
export async function runRange(
  range: SeedRange,
  report: (message: SeedMessage) => void,
): Promise<void> {
  let disk = new SimDisk();
  const coverage = new Map<string, number>();
  let seeds = 0;
  let repeated = 0;
  try {
    for (let seed = range.from; seed < range.to; seed += range.step) {
      seeds += 1;
      let result: RunReport;
      try {
        result = await runSeed(seed, disk);
      } catch (error) {
        // The simulation itself failed: that is reported with its seed, and the others run on a new
        // disk.
        const violation = {
          invariant: 'simulation',
          sentence: error instanceof Error ? String(error.stack) : String(error),
        };
        report({ kind: 'failure', failure: { seed, violations: [violation] } });
        disk.destroy();
        disk = new SimDisk();
        continue;
      }
      for (const [place, times] of result.coverage)
        coverage.set(place, (coverage.get(place) ?? 0) + times);
      let { violations } = result;
      if (range.twiceEvery > 0 && seed % range.twiceEvery === 0) {
        repeated += 1;
        const again = await runSeed(seed, disk);
        if (again.hash !== result.hash) {
          violations = [
            ...violations,
            { invariant: 'determinism', sentence: `${result.hash}, then ${again.hash}` },
          ];
        }
      }
      if (violations.length > 0) report({ kind: 'failure', failure: { seed, violations } });
      if (seeds % 20 === 0) {
        // Statements that nobody uses any more are freed between two turns of the event loop;
        // simulated time has none.
        await turn();
        report({ kind: 'progress', seeds, repeated });
        seeds = 0;
        repeated = 0;
      }
    }
  } finally {
    disk.destroy();
  }
  report({ kind: 'progress', seeds, repeated });
  report({ kind: 'done', coverage: [...coverage] });
}

const port = parentPort;
port?.once('message', (range: SeedRange) => {
  void runRange(range, (message) => port.postMessage(message)).finally(() => port.close());
});
