import { isHttpUrl, isLoopback } from '../core/settings/http-url.ts';
import type { ConfigIssue } from './config-issue.ts';
import { entriesOf, valueAt, type Origins } from './layers.ts';
import { isSandbox, type Secrets } from './secrets.ts';
import { problemOfWhsec } from './whsec.ts';

/** Checks the endpoints of alerts. No message has an address or a secret in it. */
export function checkAlerts(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const names = new Set<unknown>();
  for (const at of entriesOf(tree, ['alerts'])) {
    const name = valueAt(tree, [...at, 'name']);
    if (typeof name === 'string' && names.has(name))
      issues.push(origins.issueAt([...at, 'name'], `must differ from the names of the other alerts, got "${name}"`));
    names.add(name);
    const url = secrets.get([...at, 'url'].join('.'));
    const mayBeHttp = isSandbox(tree) || valueAt(tree, [...at, 'allow_http']) === true;
    const problem = url === undefined ? null : problemOfUrl(url, mayBeHttp);
    if (problem !== null) issues.push(origins.issueAt([...at, 'url'], problem));
    for (const entry of entriesOf(tree, [...at, 'secrets'])) {
      const path = [...entry, 'value'];
      const secret = secrets.get(path.join('.'));
      const wrong = secret === undefined ? null : problemOfWhsec(secret);
      if (wrong !== null) issues.push(origins.issueAt(path, wrong));
    }
  }
  return issues;
}

function problemOfUrl(url: string, mayBeHttp: boolean): string | null {
  if (!isHttpUrl(url)) return 'must be an http or https address without user, query or fragment';
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || mayBeHttp || isLoopback(hostname)) return null;
  return 'must be https, because anybody on the way could read where alerts are posted; or set allow_http';
}
