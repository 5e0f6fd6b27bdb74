import { Buffer } from 'node:buffer';
import { platformSettings } from '../storefronts/settings.ts';
import type { ConfigIssue } from './config-issue.ts';
import type { Origins } from './layers.ts';
import type { ConfigPath } from './schema-tree.ts';
import type { Secrets } from './secrets.ts';
import { valueAt } from './tree.ts';
import { isHttpUrl, isLoopback } from '../core/settings/http-url.ts';

const webhook = ['intake', 'webhook'] as const;
const shortestSecret = 16;

/**
 * Rules of the HTTP intake that look at secrets or at several keys. A way in without a real secret would let anybody
 * spend the balance, so each of these stops the start. No secret is part of a message.
 */
export function checkWebhookRules(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  if (valueAt(tree, webhook) === undefined) return [];
  const issues: ConfigIssue[] = [];
  const report = (path: ConfigPath, problem: string) => issues.push(origins.issueAt(path, problem));
  const sizeOf = (list: string): number => {
    const value = valueAt(tree, [...webhook, list]);
    return Array.isArray(value) ? value.length : 0;
  };

  const lists = ['tokens', 'standard_webhooks', 'hmac'];
  const callers = [...lists, ...platformSettings.map(({ name }) => name)];
  if (callers.every((list) => sizeOf(list) === 0)) {
    report(webhook, `accepts no caller: set at least one of ${callers.join(', ')}`);
  }

  const names = new Set<unknown>();
  const values = new Set<string>();
  for (const list of lists) {
    for (let index = 0; index < sizeOf(list); index += 1) {
      const at = [...webhook, list, index];
      const name = valueAt(tree, [...at, 'name']);
      if (typeof name === 'string' && names.has(name)) {
        report([...at, 'name'], `must differ from the other names of the webhook, got "${name}"`);
      }
      names.add(name);
      const path = [...at, list === 'tokens' ? 'value' : 'secret'];
      const secret = secrets.get(path.join('.'));
      if (secret === undefined) continue;
      const problem = list === 'standard_webhooks' ? problemOfWhsec(secret) : problemOfText(secret);
      if (problem !== null) report(path, problem);
      // Who calls is told by the secret alone: two names for one would be no difference.
      if (values.has(secret)) report(path, 'is the secret of another entry, too: each needs its own');
      values.add(secret);
    }
  }
  for (let index = 0; index < sizeOf('hmac'); index += 1) checkForm(tree, [...webhook, 'hmac', index], report);
  const ownSources = checkFormSources(tree, sizeOf('hmac'), report);
  checkShops(tree, secrets, report, { values, ownSources });
  return issues;
}

/**
 * The sources of home-made shops. Several number their orders from 1, each: of the second order 1001 the shop would be
 * told that it is known.
 */
function checkFormSources(
  tree: unknown,
  entries: number,
  report: (path: ConfigPath, problem: string) => void,
): ReadonlySet<unknown> {
  const forms = [...Array(entries).keys()]
    .map((index) => [...webhook, 'hmac', index])
    .filter((at) => valueAt(tree, [...at, 'fields']) !== undefined);
  const sources = new Set<unknown>();
  for (const at of forms) {
    const source = valueAt(tree, [...at, 'source']);
    if (source === undefined && forms.length > 1) {
      const rule = 'must be set where several home-made shops are: their order ids would meet';
      report([...at, 'source'], `${rule} (two secrets of one shop share one source)`);
    }
    sources.add(source ?? valueAt(tree, [...webhook, 'source']) ?? 'webhook');
  }
  return sources;
}

/** A form that could never make an order. */
function checkForm(tree: unknown, at: ConfigPath, report: (path: ConfigPath, problem: string) => void): void {
  const fields = valueAt(tree, [...at, 'fields']);
  const has = (name: string): boolean => valueAt(tree, [...at, 'fields', name]) !== undefined;
  const skuMap = valueAt(tree, [...at, 'sku_map']);
  if (fields === undefined) {
    for (const key of ['sku_map', 'currency']) {
      if (valueAt(tree, [...at, key]) !== undefined) report([...at, key], 'belongs to fields, which is not set');
    }
    return;
  }
  if (has('sku') !== (skuMap !== undefined)) {
    report([...at, 'sku_map'], 'and fields.sku belong together: set both, or none of them');
  } else if (skuMap !== undefined && ['type', 'variant', 'plan', 'days'].some(has)) {
    report([...at, 'fields'], 'type, variant, plan and days are said by the SKU map: remove them, or sku and sku_map');
  } else if (skuMap === undefined && !has('variant') && !has('plan')) {
    report([...at, 'fields'], 'names nothing to buy: set sku with sku_map, variant or plan');
  }
}

