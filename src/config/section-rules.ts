import { isSealKey, sealKeyBytes } from '../core/sealing/seal-keys.ts';
import { isHttpUrl } from '../core/settings/schema-values.ts';
import { checkGroup, isUnencrypted, problemOfWhsec, type SectionCheck } from './section-check.ts';

const noProblem = () => null;

/** The host of the example files: a database must not be bound to it. */
const placeholder = /^https?:\/\/wholesale\.example\.com(?=[:/]|$)/i;

export function checkWholesale(check: SectionCheck): void {
  const address = check.at('wholesale', 'base_url');
  if (typeof address === 'string' && placeholder.test(address)) {
    check.report(
      ['wholesale', 'base_url'],
      `is the address in the example: write the address of your API, got "${address}"`,
    );
  }
  if (!check.isSandbox)
    check.encrypted(['wholesale', 'base_url'], 'keys and codes would cross the network');
  const limits = ['wholesale', 'limits'];
  const requests = check.number([...limits, 'requests'], 60);
  const orders = check.number([...limits, 'orders'], 20);
  if (orders > requests) {
    const reason = 'because each order counts as a request';
    check.report(
      [...limits, 'orders'],
      `must be at most \`requests\` (${requests}), ${reason}, got ${orders}`,
    );
  }
  const keys = check.entries('wholesale', 'keys');
  check.distinct(keys, 'name', 'the names of the other keys');
  // The server counts one key under two names as one key: the worker would exceed its budget.
  const next = 'remove one, because the server counts calls by key';
  check.secretsOf(keys, 'value', noProblem, (first) => `is the same key as ${first}: ${next}`);
}

/** Deliveries are recorded under the name of an endpoint, so two must not share one. */
export function checkResults(check: SectionCheck): void {
  checkGroup(check, 'results', 'group');
  const endpoints = check.entries('results', 'callbacks');
  check.distinct(endpoints, 'name', 'the names of the other callbacks');
  for (const at of endpoints) {
    if (!check.isSandbox && check.at(...at, 'allow_http') !== true)
      check.encrypted([...at, 'url'], 'keys and codes would cross the network');
    check.secretsOf(check.entries(...at, 'secrets'), 'value', problemOfWhsec, listedTwice);
  }
}

/** No message has an address in it: an address of Slack lets its holder post. */
export function checkAlerts(check: SectionCheck): void {
  const endpoints = check.entries('alerts');
  check.distinct(endpoints, 'name', 'the names of the other alerts');
  const problemOfUrl = (url: string): string | null => {
    if (!isHttpUrl(url)) return 'must be an http or https address without user, query or fragment';
    if (check.isSandbox || !isUnencrypted(url)) return null;
    return 'must be https, because anybody on the network path could read the address of the alerts';
  };
  for (const at of endpoints) {
    const isMail = check.at(...at, 'format') === 'email';
    check.secretsOf([at], 'url', isMail ? problemOfMailServer : problemOfUrl, null);
    for (const key of isMail ? ['to', 'from'] : [])
      if (check.at(...at, key) === undefined) check.report([...at, key], 'is required for mails');
  }
}

const problemOfMailServer = (url: string): string | null =>
  /^smtps?:\/\/(?:(?:[^\s@/%]|%[0-9a-f]{2})+@)?[^\s@/?#]+$/i.test(url) && URL.canParse(url)
    ? null
    : 'must be smtps://user:password@host, or smtp://, with %25 for %, %40 for @ and %2F for /';

const listedTwice = () => 'is listed twice: remove one of them';

/** A key that is too short would seal nothing, and two with one id could not be told apart. */
export function checkSeal(check: SectionCheck): void {
  const keys = check.entries('seal', 'keys');
  check.distinct(keys, 'id', 'the ids of the other keys');
  const rule = `must be base64 of ${sealKeyBytes} bytes, for example from: openssl rand -base64 32`;
  const problemOf = (value: string) => (isSealKey(value) ? null : rule);
  check.secretsOf(keys, 'value', problemOf, (first) => `is the same key as ${first}`);
}

/**
 * With times of its own a production worker would have no back-off, or break the budget of the
 * supplier.
 */
export function checkTrial(check: SectionCheck): void {
  if (check.at('trial') === undefined || check.isSandbox) return;
  check.report(['trial'], 'is only for trials: remove it, or set `wholesale.environment: sandbox`');
}
