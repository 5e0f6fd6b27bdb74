import type { MachineClock } from '../core/clock.ts';
import { SystemClock } from '../ops/system-clock.ts';
import type { ExitCode } from './errors.ts';
import type { Streams } from './output.ts';

export interface CliContext extends Streams {
  readonly clock: MachineClock;
  /**
   * Sets another exit code than 0 without an error: a check that finds problems has done its work.
   */
  setExitCode(code: ExitCode): void;
}

/** Whether something of the output could not be written. */
export const output = { isLost: false };

/** The streams and the clock of this process. */
export function processContext(setExitCode: (code: ExitCode) => void): CliContext {
  for (const stream of [process.stdout, process.stderr]) {
    // `order-sync orders list | head` closes the pipe early: that is no reason to crash.
    if (stream.listenerCount('error') > 0) continue;
    stream.on('error', (error) => {
      if ('code' in error && error.code === 'EPIPE') return;
      output.isLost = true;
      if (stream === process.stdout)
        process.stderr.write(`order-sync: the output could not be written: ${error.message}\n`);
    });
  }
  return { stdout: process.stdout, stderr: process.stderr, clock: new SystemClock(), setExitCode };
}
