import { defineConfig } from 'vitest/config';

/** Tests that count what happens in real windows of time: they run after the others, with the machine to themselves. */
const timed = ['test/submit/budget-at-server.test.ts'];

export default defineConfig({
  test: {
    // Child processes, SIGKILL and real windows: a test may be long, but never endless.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more workers only make the timing of real processes noisier.
    maxWorkers: 2,
    pool: 'forks',
    projects: [
      {
        extends: true,
        test: { name: 'suite', include: ['test/**/*.test.ts'], exclude: timed, sequence: { groupOrder: 0 } },
      },
      { extends: true, test: { name: 'timed', include: timed, sequence: { groupOrder: 1 } } },
    ],
  },
});
