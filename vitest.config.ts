import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

/**
 * What `npm test` leaves to `npm run test:full`. Cheaper tests of the same rules, and one worker that is killed
 * (test/app/worker-process.test.ts), stand in `npm test`.
 */
const long = [
  // Whole workers and sandboxes as processes.
  'test/e2e/**/*.test.ts',
  'test/package/*.test.ts',
  'test/deploy/containers.test.ts',
  'test/**/*kill.test.ts',
  'test/**/*{of,by}-worker.test.ts',
  'test/storefronts/read-back/{other-worker,source,unread,worker}.test.ts',
  'test/storefronts/real-shop/*.test.ts',
  'sandbox/test/crash.test.ts',
  'test/cli/sandbox*.test.ts',
  'test/docs/restore.test.ts',
  // Many runs.
  'test/fuzz/*.test.ts',
  'test/**/*.property.test.ts',
  'test/**/fuzz.test.ts',
  'test/**/random-runs.test.ts',
  'sandbox/test/{junk,properties,request-log-limits}.test.ts',
  'test/simulation/many-seeds.test.ts',
  'test/simulation/unproven-day.test.ts',
  // Real windows of time, and large files.
  'test/buying/{budget-at-server,long-outage}.test.ts',
  'test/intake/folder/{folder-crash-batches,large-file,many-and-large}.test.ts',
];

const simulation = ['test/simulation/**/*.test.ts'];

export default defineConfig({
  test: {
    // Child processes, SIGKILL and real windows: a test may be long, but never endless. A backup has the lowest priority and
    // waits for whatever else the machine does.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // The limit of the test is the limit of what it waits for.
    expect: { poll: { timeout: 170_000 } },
    pool: 'forks',
    // One process runs many files and loads the modules once, which saves a fifth of the processor time. Tests keep no
    // state in modules; each opens its own folders and sockets.
    isolate: false,
    // Programs that tests start take what they compiled from here, as an installed worker does.
    env: {
      NODE_COMPILE_CACHE: resolve(import.meta.dirname, 'node_modules/.cache/order-sync-tests'),
    },
    globalSetup: ['test/support/temporary-folder.ts', 'test/support/fill-compile-cache.ts'],
    // Twice the cores of a small machine: most of the time is waiting.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: {
          name: 'suite',
          include: ['test/**/*.test.ts', 'sandbox/test/*.test.ts'],
          exclude: [...long, ...simulation],
        },
      },
      // It replaces the SQLite driver for its whole process.
      {
        extends: true,
        test: { name: 'simulation', include: simulation, exclude: long, isolate: true },
      },
      { extends: true, test: { name: 'long', include: long, isolate: true } },
    ],
  },
});
