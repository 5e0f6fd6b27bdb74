import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { output } from './cli/context.ts';
import { runCommandLine } from './cli/commands/program.ts';

const exitCode = await runCommandLine(process.argv.slice(2));
// `process.exit` drops what a pipe has not taken yet. A reader that takes nothing for an hour is
// stuck.
const taken = [process.stdout, process.stderr].map(
  (stream) => new Promise<boolean>((resolve) => stream.write('', () => resolve(true))),
);
const isStuck =
  (await Promise.race([Promise.all(taken), sleep(3_600_000, null, { ref: false })])) === null;
// A failed write is known a turn later.
await nextTurn();
// Only this file ends the process. A part that did not stop in time must not keep it alive.
process.exit(isStuck || (output.isLost && exitCode === 0) ? 1 : exitCode);
