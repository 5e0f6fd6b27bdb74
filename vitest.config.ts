import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Child processes, SIGKILL and real windows: a test may be long, but never endless.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more workers only make the timing of real processes noisier.
    maxWorkers: 2,
    pool: 'forks',
    reporters: process.env['CI'] ? ['default'] : ['default'],
  },
});
