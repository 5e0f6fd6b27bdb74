import { isHttpUrl, isLoopback } from '../core/settings/http-url.ts';
import { platformSettings } from '../storefronts/settings.ts';
import type { ConfigIssue } from './config-issue.ts';
import { entriesOf, valueAt, type Origins } from './layers.ts';
import type { ConfigPath } from './schema-tree.ts';
import type { Secrets } from './secrets.ts';
import { problemOfWhsec } from './whsec.ts';

const webhook = ['intake', 'webhook'] as const;
const minSecretLength = 16;

interface Checked {
  readonly tree: unknown;
  readonly secrets: Secrets;
  readonly report: (path: ConfigPath, problem: string) => void;
}

/**
 * Checks the rules of the HTTP intake about secrets and between keys. Each of them prevents the start: a caller without a
 * real secret could spend the balance. No message has a secret in it.
 */
export function checkWebhookRules(tree: unknown, origins: Origins, secrets: Secrets): ConfigIssue[] {
  if (valueAt(tree, webhook) === undefined) return [];
  const issues: ConfigIssue[] = [];
  const checked: Checked = {
    tree,
    secrets,
    report: (path, problem) => void issues.push(origins.issueAt(path, problem)),
  };
  const lists = ['tokens', 'standard_webhooks', ...platformSettings.map(({ name }) => name)];
  if (lists.every((list) => entriesOf(tree, [...webhook, list]).length === 0)) {
    checked.report(webhook, `accepts no caller: set at least one of ${lists.join(', ')}`);
  }
  const usedSecrets = new Set<string>();
  checkCallers(checked, usedSecrets);
  checkShops(checked, usedSecrets);
  return issues;
}

function checkCallers(checked: Checked, usedSecrets: Set<string>): void {
  const names = new Set<unknown>();
  for (const list of ['tokens', 'standard_webhooks']) {
    for (const at of entriesOf(checked.tree, [...webhook, list])) {
      const name = valueAt(checked.tree, [...at, 'name']);
      if (typeof name === 'string' && names.has(name)) {
        checked.report([...at, 'name'], `must differ from the other names of the webhook, got "${name}"`);
      }
      names.add(name);
      const key = list === 'tokens' ? 'value' : 'secret';
      const problemOf = list === 'standard_webhooks' ? problemOfWhsec : problemOfText;
      checkSecret(checked, [...at, key], problemOf, usedSecrets);
      if (list === 'tokens') checkSecret(checked, [...at, 'previous_value'], problemOf, usedSecrets);
    }
  }
}

/** Sentences about tokens that may do less than somebody may expect. */
export function warnOfTokens(tree: unknown): readonly string[] {
  return entriesOf(tree, [...webhook, 'tokens']).flatMap((at) => {
    const name = valueAt(tree, [...at, 'name']);
    if (valueAt(tree, [...at, 'sources']) !== undefined || typeof name !== 'string') return [];
    return [`${at.join('.')}.sources is not set: this token may only touch orders of the source "${name}"`];
  });
}

/** Only its secret identifies a caller, so two entries must not share one. */
function checkSecret(
  { secrets, report }: Checked,
  path: ConfigPath,
  problemOf: (secret: string) => string | null,
  usedSecrets: Set<string>,
): void {
  const secret = secrets.get(path.join('.'));
  if (secret === undefined) return;
  const problem = problemOf(secret);
  if (problem !== null) report(path, problem);
  if (usedSecrets.has(secret)) report(path, 'is also the secret of another entry: each entry needs its own');
  usedSecrets.add(secret);
}

/** Two shops must not share a name, a source or a secret: the orders of one could be taken for those of the other. */
function checkShops(checked: Checked, usedSecrets: Set<string>): void {
  const { tree, report } = checked;
  const sources = new Set<unknown>();
  for (const platform of platformSettings) {
    const names = new Set<unknown>();
    for (const at of entriesOf(tree, [...webhook, platform.name])) {
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
      checkRest(checked, [...at, 'rest'], platform);
      checkWriteBack(checked, at);
      // Only the body is signed: with a shared secret, a body of one shop could be sent to the address of the other.
      for (const secret of entriesOf(tree, [...at, 'secrets'])) {
        checkSecret(checked, [...secret, 'value'], problemOfText, usedSecrets);
      }
    }
  }
}

/** The keys of a shop's API must not cross a network unencrypted, not even to a stand-in for the shop. */
function checkRest(
  { tree, secrets, report }: Checked,
  at: ConfigPath,
  platform: (typeof platformSettings)[number],
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

/** Results are written through the API of the shop, and what is written must not look like what is ordered. */
function checkWriteBack({ tree, report }: Checked, shop: ConfigPath): void {
  const at = [...shop, 'write_back'];
  if (valueAt(tree, at) === undefined) return;
  if (valueAt(tree, [...shop, 'rest']) === undefined) {
    report(at, 'needs `rest`, which is not set: results are written through the API of the shop');
  }
  const iccidField = valueAt(tree, [...shop, 'iccid_field']);
  if (valueAt(tree, [...at, 'line_meta']) === true && String(iccidField).toLowerCase() === 'code') {
    const problem = 'writes delivered codes into the field "Code" of lines';
    report([...at, 'line_meta'], `${problem}, which iccid_field names as the field of an eSIM: use another name there`);
  }
}

/** What is wrong with a secret that may be any text; null: nothing. */
export function problemOfText(secret: string): string | null {
  return secret.length >= minSecretLength ? null : `must have at least ${minSecretLength} characters`;
}
