import { nearestName } from '../core/nearest-name.ts';
import type { ConfigIssue } from './config-issue.ts';
import { configKeys } from './schema-tree.ts';

/**
 * The variable that names the config file. All others that the program reads begin with
 * `ORDER_SYNC__`.
 */
const fileVariable = 'ORDER_SYNC_CONFIG';

/** Kubernetes gives these to every pod beside a Service called order-sync. */
const serviceLink = /^ORDER_SYNC_(SERVICE_HOST|SERVICE_PORT|PORT)(_|$)/;

/**
 * Variables that set nothing. One that looks like a key is an issue; any other may belong to
 * another program.
 */
export function findUnusedVariables(environment: Readonly<Record<string, string | undefined>>) {
  const issues: ConfigIssue[] = [];
  const warnings: string[] = [];
  const unused = Object.keys(environment).filter(
    (name) =>
      /^ORDER_SYNC_[^_]/.test(name) &&
      environment[name] &&
      name !== fileVariable &&
      !serviceLink.test(name),
  );
  if (unused.length === 0) return { issues, warnings };
  const variables = new Map(
    configKeys().map(({ path }) => [
      lettersOf(path),
      `ORDER_SYNC__${path.replaceAll('[]', '.0').replaceAll('.', '__').toUpperCase()}`,
    ]),
  ).set('config', fileVariable);
  for (const name of unused) {
    const meant = nearestName(lettersOf(name.slice('ORDER_SYNC_'.length)), [...variables.keys()]);
    const suggestion = meant === undefined ? undefined : variables.get(meant);
    if (suggestion === undefined)
      warnings.push(
        `the variable ${name} sets nothing: keys are set by variables such as ORDER_SYNC__LOG__LEVEL`,
      );
    else
      issues.push({
        place: name,
        path: '',
        problem: `sets nothing, did you mean ${withIndexesOf(name, suggestion)}?`,
      });
  }
  return { issues, warnings };
}

const lettersOf = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '');

/** Puts the numbers of `ORDER_SYNC_KEYS_1_NAME` into the places of a list in its suggestion. */
function withIndexesOf(written: string, suggestion: string): string {
  const indexes = [...written.matchAll(/_(\d{1,3})(?=_|$)/g)].map(([, index]) => index ?? '0');
  return suggestion.replaceAll(/__0(?=__|$)/g, () => `__${indexes.shift() ?? '0'}`);
}
