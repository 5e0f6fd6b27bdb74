import { existsSync, mkdirSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { readReferenceSecret } from '../config/reference-secret.ts';
import { callbackSinkName } from '../results/callback-sink.ts';
import type { Shop } from '../storefronts/settings.ts';
import { writeBackName } from '../storefronts/write-back.ts';
import { folderSinkName } from '../store/results/due-results.ts';
import type { ResultSink } from '../store/sqlite/outbox.ts';
import { openStore, type Store } from '../store/store.ts';
import { progressFile, progressFilePath, type ProgressPort } from './progress-file.ts';

/**
 * Opens the outbox of a configuration as its only writer, and names its progress file. `noticeOlderCopy` comes next.
 * @param init whether a missing database may be created, and a missing reference secret with it
 * @param minFreeBytes with less free space on its disk, new orders are refused; asked for each
 */
export function openOutbox(
  config: Config,
  init: Config['init'],
  minFreeBytes = () => config.disk.minFreeBytes,
): { store: Store; file: ProgressPort } {
  const mayCreate = init === 'if-missing' && !existsSync(config.databasePath);
  if (mayCreate) mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const namespace = {
    instance: config.instance,
    prefix: config.reference.prefix,
    // An existing database never gets a new secret: its orders would get other references and be bought again.
    secret: readReferenceSecret(config.reference.secretFile, mayCreate),
  };
  const store = openStore({
    path: config.databasePath,
    init,
    namespace,
    upstream: config.wholesale.upstream,
    sinks: resultSinks(config),
    sealKeys: config.seal.keys,
    minFreeBytes,
  });
  return { store, file: progressFile(progressFilePath(config, namespace)) };
}

/** The sinks to which the outbox makes results due. `buildResults` builds what delivers to each. */
export function resultSinks({ results, intake }: Pick<Config, 'results' | 'intake'>): readonly ResultSink[] {
  return [
    { name: folderSinkName, sources: null },
    ...results.callbacks.map(({ name, sources }) => ({ name: callbackSinkName(name), sources })),
    ...writtenShops(intake.shops).map((shop) => ({ name: writeBackName(shop), sources: [shop.source] })),
  ];
}

/** The shops into whose orders results are written. */
export const writtenShops = (shops: readonly Shop[]): readonly Shop[] =>
  shops.filter(({ rest, writeBack }) => rest !== null && writeBack !== null);
