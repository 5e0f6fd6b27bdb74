import { Worker } from 'node:worker_threads';
import { Coverage } from './coverage.ts';
import type { SeedFailure, SeedMessage, SeedRange } from './seed-worker.ts';

export interface SeedsReport {
  readonly seeds: number;
  readonly repeated: number;
  readonly failures: readonly SeedFailure[];
  readonly coverage: Coverage;
  readonly seconds: number;
}

/**
 * Runs seeds in threads. Ends after `mostFailures`, because one bug usually shows in many seeds.
 */
export async function runSeeds(options: {
  readonly from: number;
  readonly count: number;
  readonly workers: number;
  readonly twiceEvery: number;
  readonly mostFailures: number;
  readonly onProgress?: (done: number) => void;
  readonly onFailure?: (failure: SeedFailure) => void;
}): Promise<SeedsReport> {
  const startedMs = performance.now();
  const coverage = new Coverage();
  const failures: SeedFailure[] = [];
  let seeds = 0;
  let repeated = 0;
  const { from, count, workers, twiceEvery } = options;
  await Promise.all(
    Array.from({ length: workers }, async (_, index) => {
      const thread = new Worker(new URL('seed-worker.ts', import.meta.url));
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      thread.on('error', reject);
      thread.on('exit', () => resolve());
      thread.on('message', (message: SeedMessage) => {
        if (message.kind === 'done') coverage.add(message.coverage);
        if (message.kind === 'progress') {
          seeds += message.seeds;
          repeated += message.repeated;
          options.onProgress?.(seeds);
        }
        if (message.kind === 'failure') {
          failures.push(message.failure);
          options.onFailure?.(message.failure);
        }
        if (failures.length >= options.mostFailures) void thread.terminate();
      });
      const range: SeedRange = { from: from + index, to: from + count, step: workers, twiceEvery };
      thread.postMessage(range);
      await promise;
    }),
  );
  failures.sort((a, b) => a.seed - b.seed);
  return { seeds, repeated, failures, coverage, seconds: (performance.now() - startedMs) / 1000 };
}
