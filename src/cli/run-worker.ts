import { once } from 'node:events';
import type { Logger } from 'pino';
import { startWorker, type RunningWorker } from '../app/start-worker.ts';
import type { WorkerDeps } from '../app/worker-deps.ts';
import type { Config } from '../config/config.ts';
import { programVersion } from '../ops/program-version.ts';
import { listenForReload, listenForStop } from '../ops/signals.ts';
import { systemRandom } from '../ops/system-clock.ts';
import type { CliContext } from './context.ts';
import { exitCodes } from './errors.ts';

/**
 * A container is killed 10 s after it was asked to stop: draining, writing results and closing take
 * less.
 */
const hardStopMs = 9000;

interface WorkerRun {
  readonly config: Config;
  readonly logger: Logger;
  /** Where the config came from: then SIGHUP reloads it. */
  readonly reading?: WorkerDeps['reading'] | undefined;
  /** Called once the worker has started. It may end the worker by resolving to `stop`. */
  readonly whileRunning?: (
    worker: RunningWorker,
    stop: AbortSignal,
  ) => Promise<'stop' | 'keep running'>;
}

/** Runs the worker until a signal stops it, or until it fails. */
export async function runWorker(run: WorkerRun, context: CliContext): Promise<void> {
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
      stopping: stop.signal,
      reading,
    });
    // A refused reload is in the log.
    hangUp?.listen(() => void worker.reload?.('SIGHUP').catch(() => undefined));
    const asked = aborted(stop.signal).then(() => String(stop.signal.reason));
    const ended =
      run.whileRunning?.(worker, stop.signal).then((next) => (next === 'stop' ? 'done' : asked)) ??
      asked;
    try {
      const reason = await Promise.race([asked, ended, worker.failed]);
      logger.info(
        { reason },
        'stopping: no orders are taken in or sent; waiting for calls in flight',
      );
    } catch (error) {
      // It is the reason of whatever fails while the worker stops because of it.
      await stopInTime(worker, logger, context).catch((also: unknown) =>
        logger.error({ err: also }, 'stopping the worker failed'),
      );
      throw error;
    }
    await stopInTime(worker, logger, context);
  } finally {
    stop.release();
    hangUp?.release();
  }
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function stopInTime(
  worker: RunningWorker,
  logger: Logger,
  context: CliContext,
): Promise<void> {
  const inTime = new AbortController();
  const late = context.clock.sleep(hardStopMs, inTime.signal).then(() => 'late' as const);
  const stopped = worker.stop().then(() => 'stopped' as const);
  const end = await Promise.race([stopped, late]);
  inTime.abort();
  if (end === 'late') {
    // Calls in flight are recorded as open: the next start looks them up.
    logger.error(
      'the worker did not stop in time; the next start looks up the calls that are still in flight',
    );
    context.setExitCode(exitCodes.unexpected);
    return;
  }
  logger.info('stopped');
}
