import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { ConfigInvalidError } from './config-issue.ts';
import { type LayeredTree, layerSources } from './layers.ts';
import { readYaml } from './yaml-file.ts';

export interface ConfigSources {
  /** The file. Default: that of the variable ORDER_SYNC_CONFIG, else `config/order-sync.yaml`. */
  readonly file?: string | undefined;
  /** Dotted path to text, from `--set`. They override the environment. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Default: the variables of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths start, also those in the file. Default: the current working directory. */
  readonly cwd?: string;
  /** Default true. False: no secret is read, so that somebody who may not read them can look into the outbox. */
  readonly secrets?: boolean;
}

const defaultFile = 'config/order-sync.yaml';

/** The program brings this one along. It spends no money, so that it may stand in for a missing file of the same name. */
const demoFile = 'config/sandbox.yaml';
const ownDemoFile = resolve(import.meta.dirname, '../..', demoFile);

/** The values as they were written, and their sources. Nothing is checked yet. */
interface ConfigLayers extends LayeredTree {
  readonly file: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads the file, the environment and the flags.
 * @throws OrderSyncError CONFIG_INVALID when the file cannot be read, or is not YAML
 */
export function readLayers(sources: ConfigSources): ConfigLayers {
  const environment = sources.environment ?? process.env;
  const cwd = sources.cwd ?? process.cwd();
  const file = sources.file ?? (environment['ORDER_SYNC_CONFIG'] || defaultFile);
  const yaml = readYaml(file, readConfigFile(pathOf(file, cwd), file));
  if (yaml.issues.length > 0) throw new ConfigInvalidError(file, yaml.issues);
  return { file, cwd, environment, ...layerSources(yaml, environment, sources.flags ?? {}) };
}

function pathOf(file: string, cwd: string): string {
  const path = resolve(cwd, file);
  return file === demoFile && !existsSync(path) ? ownDemoFile : path;
}

function readConfigFile(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const missing = !existsSync(path);
    throw new OrderSyncError(
      'CONFIG_INVALID',
      `The config file ${name} ${missing ? 'does not exist' : 'cannot be read'}`,
      {
        hint: missing
          ? 'name it with --config FILE or ORDER_SYNC_CONFIG, or copy config/order-sync.example.yaml to config/order-sync.yaml (the demo uses config/sandbox.yaml)'
          : 'make it readable for the user that runs order-sync',
        cause: error,
      },
    );
  }
}
