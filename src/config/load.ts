import { join } from 'node:path';
import { checkAdmin, warnOfNoPages } from './admin-section.ts';
import { ConfigInvalidError, type ConfigIssue } from './config-issue.ts';
import type { LoadedConfig } from './config.ts';
import { digestValues, explainValues } from './explain.ts';
import { checkFolders, checkPaths, checkWebhook, readShopCaFiles } from './intake-section.ts';
import { type ConfigSources, readLayers } from './layers.ts';
import { toConfig, withDerivedDefaults } from './resolve.ts';
import { checkAlerts, checkResults } from './results-section.ts';
import { explainSchemaIssues } from './schema-issues.ts';
import { schemaTreeOf } from './schema-tree.ts';
import { checkTrial, configSchema } from './schema.ts';
import { readSecrets, warnOfReadableFiles } from './secrets.ts';
import { SectionCheck } from './section-check.ts';
import { checkSeal } from './upkeep-section.ts';
import { checkWholesale, readCaFile } from './wholesale-section.ts';

const rules = [
  checkWholesale,
  checkTrial,
  checkFolders,
  checkWebhook,
  checkResults,
  checkAlerts,
  checkSeal,
  checkAdmin,
];

/** Throws CONFIG_INVALID with every mistake; no message has a secret in it. */
export function loadConfig(sources: ConfigSources = {}): LoadedConfig {
  const { file, cwd, tree, origins, ...layers } = readLayers(sources);
  // For one document, to compile the parsers takes longer than to read without them.
  const parsed = configSchema.safeParse(tree, { jitless: true });
  const check = new SectionCheck(tree, (path, problem) => origins.issueAt(path, problem));
  readSecrets(check, origins, cwd, sources.secrets);
  if (parsed.error !== undefined) check.issues.push(...explainSchemaIssues(parsed.error, tree, origins));
  const ca = readCaFile(check, cwd, ['wholesale', 'ca_file']);
  readShopCaFiles(check, cwd);
  for (const checkSection of rules) checkSection(check);
  if (parsed.success) checkPaths(check, withDerivedDefaults(parsed.data, cwd));
  const { secrets } = check;
  const issues = [...layers.issues, ...check.issues];
  if (!parsed.success || issues.length > 0) throw new ConfigInvalidError(file, issues.toSorted(byPlace));

  const document = withDerivedDefaults(parsed.data, cwd);
  const readings = { secrets, ca };
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
    warnings: [...layers.warnings, ...check.warnings, ...readable, ...warnOfNoPages(config.admin)],
    values: explainValues(document, origins),
    digests: digestValues(document, secrets),
    issuesIn: (at, error, schema) =>
      explainSchemaIssues(error, tree, origins, { at, schema: schemaTreeOf(schema) }).toSorted(byPlace),
  };
}

/** Sorts by place: the lines of the file in their order. */
function byPlace(left: ConfigIssue, right: ConfigIssue): number {
  return left.place.localeCompare(right.place, 'en', { numeric: true });
}
