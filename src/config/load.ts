import { join } from 'node:path';
import { checkAdmin, warnOfNoPages } from './admin-rules.ts';
import { ConfigInvalidError, type ConfigIssue } from './config-issue.ts';
import type { LoadedConfig } from './config.ts';
import { digestValues, explainValues } from './explain.ts';
import { checkFolders, checkPaths, checkWebhook } from './intake-rules.ts';
import { type ConfigSources, readLayers } from './layers.ts';
import { completeDocument, parseDocument, toConfig } from './resolve.ts';
import { explainSchemaIssues } from './schema-issues.ts';
import { schemaTreeOf } from './schema-tree.ts';
import { readSecrets, warnOfReadableFiles } from './secrets.ts';
import { SectionCheck } from './section-check.ts';
import {
  checkAlerts,
  checkResults,
  checkSeal,
  checkTrial,
  checkWholesale,
} from './section-rules.ts';

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
  const check = new SectionCheck(tree, (path, problem) => origins.issueAt(path, problem));
  readSecrets(check, origins, cwd, sources.secrets);
  const document = completeDocument(tree, cwd);
  const readings = check.secrets;
  const parsed = parseDocument(document, readings);
  if (parsed.error !== undefined)
    check.issues.push(...explainSchemaIssues(parsed.error, tree, origins));
  for (const checkSection of rules) checkSection(check);
  if (parsed.success) checkPaths(check, parsed.data);
  const issues = [...layers.issues, ...check.issues];
  if (!parsed.success || issues.length > 0)
    throw new ConfigInvalidError(file, issues.toSorted(byPlace));

  const config = toConfig(parsed.data);
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
    digests: digestValues(document, readings),
    issuesIn: (at, error, schema) =>
      explainSchemaIssues(error, tree, origins, { at, schema: schemaTreeOf(schema) }).toSorted(
        byPlace,
      ),
  };
}

function byPlace(left: ConfigIssue, right: ConfigIssue): number {
  return left.place.localeCompare(right.place, 'en', { numeric: true });
}
