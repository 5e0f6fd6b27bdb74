import { resolve } from 'node:path';
import { type ConfigSources, readLayers } from './config-file.ts';
import { findUnusedVariables } from './unused-variables.ts';

/**
 * The folder of the outbox. Where `data_dir` is given, only that is read of the configuration: a command that only looks
 * starts faster, and works although a mistake elsewhere would keep a worker from starting.
 * @throws OrderSyncError CONFIG_INVALID with every mistake, when the folder may be another one because of one
 */
export async function readDataDir(sources: ConfigSources): Promise<string> {
  const { tree, cwd, environment, issues } = readLayers(sources);
  const given: unknown = typeof tree === 'object' && tree !== null && 'data_dir' in tree ? tree.data_dir : undefined;
  const mistakes = [...issues, ...findUnusedVariables(environment).issues];
  if (typeof given === 'string' && given !== '' && mistakes.length === 0) return resolve(cwd, given);
  // Not given: its name may be mistyped, and then the folder that is used by default is not the one that was meant.
  const { loadConfig } = await import('./load.ts');
  return loadConfig({ ...sources, secrets: false }).config.dataDir;
}
