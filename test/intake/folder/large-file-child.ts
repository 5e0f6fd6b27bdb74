import { copyFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { FolderBench } from './folder-bench.ts';

/** Takes in one file in a process of its own and prints the cost. Run: node large-file-child.ts FILE */
const file = process.argv[2] ?? '';
const bench = new FolderBench();
await bench.intake.scanOnce();
copyFileSync(file, join(bench.config.inbox, basename(file)));
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const startedAt = performance.now();
const { lines } = await bench.intake.scanOnce();
const seconds = (performance.now() - startedAt) / 1000;
delay.disable();
const cost = {
  accepted: lines.accepted,
  rowsPerSecond: Math.round(lines.accepted / seconds),
  maxRssBytes: process.resourceUsage().maxRSS * 1024,
  longestTurnMs: Math.round(delay.max / 1e6),
  batches: bench.accepted,
};
process.stdout.write(JSON.stringify(cost));
await bench.close();
