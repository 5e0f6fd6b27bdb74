import { resolve } from 'node:path';
import { type ConfigSources, readLayers } from './config-file.ts';
import { schemaNodeAt } from './schema-tree.ts';

/**
 * The folder of the outbox. Of the configuration only `data_dir` is read: a command that only looks starts faster, and works
 * although a mistake elsewhere would keep a worker from starting.
 * @throws OrderSyncError CONFIG_INVALID with every mistake, when `data_dir` is one
 */
export async function readDataDir(sources: ConfigSources): Promise<string> {
  const { tree, cwd, issues } = readLayers(sources);
  const given: unknown = typeof tree === 'object' && tree !== null && 'data_dir' in tree ? tree.data_dir : undefined;
  const dataDir = given ?? schemaNodeAt(['data_dir'])?.default;
  if (issues.length === 0 && typeof dataDir === 'string' && dataDir !== '') return resolve(cwd, dataDir);
  const { loadConfig } = await import('./load.ts');
  return loadConfig({ ...sources, secrets: false }).config.dataDir;
}
