import { isHttpUrl } from '../core/settings/schema-values.ts';
import { checkGroup, type ConfigPath, isUnencrypted, problemOfWhsec, type SectionCheck } from './section-check.ts';

/** Deliveries are recorded under the name of an endpoint, so two must not share one. */
export function checkResults(check: SectionCheck): void {
  checkGroup(check, 'results', 'group');
  const endpoints = check.entries('results', 'callbacks');
  check.distinct(endpoints, 'name', 'the names of the other callbacks');
  for (const at of endpoints) {
    if (!mayBeHttp(check, at)) check.encrypted([...at, 'url'], 'keys and codes would cross the network');
    check.secretsOf(check.entries(...at, 'secrets'), 'value', problemOfWhsec, listedTwice);
  }
}

/** No message has an address in it: an address of Slack lets its holder post. */
export function checkAlerts(check: SectionCheck): void {
  const endpoints = check.entries('alerts');
  check.distinct(endpoints, 'name', 'the names of the other alerts');
  const problemOfUrl = (url: string, at: ConfigPath): string | null => {
    if (!isHttpUrl(url)) return 'must be an http or https address without user, query or fragment';
    if (mayBeHttp(check, at) || !isUnencrypted(url)) return null;
    return 'must be https, because anybody on the way could read where alerts are posted; or set allow_http';
  };
  for (const at of endpoints) {
    check.secretsOf([at], 'url', (url) => problemOfUrl(url, at), null);
    check.secretsOf(check.entries(...at, 'secrets'), 'value', problemOfWhsec, null);
  }
}

const listedTwice = () => 'is listed twice: remove one of them';

const mayBeHttp = (check: SectionCheck, endpoint: ConfigPath): boolean =>
  check.isSandbox || check.at(...endpoint, 'allow_http') === true;
