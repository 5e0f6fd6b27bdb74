import type { AdminSettings } from '../admin/settings.ts';
import { isLoopback } from '../core/settings/http-url.ts';
import type { ConfigIssue } from './config-issue.ts';
import { entriesOf, valueAt, type Origins } from './layers.ts';
import type { Secrets } from './secrets.ts';
import { problemOfText } from './webhook-rules.ts';

/**
 * Checks who signs in to the pages. The name stands in the audit log, and only the token tells who decides: neither may be
 * shared, and a token of a shop must not open the pages. No message has a secret in it.
 */
export function checkAdminTokens(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const names = new Set<unknown>();
  for (const at of entriesOf(tree, ['admin', 'tokens'])) {
    const name = valueAt(tree, [...at, 'name']);
    if (typeof name === 'string' && names.has(name)) {
      issues.push(origins.issueAt([...at, 'name'], `must differ from the names of the other tokens, got "${name}"`));
    }
    names.add(name);
    for (const key of ['value', 'previous_value']) {
      const path = [...at, key];
      const secret = secrets.get(path.join('.'));
      if (secret === undefined) continue;
      const own = path.join('.');
      const other = [...secrets.all].find(([where, value]) => where !== own && value === secret)?.[0];
      const shared = other === undefined ? null : `is the same secret as ${other}: each needs its own`;
      const problem = problemOfText(secret) ?? shared;
      if (problem !== null) issues.push(origins.issueAt(path, problem));
    }
  }
  return issues;
}

/** Whether the pages are shown at all: without tokens, whoever reaches the address would read every order. */
export function arePagesShown({ listen, tokens }: Pick<AdminSettings, 'listen' | 'tokens'>): boolean {
  return tokens.length > 0 || isLoopback(listen.host);
}

/** A sentence for who expects pages where there are none. */
export function warnOfNoPages(admin: AdminSettings): readonly string[] {
  if (arePagesShown(admin)) return [];
  const where = `admin.listen: other machines reach ${admin.listen.host}, and admin.tokens is empty`;
  return [`${where}: no pages are shown; add a token, see docs/pages.md`];
}
