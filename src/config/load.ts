import { join } from 'node:path';
import { findGroup } from '../ops/system-groups.ts';
import { checkAdmin, warnOfNoPages } from './admin-section.ts';
import { checkAlerts } from './alerts-section.ts';
import { ConfigInvalidError, type ConfigIssue } from './config-issue.ts';
import type { LoadedConfig } from './config.ts';
import { type ConfigSources, readLayers } from './config-file.ts';
import { digestValues, explainValues } from './explain.ts';
import { checkFolder } from './folder-section.ts';
import { withDerivedDefaults } from './derived-defaults.ts';
import { toConfig } from './resolve.ts';
import { checkResults } from './results-section.ts';
import { explainSchemaIssues } from './schema-issues.ts';
import { checkTrial, configSchema } from './schema.ts';
import { readSecrets, warnOfReadableFiles } from './secrets.ts';
import { SectionCheck } from './section-check.ts';
import { findUnusedVariables } from './unused-variables.ts';
import { checkSeal } from './upkeep-section.ts';
import { checkWebhook } from './webhook-section.ts';
import { checkWholesale, readCaFile } from './wholesale-section.ts';

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
  const issues: ConfigIssue[] = [...layerIssues, ...unused.issues, ...secrets.issues];
  if (parsed.error !== undefined) issues.push(...explainSchemaIssues(parsed.error, tree, origins));
  const warnings = [...unused.warnings, ...secrets.warnings];
  const check = new SectionCheck(tree, {
    secretOf: (path) => secrets.all.get(path),
    report: (path, problem) => void issues.push(origins.issueAt(path, problem)),
    warn: (sentence) => void warnings.push(sentence),
  });
  const ca = readCaFile(check, cwd);
  for (const checkSection of sectionChecks) checkSection(check);
  checkAdmin(check, secrets.all);
  if (!parsed.success || issues.length > 0) throw new ConfigInvalidError(file, issues.toSorted(byPlace));

  const document = withDerivedDefaults(parsed.data, cwd);
  const { group } = document.results;
  const readings = { secrets: secrets.all, ca, gid: group === undefined ? null : findGroup(group) };
  const config = toConfig(document, readings);
  const readable = warnOfReadableFiles({
    'reference.secret_file': config.reference.secretFile,
    database: config.databasePath,
    'write-ahead log': `${config.databasePath}-wal`,
    'run file': join(config.dataDir, 'run.json'),
  });
  return {
    config,
    file,
    document,
    readings,
    warnings: [...warnings, ...readable, ...warnOfNoPages(config.admin)],
    values: explainValues(document, origins),
    digests: digestValues(document, secrets.all),
  };
}

const sectionChecks = [checkWholesale, checkTrial, checkFolder, checkWebhook, checkResults, checkAlerts, checkSeal];

/** Sorts by place: the lines of the file in their order. */
function byPlace(left: ConfigIssue, right: ConfigIssue): number {
  return left.place.localeCompare(right.place, 'en', { numeric: true });
}
