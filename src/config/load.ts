import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { checkAdminTokens, warnOfNoPages } from './admin-rules.ts';
import { checkAlerts } from './alert-rules.ts';
import { readCaFile } from './ca-file.ts';
import { checkCallbacks } from './callback-rules.ts';
import { ConfigInvalidError, type ConfigIssue } from './config-issue.ts';
import type { LoadedConfig } from './config.ts';
import { digestValues, explainValues } from './explain.ts';
import { layerSources } from './layers.ts';
import { toConfig, withDerivedDefaults } from './resolve.ts';
import { checkResultsGroup } from './group-rule.ts';
import { checkRules } from './rules.ts';
import { explainSchemaIssues } from './schema-issues.ts';
import { configSchema } from './schema.ts';
import { readSecrets, warnOfReadableFiles } from './secrets.ts';
import { findUnusedVariables } from './unused-variables.ts';
import { checkWebhookRules, warnOfTokens } from './webhook-rules.ts';
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

/**
 * Reads the configuration: the environment overrides the file, and flags override both.
 * @throws OrderSyncError CONFIG_INVALID with every mistake. No message has a secret in it
 */
export function loadConfig(sources: ConfigSources = {}): LoadedConfig {
  const environment = sources.environment ?? process.env;
  const cwd = sources.cwd ?? process.cwd();
  const file = sources.file ?? (environment['ORDER_SYNC_CONFIG'] || defaultFile);
  const yaml = readYaml(file, readConfigFile(pathOf(file, cwd), file));
  if (yaml.issues.length > 0) throw new ConfigInvalidError(file, yaml.issues);

  const { tree, origins, issues: layerIssues } = layerSources(yaml, environment, sources.flags ?? {});
  // Compiling the parsers takes longer than reading one document without.
  const parsed = configSchema.safeParse(tree, { jitless: true });
  const secrets = readSecrets(tree, origins, cwd, sources.secrets);
  const unused = findUnusedVariables(environment);
  const { ca, issues: caIssues } = readCaFile(tree, origins, cwd);
  const issues: ConfigIssue[] = [
    ...layerIssues,
    ...unused.issues,
    ...(parsed.error === undefined ? [] : explainSchemaIssues(parsed.error, tree, origins)),
    ...secrets.issues,
    ...caIssues,
    ...checkRules(tree, origins, secrets),
    ...checkWebhookRules(tree, origins, secrets),
    ...checkAlerts(tree, origins, secrets),
    ...checkCallbacks(tree, origins, secrets),
    ...checkAdminTokens(tree, origins, secrets),
    ...checkResultsGroup(tree, origins),
  ];
  if (!parsed.success || issues.length > 0) throw new ConfigInvalidError(file, issues.toSorted(byPlace));

  const document = withDerivedDefaults(parsed.data, cwd);
  const config = toConfig(document, secrets, ca);
  const readable = warnOfReadableFiles({
    'reference.secret_file': config.reference.secretFile,
    database: config.databasePath,
    'write-ahead log': `${config.databasePath}-wal`,
    'run file': join(config.dataDir, 'run.json'),
  });
  return {
    config,
    file,
    warnings: [
      ...unused.warnings,
      ...secrets.warnings,
      ...readable,
      ...warnOfTokens(tree),
      ...warnOfNoPages(config.admin),
    ],
    values: explainValues(document, origins),
    digests: digestValues(document, secrets.all),
  };
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

/** Sorts by place: the lines of the file in their order. */
function byPlace(left: ConfigIssue, right: ConfigIssue): number {
  return left.place.localeCompare(right.place, 'en', { numeric: true });
}
