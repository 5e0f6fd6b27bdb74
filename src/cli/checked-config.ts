import { missingFolders, otherMounts } from '../app/installed-folders.ts';
import type { Config, LoadedConfig } from '../config/config.ts';
import { ConfigInvalidError, type ConfigIssue } from '../config/config-issue.ts';
import { readReferenceSecret } from '../config/reference-secret.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { readCsvFormat } from '../intake/orders/csv-formats.ts';
import { mistakesOfSkuFile } from '../storefronts/sku-file.ts';
import { isThere } from '../store/sqlite/database.ts';
import { checkStampAt, inspectDisk, upstreamOf } from '../store/sqlite/inspect.ts';
import { loadConfig } from '../config/load.ts';
import { wireSchema } from '../wholesale/connector/wire.ts';
import { sourcesOf, type ConfigOptions } from './config-options.ts';
import { readSandboxSection } from './sandbox-section.ts';

/**
 * The configuration, with the sections checked that only their own modules can read. Throws
 * CONFIG_INVALID.
 */
export function checkedConfigFrom(options: ConfigOptions): LoadedConfig {
  const loaded = loadConfig(sourcesOf(options));
  const { error } = wireSchema.safeParse(loaded.config.wholesale.wire ?? {});
  if (error !== undefined)
    throw new ConfigInvalidError(
      loaded.file,
      loaded.issuesIn(['wholesale', 'wire'], error, wireSchema),
    );
  if (loaded.config.sandbox !== undefined)
    readSandboxSection(loaded.config.sandbox, loaded.config.dataDir);
  return loaded;
}

/**
 * Checks that a configuration fits what `order-sync init` has made: its folders are there, and its
 * database belongs to this API and these references, and lies on a local disk. Before `init`, there
 * is nothing to check.
 * @throws ConfigInvalidError with every mistake, each with the place of its key
 * @throws OrderSyncError as a start does
 */
export function checkInstallation(loaded: LoadedConfig): void {
  const { file, config } = loaded;
  const { databasePath, dataDir, init } = config;
  if (!isThere(databasePath)) return;
  const issues: ConfigIssue[] = [];
  try {
    inspectDisk(dataDir);
  } catch (error) {
    if (!(error instanceof OrderSyncError)) throw error;
    issues.push(issueAt(loaded, 'data_dir', `cannot hold the database: ${error.message}`));
  }
  issues.push(...upstreamIssues(loaded));
  issues.push(...otherMounts(config).map(({ key, problem }) => issueAt(loaded, key, problem)));
  if (init === 'never') {
    for (const { key, path } of missingFolders(config)) {
      issues.push(
        issueAt(
          loaded,
          key,
          `names a folder that does not exist: ${path}. \`order-sync init\` makes missing folders`,
        ),
      );
    }
  }
  if (issues.length > 0) throw new ConfigInvalidError(file, issues);
  requireStamp(config);
}

/** Throws as a start does for a database of another API or of other references. */
export function requireStamp({ databasePath, instance, reference, wholesale }: Config): void {
  const secret = readReferenceSecret(reference.secretFile, false);
  const namespace = { instance, prefix: reference.prefix, secret };
  checkStampAt(databasePath, { upstream: wholesale.upstream, namespace });
}

/**
 * @throws ConfigInvalidError for an address that leads away from the API of which the database has
 * orders
 */
export function refuseOtherUpstream(loaded: LoadedConfig): void {
  const issues = upstreamIssues(loaded);
  if (issues.length > 0) throw new ConfigInvalidError(loaded.file, issues);
}

function upstreamIssues(loaded: LoadedConfig): ConfigIssue[] {
  const { databasePath, wholesale } = loaded.config;
  const { upstream, isOther } = upstreamOf(databasePath, wholesale.upstream);
  const problem = `must lead to the API ${upstream}, not to ${wholesale.upstream}: ${databasePath} has orders of the former; another API needs another data_dir`;
  return isOther ? [issueAt(loaded, 'wholesale.base_url', problem)] : [];
}

export function issueAt(
  { file, values }: LoadedConfig,
  path: string,
  problem: string,
): ConfigIssue {
  const place = values.find((value) => value.path === path)?.place ?? '';
  return { place: place === '' ? file : place, path, problem };
}

/**
 * Checks that a worker could start with the SKU maps and the formats that the configuration names.
 * @throws ConfigInvalidError with every mistake of all maps, each with its file and line
 */
export function checkSkuMaps({ file, config }: LoadedConfig): void {
  const { shops, folders, webhook } = config.intake;
  for (const folder of folders) readCsvFormat(folder);
  const maps = new Set([...shops, ...folders, webhook].flatMap((it) => it?.skuMap ?? []));
  const issues = [...maps].flatMap((map) =>
    mistakesOfSkuFile(map).map(({ line, path, rule }) => {
      return { place: line === null ? map : `${map}:${line}`, path, problem: rule };
    }),
  );
  if (issues.length > 0) throw new ConfigInvalidError(`A SKU map of ${file}`, issues);
}
