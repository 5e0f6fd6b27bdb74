import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { ConfigInvalidError, type ConfigIssue } from './config-issue.ts';
import type { LoadedConfig } from './config.ts';
import { processEnvironment } from './environment.ts';
import { digestValues, explainValues } from './explain.ts';
import { layerSources } from './layers.ts';
import { toConfig, withDerivedDefaults } from './resolve.ts';
import { checkKeyValues, checkRules } from './rules.ts';
import { explainSchemaIssues } from './schema-issues.ts';
import { configSchema } from './schema.ts';
import { readSecrets } from './secrets.ts';
import { checkCallbackRules, checkWebhookRules } from './webhook-rules.ts';
import { readYaml } from './yaml-file.ts';

export interface ConfigSources {
  /** The file; without it the variable ORDER_SYNC_CONFIG, then `config/order-sync.yaml`. */
  readonly file?: string | undefined;
  /** Dotted path to text, from `--set`; stronger than the environment. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Default: the variables of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths start, those in the file included. Default: the current working directory. */
  readonly cwd?: string;
}

const defaultFile = 'config/order-sync.yaml';

/**
 * Reads the configuration: file, then environment, then flags, each stronger than the one before.
 * Throws CONFIG_INVALID with every mistake at once; no secret is part of any message.
 */
export function loadConfig(sources: ConfigSources = {}): LoadedConfig {
  const environment = sources.environment ?? processEnvironment();
  const cwd = sources.cwd ?? process.cwd();
  const file = sources.file ?? (environment['ORDER_SYNC_CONFIG'] || defaultFile);
  const yaml = readYaml(file, readConfigFile(resolve(cwd, file), file));
  if (yaml.issues.length > 0) throw new ConfigInvalidError(file, yaml.issues);

  const { tree, origins, issues: layerIssues } = layerSources(yaml, environment, sources.flags ?? {});
  const parsed = configSchema.safeParse(tree);
  const secrets = readSecrets(tree, origins, cwd);
  const issues: ConfigIssue[] = [
    ...layerIssues,
    ...(parsed.error === undefined ? [] : explainSchemaIssues(parsed.error, tree, origins)),
    ...checkRules(tree, origins),
    ...secrets.issues,
    ...checkKeyValues(tree, origins, secrets),
    ...checkWebhookRules(tree, origins, secrets),
    ...checkCallbackRules(origins, secrets),
  ];
  if (!parsed.success || issues.length > 0) throw new ConfigInvalidError(file, issues.toSorted(byPlace));

  const document = withDerivedDefaults(parsed.data, cwd);
  return {
    config: toConfig(document, secrets),
    file,
    warnings: secrets.warnings,
    values: explainValues(document, origins),
    digests: digestValues(document, secrets.all),
  };
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
          ? 'name one with --config FILE or ORDER_SYNC_CONFIG; to begin, copy config/order-sync.example.yaml to config/order-sync.yaml (the demo uses config/sandbox.yaml)'
          : 'make it readable for the user that runs order-sync',
        cause: error,
      },
    );
  }
}

/** In the order of the lines of the file; what came from elsewhere afterwards. */
function byPlace(left: ConfigIssue, right: ConfigIssue): number {
  return left.place.localeCompare(right.place, 'en', { numeric: true });
}
