import { parseArgs } from 'node:util';
import { runSeed } from './run-seed.ts';
import { runSeeds } from './run-seeds.ts';
import { SimDisk } from './sim-disk.ts';
import { describeCoverage, missingPlaces } from './expected-places.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    'stop-after': { type: 'string', default: '20' },
    workers: { type: 'string', default: '2' },
    coverage: { type: 'boolean', default: false },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** One seed, with everything that happened in it. */
async function showSeed(seed: number): Promise<void> {
  const disk = new SimDisk();
  const report = await runSeed(seed, disk, true);
  say(report.trace.join('\n'));
  for (const { invariant, sentence } of report.violations) say(`${invariant}: ${sentence}`);
  say(`seed ${seed}: ${report.violations.length} violations, ${report.ports} port calls, trace ${report.hash}`);
  disk.destroy();
  if (report.violations.length > 0) process.exitCode = 1;
}

async function runMany(): Promise<void> {
  const count = Number(values.seeds);
  let said = 0;
  const report = await runSeeds({
    from: Number(values.from),
    count,
    workers: Number(values.workers),
    twiceEvery: 100,
    mostFailures: Number(values['stop-after']),
    onProgress: (done) => {
      if (done - said < count / 10) return;
      said = done;
      say(`${done} of ${count} seeds`);
    },
  });
  for (const { seed, violations } of report.failures) {
    say(`seed ${seed}: ${violations[0]?.invariant} ${violations[0]?.sentence}`);
  }
  const missing = missingPlaces(report.coverage);
  if (values.coverage) say(describeCoverage(report.coverage));
  // A short run cannot reach every place; a long one that misses some has stopped testing what it is there for.
  const mustReachAll = report.seeds >= 5000;
  if (mustReachAll) for (const place of missing) say(`never reached: ${place}`);
  say(
    `${report.seeds} seeds in ${report.seconds.toFixed(0)} s (${(report.seeds / report.seconds).toFixed(0)} seeds/s), ` +
      `${report.repeated} repeated with the same trace, ${report.failures.length} with violations, ` +
      `${missing.length} places not reached`,
  );
  if (report.failures.length > 0) say('repeat one with: npm run simulate -- --seed N');
  if (report.failures.length > 0 || (mustReachAll && missing.length > 0)) process.exitCode = 1;
}

await (values.seed === undefined ? runMany() : showSeed(Number(values.seed)));
