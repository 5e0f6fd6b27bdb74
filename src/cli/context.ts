import type { Clock } from '../core/clock.ts';
import { SystemClock } from '../ops/system-clock.ts';
import type { ExitCode } from './errors.ts';

/** A stream of text; a test reads what was written. */
export interface TextStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** What a command may touch besides its files: results on stdout, everything else on stderr. */
export interface CliContext {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly clock: Clock;
  /** Ends with another code than 0 although nothing was thrown: an answer that is bad news is not an error. */
  setExitCode(code: ExitCode): void;
}

/** The streams and the clock of this process. */
export function processContext(setExitCode: (code: ExitCode) => void): CliContext {
  for (const stream of [process.stdout, process.stderr]) {
    // `order-sync orders list | head` closes the pipe early; that is the reader's right, and no reason to crash.
    if (stream.listenerCount('error') === 0) stream.on('error', ignoreClosedPipe);
  }
  return { stdout: process.stdout, stderr: process.stderr, clock: new SystemClock(), setExitCode };
}

function ignoreClosedPipe(error: Error): void {
  if (!('code' in error) || error.code !== 'EPIPE') throw error;
}