/** What signs the results that are posted must be a secret of the scheme, because the receiver's library reads it so. */
export function checkCallbackRules(origins: Origins, secrets: Secrets): ConfigIssue[] {
  const path = ['results', 'callback', 'secret'];
  const secret = secrets.get(path.join('.'));
  const problem = secret === undefined ? null : problemOfWhsec(secret);
  return problem === null ? [] : [{ place: origins.placeFor(path), path: path.join('.'), problem }];
}

/** Two shops must not share a name, a source or a secret: the orders of one could be taken for those of the other. */
function checkShops(
  tree: unknown,
  secrets: Secrets,
  report: (path: ConfigPath, problem: string) => void,
  taken: { readonly values: Set<string>; readonly ownSources: ReadonlySet<unknown> },
): void {
  const { values } = taken;
  const sources = new Set<unknown>(taken.ownSources);
  for (const platform of platformSettings) {
    const shops = valueAt(tree, [...webhook, platform.name]);
    const names = new Set<unknown>();
    for (const index of Array.isArray(shops) ? shops.keys() : []) {
      const at = [...webhook, platform.name, index];
      const name = valueAt(tree, [...at, 'shop']);
      if (typeof name === 'string' && names.has(name)) {
        report([...at, 'shop'], `must differ from the other shops' names, got "${name}"`);
      }
      names.add(name);
      const source = valueAt(tree, [...at, 'source']) ?? name;
      if (typeof source === 'string' && sources.has(source)) {
        const problem = `must differ from the other shops' sources, got "${source}": equal order ids would be mixed up`;
        report([...at, 'source'], problem);
      }
      sources.add(source);
      checkRest(tree, [...at, 'rest'], platform, secrets, report);
      const listed = valueAt(tree, [...at, 'secrets']);
      for (const place of Array.isArray(listed) ? listed.keys() : []) {
        const path = [...at, 'secrets', place, 'value'];
        const secret = secrets.get(path.join('.'));
        if (secret === undefined) continue;
        const problem = problemOfText(secret);
        if (problem !== null) report(path, problem);
        // Only the body is signed: with a shared secret, a body of one shop could be sent to the address of the other.
        if (values.has(secret)) report(path, 'is the secret of another entry, too: each needs its own');
        values.add(secret);
      }
    }
  }
}

/** The keys of a shop's API must not cross a network unencrypted, not even to a stand-in for the shop. */
function checkRest(
  tree: unknown,
  at: ConfigPath,
  platform: (typeof platformSettings)[number],
  secrets: Secrets,
  report: (path: ConfigPath, problem: string) => void,
): void {
  if (valueAt(tree, at) === undefined) return;
  const url = valueAt(tree, [...at, 'url']);
  if (typeof url === 'string' && isHttpUrl(url)) {
    const { protocol, hostname } = new URL(url);
    if (protocol === 'http:' && !isLoopback(hostname)) {
      const problem = `must be https, because the keys of the shop would cross the network unencrypted, got "${url}"`;
      report([...at, 'url'], problem);
    }
  }
  const isSet = (key: string): boolean =>
    secrets.get([...at, key].join('.')) !== undefined || valueAt(tree, [...at, key]) !== undefined;
  const problem = platform.restProblem(isSet);
  if (problem !== null) report(at, problem);
}

function problemOfText(secret: string): string | null {
  return secret.length >= shortestSecret ? null : `must have at least ${shortestSecret} characters`;
}

function problemOfWhsec(secret: string): string | null {
  const rule = 'must be whsec_ and base64 of 24 to 64 bytes, for example from: openssl rand -base64 32';
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (encoded === undefined) return rule;
  const bytes = Buffer.from(encoded, 'base64').length;
  return bytes >= 24 && bytes <= 64 ? null : rule;
}
