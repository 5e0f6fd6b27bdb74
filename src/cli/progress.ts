import type { CliContext } from './context.ts';

const firstAfterMs = 1000;
const everyMs = 2000;

type Shown = Pick<CliContext, 'stderr' | 'clock'>;

/**
 * Waits for work that may take long. On a terminal it says on stderr how far it is, from the first second on, a line each time.
 * @param describe how far it is
 */
export async function withProgress<T>(
  context: Shown,
  { json }: { readonly json?: boolean | undefined },
  describe: () => string,
  work: Promise<T>,
): Promise<T> {
  if (context.stderr.isTTY !== true || json === true) return await work;
  const done = new AbortController();
  const shown = showUntil(done.signal, describe, context);
  try {
    return await work;
  } finally {
    done.abort();
    await shown;
  }
}

async function showUntil(done: AbortSignal, describe: () => string, { stderr, clock }: Shown): Promise<void> {
  for (let delayMs = firstAfterMs; ; delayMs = everyMs) {
    await clock.sleep(delayMs, done);
    if (done.aborted) return;
    stderr.write(`${describe()}\n`);
  }
}
