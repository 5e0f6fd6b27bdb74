import type { ConfigIssue } from './config-issue.ts';
import type { Origins } from './layers.ts';
import type { ConfigPath } from './schema-tree.ts';
import type { Secrets } from './secrets.ts';
import { valueAt } from './tree.ts';
import { isHttpUrl, isLoopback } from '../core/settings/http-url.ts';

/**
 * Rules between keys. They look at the tree as it was written, so that they are reported together with the rules of
 * single keys: each looks only at values that are what they should be, and leaves the rest to the schema.
 */
export function checkRules(tree: unknown, origins: Origins): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const report = (path: ConfigPath, problem: string) =>
    issues.push({ place: origins.placeFor(path), path: path.join('.'), problem });
  const numberAt = (path: ConfigPath, otherwise: number): number => {
    const value = valueAt(tree, path);
    return typeof value === 'number' ? value : otherwise;
  };

  const sandbox = isSandbox(tree);
  for (const path of [
    ['wholesale', 'base_url'],
    ['results', 'callback', 'url'],
  ]) {
    const url = valueAt(tree, path);
    const isAllowed =
      sandbox || (path[0] === 'results' && valueAt(tree, ['results', 'callback', 'allow_http']) === true);
    if (typeof url !== 'string' || !isHttpUrl(url) || isAllowed) continue;
    const { protocol, hostname } = new URL(url);
    if (protocol === 'http:' && !isLoopback(hostname)) {
      report(path, `must be https, because what it carries would cross the network in the clear, got "${url}"`);
    }
  }

  const limits = ['wholesale', 'limits'];
  const requests = numberAt([...limits, 'requests'], 60);
  const orders = numberAt([...limits, 'orders'], 20);
  if (orders > requests) {
    report(
      [...limits, 'orders'],
      `must be at most \`requests\` (${requests}), because an order is a request, got ${orders}`,
    );
  }

  const timeouts = ['wholesale', 'timeouts'];
  const response = numberAt([...timeouts, 'response_ms'], 30_000);
  const total = numberAt([...timeouts, 'total_ms'], 45_000);
  if (total < response) {
    report([...timeouts, 'total_ms'], `must be at least \`response_ms\` (${response}), got ${total}`);
  }

  const keys = valueAt(tree, ['wholesale', 'keys']);
  const seen = new Set<unknown>();
  for (const index of Array.isArray(keys) ? keys.keys() : []) {
    const path = ['wholesale', 'keys', index, 'name'];
    const name = valueAt(tree, path);
    if (typeof name === 'string' && seen.has(name))
      report(path, `must differ from the other keys' names, got "${name}"`);
    seen.add(name);
  }
  return issues;
}

/** One key under two names would be spent at twice the pace that the server allows it. No value is part of a message. */
export function checkKeyValues(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const keys = valueAt(tree, ['wholesale', 'keys']);
  const seen = new Map<string, number>();
  for (const index of Array.isArray(keys) ? keys.keys() : []) {
    const path = ['wholesale', 'keys', index, 'value'];
    const value = secrets.get(path.join('.'));
    if (value === undefined) continue;
    const first = seen.get(value);
    if (first !== undefined) {
      const problem = `is the key of wholesale.keys.${first}, too: a budget belongs to a key, not to its name`;
      issues.push({ place: origins.placeFor(path), path: path.join('.'), problem });
    }
    seen.set(value, first ?? index);
  }
  return issues;
}

export function isSandbox(tree: unknown): boolean {
  return valueAt(tree, ['wholesale', 'environment']) === 'sandbox';
}
