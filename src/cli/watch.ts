import { listenForStop } from '../ops/signals.ts';
import type { CliContext } from './context.ts';

/** Clears a terminal and moves to its first line. */
const clear = '\u001b[2J\u001b[3J\u001b[H';

/** Repeats a step until the person stops the command with Ctrl-C. */
export async function untilStopped(
  context: CliContext,
  everyMs: number,
  step: () => void | Promise<void>,
): Promise<void> {
  const stop = listenForStop();
  try {
    while (!stop.signal.aborted) {
      await step();
      await context.clock.sleep(everyMs, stop.signal);
    }
  } finally {
    stop.release();
  }
}

/** Shows an answer again and again; on a terminal each takes the place of the one before. */
export async function watch(context: CliContext, everyMs: number, show: () => Promise<void>): Promise<void> {
  await untilStopped(context, everyMs, async () => {
    if (context.stdout.isTTY === true) context.stdout.write(clear);
    await show();
  });
}
