import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { printTable, type Row } from './support/row.ts';

/** Each bench is imported only when it runs: the modules of the others would change its figures. */
const benches: Readonly<
  Record<string, () => Promise<{ measure(entries?: number): Promise<readonly Row[]> }>>
> = {
  limiters: () => import('./limiters/limiters.ts'),
  restart: () => import('./restart/restart.ts'),
  'accept-to-send': () => import('./accept-to-send.ts'),
  spending: () => import('./spending.ts'),
  'order-cost': () => import('./order-cost.ts'),
  'slow-answers': () => import('./slow-answers.ts'),
  undelivered: () => import('./undelivered.ts'),
  sealing: () => import('./sealing.ts'),
  'csv-intake': () => import('./csv-intake.ts'),
  size: () => import('./size/size.ts'),
  flood: () => import('./flood.ts'),
};

/** `--entries`: how large the outbox of the bench `size` is. Default: a million. */
const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { entries: { type: 'string' } },
});
const unknown = asked.filter((name) => !(name in benches));
if (unknown.length > 0) {
  process.stderr.write(
    `There is no bench ${unknown.join(', ')}; there are: ${Object.keys(benches).join(', ')}\n`,
  );
  process.exitCode = 2;
} else {
  const rows: Row[] = [];
  for (const [name, load] of Object.entries(benches)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    process.stderr.write(`${name} ...\n`);
    const bench = await load();
    rows.push(
      ...(await bench.measure(values.entries === undefined ? undefined : Number(values.entries))),
    );
  }
  const load = loadavg()[0]?.toFixed(1) ?? '?';
  process.stdout.write(
    `${new Date().toISOString()}, Node ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? 'CPU'}, load ${load} at the end\n\n`,
  );
  process.stdout.write(printTable(rows));
}
