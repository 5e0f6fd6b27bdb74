import { isHttpUrl } from '../core/settings/schema-values.ts';
import { checkGroup, isUnencrypted, problemOfWhsec, type SectionCheck } from './section-check.ts';

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
    return 'must be https, because anybody on the way could read where alerts are posted';
  };
  check.secretsOf(endpoints, 'url', problemOfUrl, null);
}

const listedTwice = () => 'is listed twice: remove one of them';
