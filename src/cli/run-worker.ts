import type { Logger } from 'pino';
import { startWorker, type RunningWorker } from '../app/start-worker.ts';
import type { WorkerDeps } from '../app/worker-deps.ts';
import type { Config } from '../config/config.ts';
import { systemRandom } from '../ops/system-clock.ts';
import type { CliContext } from './context.ts';
import { programVersion } from '../ops/program-version.ts';
import { listenForReload, listenForStop } from '../ops/signals.ts';
import { exitCodes } from './errors.ts';

/** Draining, writing results and closing: a container is killed 10 s after it was asked to end. */
const hardStopMs = 9000;

/**
 * Runs the worker until it is asked to end, or must not go on. `whileRunning` is told when it has started, and may
 * itself end it by resolving to `end`.
 */
export async function runWorker(
  run: {
    config: Config;
    logger: Logger;
    /** Where the config came from: then SIGHUP has it read again. */
    reading?: WorkerDeps['reading'];
    whileRunning?: (worker: RunningWorker, stop: AbortSignal) => Promise<'end' | 'go on'>;
  },
  context: CliContext,
): Promise<void> {
  const { config, logger, reading } = run;
  const stop = listenForStop();
  const hangUp = reading === undefined ? null : listenForReload();
  try {
    const worker = await startWorker({
      config,
      logger,
      clock: context.clock,
      random: systemRandom,
      version: programVersion,
      pid: process.pid,
      ...(reading === undefined ? {} : { reading }),
    });
    // What is refused stands in the log.
    hangUp?.listen(() => void worker.reload?.('SIGHUP').catch(() => undefined));
    const asked = new Promise<string>((resolve) => {
      if (stop.signal.aborted) resolve(String(stop.signal.reason));
      else stop.signal.addEventListener('abort', () => resolve(String(stop.signal.reason)), { once: true });
    });
    const ended = run.whileRunning?.(worker, stop.signal).then((end) => (end === 'end' ? 'done' : asked)) ?? asked;
    try {
      const reason = await Promise.race([asked, ended, worker.failed]);
      logger.info({ reason }, 'stopping: no more is taken in or sent, open calls are waited for');
    } finally {
      await stopInTime(worker, logger, context);
    }
  } finally {
    stop.release();
    hangUp?.release();
  }
}

async function stopInTime(worker: RunningWorker, logger: Logger, context: CliContext): Promise<void> {
  const inTime = new AbortController();
  const late = context.clock.sleep(hardStopMs, inTime.signal).then(() => 'late' as const);
  const stopped = worker.stop().then(() => 'stopped' as const);
  const end = await Promise.race([stopped, late]);
  inTime.abort();
  if (end === 'late') {
    // Whatever is still open is in the outbox as open, and is looked into first at the next start.
    logger.error('could not stop in time; the next start takes up what is open');
    context.setExitCode(exitCodes.unexpected);
    return;
  }
  logger.info('stopped');
}
