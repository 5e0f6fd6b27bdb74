import { resolve } from 'node:path';
import { type ConfigSources, readLayers } from './layers.ts';
import { valueAt } from './section-check.ts';

/** The database in the data folder. */
export const databaseName = 'order-sync.db';

/**
 * The folder of the outbox, if `data_dir` is given: nothing else is read of the configuration. So a command that only looks
 * starts faster, and works although a mistake elsewhere would keep a worker from starting. Null: not given, or there are
 * mistakes in names, so that the folder that is used by default may not be the one that was meant.
 * @throws OrderSyncError CONFIG_INVALID when the file cannot be read, or is not YAML
 */
export function givenDataDir(sources: ConfigSources): string | null {
  const { tree, cwd, issues } = readLayers(sources);
  const given = valueAt(tree, ['data_dir']);
  return typeof given === 'string' && given !== '' && issues.length === 0 ? resolve(cwd, given) : null;
}
