import { isHttpUrl, isLoopback } from '../core/settings/http-url.ts';
import { isSealKey, sealKeyBytes } from '../core/sealing/seal-keys.ts';
import type { ConfigIssue } from './config-issue.ts';
import { entriesOf, valueAt, type Origins } from './layers.ts';
import { isSandbox, type Secrets } from './secrets.ts';

/**
 * Checks the rules between keys. They check the tree as it was written, so that one report has their issues and those of
 * the schema. A rule ignores values of a wrong type: the schema reports these.
 */
export function checkRules(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  return [
    ...checkHttps(tree, origins),
    ...checkLimits(tree, origins),
    ...checkTimeouts(tree, origins),
    ...checkKeys(tree, origins, secrets),
    ...checkSkuColumn(tree, origins),
    ...checkSealKeys(tree, origins, secrets),
  ];
}

function checkHttps(tree: unknown, origins: Origins): ConfigIssue[] {
  if (isSandbox(tree)) return [];
  const callbacks = entriesOf(tree, ['results', 'callbacks']);
  const checked = callbacks.filter((at) => valueAt(tree, [...at, 'allow_http']) !== true);
  const paths = [['wholesale', 'base_url'], ...checked.map((at) => [...at, 'url'])];
  return paths.flatMap((path) => {
    const url = valueAt(tree, path);
    if (typeof url !== 'string' || !isHttpUrl(url)) return [];
    const { protocol, hostname } = new URL(url);
    if (protocol !== 'http:' || isLoopback(hostname)) return [];
    const problem = `must be https, because keys and codes would cross the network unencrypted, got "${url}"`;
    return [origins.issueAt(path, problem)];
  });
}

function checkLimits(tree: unknown, origins: Origins): ConfigIssue[] {
  const limits = ['wholesale', 'limits'];
  const requests = numberAt(tree, [...limits, 'requests'], 60);
  const orders = numberAt(tree, [...limits, 'orders'], 20);
  if (orders <= requests) return [];
  const reason = 'because each order counts as a request';
  return [
    origins.issueAt([...limits, 'orders'], `must be at most \`requests\` (${requests}), ${reason}, got ${orders}`),
  ];
}

function checkTimeouts(tree: unknown, origins: Origins): ConfigIssue[] {
  const timeouts = ['wholesale', 'timeouts'];
  const response = numberAt(tree, [...timeouts, 'response_ms'], 30_000);
  const total = numberAt(tree, [...timeouts, 'total_ms'], 45_000);
  if (total >= response) return [];
  return [origins.issueAt([...timeouts, 'total_ms'], `must be at least \`response_ms\` (${response}), got ${total}`)];
}

/** The server counts one key under two names as one key: the worker would exceed its budget. */
function checkKeys(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const keys = valueAt(tree, ['wholesale', 'keys']);
  const names = new Set<unknown>();
  const values = new Map<string, number>();
  for (const index of Array.isArray(keys) ? keys.keys() : []) {
    const at = ['wholesale', 'keys', index];
    const name = valueAt(tree, [...at, 'name']);
    if (typeof name === 'string' && names.has(name)) {
      issues.push(origins.issueAt([...at, 'name'], `must differ from the names of the other keys, got "${name}"`));
    }
    names.add(name);
    const value = secrets.get([...at, 'value'].join('.'));
    if (value === undefined) continue;
    const first = values.get(value);
    if (first !== undefined) {
      const problem = `is the same key as wholesale.keys.${first}: remove one of them, because the server counts calls by key`;
      issues.push(origins.issueAt([...at, 'value'], problem));
    }
    values.set(value, first ?? index);
  }
  return issues;
}

/** A key that is too short would seal nothing, and two with one id could not be told apart. */
function checkSealKeys(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const ids = new Set<unknown>();
  const values = new Map<string, number>();
  const keys = valueAt(tree, ['seal', 'keys']);
  for (const index of Array.isArray(keys) ? keys.keys() : []) {
    const at = ['seal', 'keys', index];
    const id = valueAt(tree, [...at, 'id']);
    if (typeof id === 'string' && ids.has(id)) {
      issues.push(origins.issueAt([...at, 'id'], `must differ from the ids of the other keys, got "${id}"`));
    }
    ids.add(id);
    const value = secrets.get([...at, 'value'].join('.'));
    if (value === undefined) continue;
    if (!isSealKey(value)) {
      const rule = `must be base64 of ${sealKeyBytes} bytes, for example from: order-sync seal new-key`;
      issues.push(origins.issueAt([...at, 'value'], rule));
    }
    const first = values.get(value);
    if (first !== undefined) issues.push(origins.issueAt([...at, 'value'], `is the same key as seal.keys.${first}`));
    values.set(value, first ?? index);
  }
  return issues;
}

function checkSkuColumn(tree: unknown, origins: Origins): ConfigIssue[] {
  const folder = ['intake', 'folder'];
  const column = [...folder, 'columns', 'sku'];
  if (typeof valueAt(tree, column) !== 'string' || valueAt(tree, [...folder, 'sku_map']) !== undefined) return [];
  return [origins.issueAt(column, 'needs `intake.folder.sku_map`, which says what each SKU stands for')];
}

function numberAt(tree: unknown, path: readonly string[], otherwise: number): number {
  const value = valueAt(tree, path);
  return typeof value === 'number' ? value : otherwise;
}
