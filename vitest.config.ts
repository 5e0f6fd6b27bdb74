import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Counts what arrives in real windows of time; it waits most of the time, so it runs while the others work. */
const timed = ['test/submit/budget-at-server.test.ts'];

/** Replaces the SQLite driver for its whole process. */
const replacing = ['test/simulation/**/*.test.ts'];

/** The tests that wait most come first, so that the others fill the processor meanwhile and none is left at the end. */
function waitRank({ moduleId }: TestSpecification): number {
  if (timed.some((path) => moduleId.endsWith(path))) return 2;
  return moduleId.includes('/test/e2e/') ? 1 : 0;
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted: readonly TestSpecification[] = await BaseSequencer.prototype.sort.call(this, files);
    return sorted.toSorted((a, b) => waitRank(b) - waitRank(a));
  }
}

export default defineConfig({
  test: {
    // Child processes, SIGKILL and real windows: a test may be long, but never endless.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // One process runs many files and loads the modules once, which saves a fifth of the processor time. Tests keep no
    // state in modules; each opens its own folders and sockets.
    isolate: false,
    // Programs that tests start take what they compiled from here, as an installed worker does.
    env: { NODE_COMPILE_CACHE: resolve(import.meta.dirname, 'node_modules/.cache/order-sync-tests') },
    globalSetup: 'test/support/fill-compile-cache.ts',
    // Twice the cores of a small machine: most of the time is waiting.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'suite', include: ['test/**/*.test.ts'], exclude: [...timed, ...replacing] } },
      { extends: true, test: { name: 'simulation', include: replacing, isolate: true } },
      { extends: true, test: { name: 'timed', include: timed } },
    ],
  },
});
