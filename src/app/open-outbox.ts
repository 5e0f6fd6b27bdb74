import { existsSync, mkdirSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { readReferenceSecret } from '../config/reference-secret.ts';
import { hasCode, OrderSyncError } from '../core/order-sync-error.ts';
import { callbackSinkName } from '../results/callback-sink.ts';
import type { Shop } from '../storefronts/settings.ts';
import { writeBackName } from '../storefronts/write-back.ts';
import { csvSinkName, folderSinkName } from '../store/results/due-results.ts';
import { findFile } from '../store/sqlite/open-files.ts';
import type { ResultSink } from '../store/sqlite/outbox.ts';
import { openStore, type Store } from '../store/store.ts';
import { progressFile, progressFilePath, type ProgressPort } from './progress-file.ts';
import type { WorkerDeps } from './worker-deps.ts';

/**
 * A command that works while no worker runs holds the outbox; so does a worker that is stopping.
 */
const inUseWithinMs = 10_000;
const inUseRetryMs = 100;

/**
 * Opens the outbox for a worker, as its only writer: waits for a while where another process holds
 * it.
 * @throws OrderSyncError DATABASE_LOCKED when it still does, or when the worker is asked to stop
 * meanwhile;
 *   DATABASE_REPLACED when a backup was restored meanwhile, because that command has not begun the after-loss mode yet
 */
export async function openForWorker(
  { config, clock, logger, stopping }: WorkerDeps,
  minFreeBytes: () => number,
): Promise<OpenedOutbox> {
  const path = config.databasePath;
  const untilMs = clock.steadyMs() + inUseWithinMs;
  const file = findFile(path).id;
  for (let tries = 1; ; tries += 1) {
    try {
      const opened = openOutbox(config, config.init, minFreeBytes);
      if (tries === 1 || findFile(path).id === file) return opened;
      await opened.store.close();
      throw new OrderSyncError(
        'DATABASE_REPLACED',
        `${path} was replaced while the worker waited for it`,
        {
          hint: 'start the worker again when the command that restores the database has ended',
        },
      );
    } catch (error) {
      if (
        !hasCode(error, 'DATABASE_LOCKED') ||
        clock.steadyMs() >= untilMs ||
        stopping?.aborted === true
      )
        throw error;
      const details = { database: path, wait_s: inUseWithinMs / 1000 };
      if (tries === 1)
        logger.warn(details, 'the outbox is in use by a command or another worker: waiting for it');
    }
    await clock.sleep(inUseRetryMs, stopping);
  }
}

interface OpenedOutbox {
  readonly store: Store;
  readonly file: ProgressPort;
}

/**
 * Opens the outbox of a configuration as its only writer, and names its progress file.
 * `noticeOlderCopy` comes next.
 * @param init whether a missing database may be created, and a missing reference secret with it
 * @param minFreeBytes with less free space on its disk, new orders are refused; asked for each
 * @param looks whether nothing that is written stays
 */
export function openOutbox(
  config: Config,
  init: Config['init'],
  minFreeBytes = () => config.disk.minFreeBytes,
  looks = false,
): OpenedOutbox {
  const mayCreate = init === 'if-missing' && !existsSync(config.databasePath);
  if (mayCreate) mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const namespace = {
    instance: config.instance,
    prefix: config.reference.prefix,
    // An existing database never gets a new secret: its orders would get other references and be
    // bought again.
    secret: readReferenceSecret(config.reference.secretFile, mayCreate),
  };
  const store = openStore({
    path: config.databasePath,
    init,
    looks,
    namespace,
    upstream: config.wholesale.upstream,
    sinks: resultSinks(config),
    sealKeys: config.seal.keys,
    minFreeBytes,
  });
  return { store, file: progressFile(progressFilePath(config, namespace)) };
}

/** The sinks to which the outbox makes results due. `buildResults` builds what delivers to each. */
export function resultSinks({
  results,
  intake,
}: Pick<Config, 'results' | 'intake'>): readonly ResultSink[] {
  return [
    { name: folderSinkName, sources: null },
    { name: csvSinkName, sources: null },
    ...results.callbacks.map(({ name, sources }) => ({ name: callbackSinkName(name), sources })),
    ...writtenShops(intake.shops).map((shop) => ({
      name: writeBackName(shop),
      sources: [shop.source],
    })),
  ];
}

export const writtenShops = (shops: readonly Shop[]): readonly Shop[] =>
  shops.filter(({ rest, writeBack }) => rest !== null && writeBack !== null);
