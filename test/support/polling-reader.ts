import { lstatSync, readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';

/**
 * A program of a shop that reads results a thousand times a second, in a process of its own. Usage:
 * node polling-reader.ts FILE… It prints one line of JSON when its input ends: how often it read,
 * and everything that it could not read as a whole.
 */
const paths = process.argv.slice(2);
const seen = paths.map((path) => ({
  path,
  reads: 0,
  versions: 0,
  bytes: 0,
  broken: [] as string[],
}));
const inodes = new Map<string, number>();
const pause = new Int32Array(new SharedArrayBuffer(4));
const input = process.stdin.resume();

function problemOf(path: string, text: string): string | null {
  try {
    if (!text.endsWith('\n')) return 'does not end';
    if (path.endsWith('.json')) JSON.parse(text);
    // Rows of different lengths are an error.
    else if (parse(text, { columns: true }).length === 0) return 'has no rows';
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

while (!input.readableEnded) {
  const startedAt = performance.now();
  for (const one of seen) {
    one.reads += 1;
    try {
      const { ino } = lstatSync(one.path);
      if (inodes.get(one.path) !== ino) one.versions += 1;
      inodes.set(one.path, ino);
      const text = readFileSync(one.path, 'utf8');
      // The same content was looked at before; a part of it never has the same length.
      if (text.length === one.bytes) continue;
      one.bytes = text.length;
      const problem = problemOf(one.path, text);
      if (problem !== null) one.broken.push(`${text.length} characters: ${problem}`);
    } catch (error) {
      one.broken.push(error instanceof Error ? error.message : String(error));
    }
  }
  const restMs = 1 - (performance.now() - startedAt);
  if (restMs > 0) Atomics.wait(pause, 0, 0, restMs);
  // Lets the end of the input be noticed.
  if (seen[0] !== undefined && seen[0].reads % 100 === 0)
    await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(
  `${JSON.stringify(seen.map(({ broken, ...one }) => ({ ...one, broken: broken.slice(0, 5) })))}\n`,
);
