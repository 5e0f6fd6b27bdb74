import { copyFileSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { FolderBench } from './folder-bench.ts';

/**
 * On Linux `maxRSS` begins with the memory of the process that started this one; `VmHWM` is this
 * program's alone.
 */
function maxRssBytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  const [, kilobytes] =
    /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/**
 * Takes in one file in a process of its own and prints the cost. Run: node large-file-child.ts FILE
 */
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
  maxRssBytes: maxRssBytes(),
  longestTurnMs: Math.round(delay.max / 1e6),
  batches: bench.accepted,
};
process.stdout.write(JSON.stringify(cost));
await bench.close();
