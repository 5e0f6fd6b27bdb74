import { join } from 'node:path';
import { checkAdminTokens, warnOfNoPages } from './admin-rules.ts';
import { checkAlerts } from './alert-rules.ts';
import { readCaFile } from './ca-file.ts';
import { checkCallbacks } from './callback-rules.ts';
import { ConfigInvalidError, type ConfigIssue } from './config-issue.ts';
import type { LoadedConfig } from './config.ts';
import { type ConfigSources, readLayers } from './config-file.ts';
import { digestValues, explainValues } from './explain.ts';
import { toConfig, withDerivedDefaults } from './resolve.ts';
import { checkResultsGroup } from './group-rule.ts';
import { checkRules } from './rules.ts';
import { explainSchemaIssues } from './schema-issues.ts';
import { configSchema } from './schema.ts';
import { readSecrets, warnOfReadableFiles } from './secrets.ts';
import { findUnusedVariables } from './unused-variables.ts';
import { checkWebhookRules, warnOfTokens } from './webhook-rules.ts';

/**
 * Reads the configuration: the environment overrides the file, and flags override both.
 * @throws OrderSyncError CONFIG_INVALID with every mistake. No message has a secret in it
 */
export function loadConfig(sources: ConfigSources = {}): LoadedConfig {
  const { file, cwd, environment, tree, origins, issues: layerIssues } = readLayers(sources);
  // For one document, to compile the parsers takes longer than to read without them.
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

/** Sorts by place: the lines of the file in their order. */
function byPlace(left: ConfigIssue, right: ConfigIssue): number {
  return left.place.localeCompare(right.place, 'en', { numeric: true });
}
