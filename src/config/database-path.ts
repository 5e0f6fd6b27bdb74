import { join, resolve } from 'node:path';
import { databaseName } from './config.ts';
import { type ConfigSources, readLayers } from './config-file.ts';
import { schemaNodeAt } from './schema-tree.ts';

/**
 * Where the outbox is. Of the configuration only `data_dir` is read: a command that looks into the outbox starts faster, and
 * works although a mistake elsewhere would keep a worker from starting.
 * @throws OrderSyncError CONFIG_INVALID with every mistake, when `data_dir` is one
 */
export async function readDatabasePath(sources: ConfigSources): Promise<string> {
  const { tree, cwd, issues } = readLayers(sources);
  const given: unknown = typeof tree === 'object' && tree !== null && 'data_dir' in tree ? tree.data_dir : undefined;
  const dataDir = given ?? schemaNodeAt(['data_dir'])?.default;
  if (issues.length === 0 && typeof dataDir === 'string' && dataDir !== '')
    return join(resolve(cwd, dataDir), databaseName);
  const { loadConfig } = await import('./load.ts');
  return loadConfig({ ...sources, secrets: false }).config.databasePath;
}
