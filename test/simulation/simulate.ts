import { parseArgs } from 'node:util';
import { sweep } from './crash-sweep.ts';
import { runSeed } from './run-seed.ts';
import { runSeeds } from './run-seeds.ts';
import { scenarios } from './scenarios.ts';
import { sourceVersion } from './source-version.ts';
import { SimDisk } from './sim-disk.ts';
import { describeCoverage, missingPlaces } from './expected-places.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    'stop-after': { type: 'string', default: '20' },
    workers: { type: 'string', default: '2' },
    /** `single` or `double`. */
    sweep: { type: 'string' },
    coverage: { type: 'boolean', default: false },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Runs one seed and prints its trace. */
async function showSeed(seed: number): Promise<void> {
  const disk = new SimDisk();
  const report = await runSeed(seed, disk, true);
  say(report.trace.join('\n'));
  for (const { invariant, sentence } of report.violations) say(`${invariant}: ${sentence}`);
  say(
    `seed ${seed}: ${report.violations.length} violations, ${report.ports} port calls, trace ${report.hash}`,
  );
  disk.destroy();
  if (report.violations.length > 0) process.exitCode = 1;
}

async function runMany(): Promise<void> {
  const count = Number(values.seeds);
  const commit = sourceVersion();
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
    onFailure: ({ seed, violations }) =>
      say(`seed ${seed}: ${violations[0]?.invariant} ${violations[0]?.sentence}`),
  });
  const missing = missingPlaces(report.coverage, report.seeds);
  if (values.coverage) say(describeCoverage(report.coverage));
  // A short run cannot reach every place; a long one must.
  const mustReachAll = report.seeds >= 5000;
  if (mustReachAll) for (const place of missing) say(`never reached: ${place}`);
  say(
    `${report.seeds} seeds in ${report.seconds.toFixed(0)} s (${(report.seeds / report.seconds).toFixed(0)} seeds/s), ` +
      `${report.repeated} repeated with the same trace, ${report.failures.length} with violations, ` +
      `${missing.length} places not reached`,
  );
  // The last line of a range: a million seeds run as several ranges.
  const from = Number(values.from);
  const range = {
    from,
    to: from + count - 1,
    seeds: report.seeds,
    violations: report.failures.length,
  };
  say(
    JSON.stringify({
      ...range,
      repeated: report.repeated,
      seconds: Math.round(report.seconds),
      commit,
    }),
  );
  if (report.failures.length > 0) say('repeat one with: npm run simulate -- --seed N');
  if (report.failures.length > 0 || (mustReachAll && missing.length > 0)) process.exitCode = 1;
}

/** Crashes every scenario at each of its port calls; the small ones also a second time. */
async function runSweep(double: boolean): Promise<void> {
  const disk = new SimDisk();
  let runs = 0;
  let failed = 0;
  for (const scenario of scenarios.filter((it) => !double || it.twice === true)) {
    const report = await sweep(scenario, disk, double);
    runs += report.runs;
    failed += report.failures.length;
    say(`${scenario.plan.name}: ${report.runs} runs, ${report.failures.length} with violations`);
    for (const failure of report.failures.slice(0, 5)) say(`  ${failure}`);
  }
  disk.destroy();
  say(`${runs} runs, ${failed} with violations`);
  if (failed > 0) process.exitCode = 1;
}

if (values.sweep !== undefined) await runSweep(values.sweep === 'double');
else await (values.seed === undefined ? runMany() : showSeed(Number(values.seed)));
