import type { ConfigIssue } from './config-issue.ts';
import { entriesOf, valueAt, type Origins } from './layers.ts';
import type { Secrets } from './secrets.ts';
import { problemOfWhsec } from './whsec.ts';

/**
 * Checks the endpoints of callbacks: deliveries are recorded under the name of an endpoint, so two must not share one. No
 * message has a secret in it.
 */
export function checkCallbacks(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const names = new Set<unknown>();
  for (const at of entriesOf(tree, ['results', 'callbacks'])) {
    const name = valueAt(tree, [...at, 'name']);
    if (typeof name === 'string' && names.has(name)) {
      issues.push(origins.issueAt([...at, 'name'], `must differ from the names of the other callbacks, got "${name}"`));
    }
    names.add(name);
    const own = new Set<string>();
    for (const entry of entriesOf(tree, [...at, 'secrets'])) {
      const path = [...entry, 'value'];
      const secret = secrets.get(path.join('.'));
      if (secret === undefined) continue;
      const problem = own.has(secret) ? 'is listed twice: remove one of them' : problemOfWhsec(secret);
      if (problem !== null) issues.push(origins.issueAt(path, problem));
      own.add(secret);
    }
  }
  return issues;
}
