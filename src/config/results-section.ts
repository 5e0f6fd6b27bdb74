import { z } from 'zod';
import { resultEventTypes } from '../core/result/result-events.ts';
import {
  count,
  folderPath,
  groupName,
  httpUrl,
  isHttpUrl,
  keyName,
  live,
  secretFile,
  secretText,
  signingSecrets,
} from '../core/settings/schema-values.ts';
import { alertTopics } from '../results/settings.ts';
import { listOf, section, someSources } from './schema-shapes.ts';
import { checkGroup, type ConfigPath, isUnencrypted, problemOfWhsec, type SectionCheck } from './section-check.ts';

const allowHttp = z
  .boolean()
  .default(false)
  .describe('Allows http to another machine. Only for a network that nobody else can read.');

const callbacks = listOf(
  20,
  'Endpoints to which results are posted, signed with the Standard Webhooks scheme. See docs/callback.md.',
  {
    name: keyName.describe('The name of this endpoint in logs and deliveries, as `callback:<name>`.'),
    url: httpUrl.describe(
      'Where results are posted. It must be https, except on this machine, for a sandbox and with `allow_http`.',
    ),
    secrets: signingSecrets
      .min(1)
      .max(5)
      .describe('The secrets that sign each post. During a rotation, list the old and the new one.'),
    sources: someSources.describe('Only results of these sources are posted. Unset: those of every source.'),
    events: z
      .array(z.enum(resultEventTypes))
      .min(1)
      .max(resultEventTypes.length)
      .optional()
      .describe(
        'The events to post: `order.updated`, `order.settled`, `line.needs_review`. Unset: the result itself at each change.',
      ),
    allow_http: allowHttp,
  },
).meta(live);

export const results = section('Where results are written back to.', {
  folder: folderPath(
    'Where results are written, as `<source>/<order_id>.json`, and those of CSV order files as `files/<name>.<id>.csv`. Default: `<data_dir>/results`.',
  ),
  group: groupName
    .optional()
    .describe(
      'The group that may read results (`0640`), by name, or by number in quotes. The user of the worker must be in it. Unset: only that user (`0600`).',
    ),
  keep_days: count(1, 36_500)
    .optional()
    .describe(
      'Result files are removed so many days after their orders were settled and delivered everywhere. `results rewrite` writes them again. Unset: files are kept.',
    ),
  callbacks,
});

export const alerts = listOf(
  10,
  'Endpoints that are told when something is wrong, and when it is over. See docs/alerts.md.',
  {
    name: keyName.describe('The name of this endpoint in logs and health, as `alert:<name>`.'),
    url: secretText('required').describe(
      'Where alerts are posted. A secret, because an address of Slack lets its holder post. It must be https, except on this machine, for a sandbox and with `allow_http`.',
    ),
    url_file: secretFile('the address'),
    format: z
      .enum(['json', 'slack'])
      .default('json')
      .describe('`json`: an event, see docs/alerts.md. `slack`: `{ text }`.'),
    secrets: signingSecrets
      .max(5)
      .default([])
      .describe('The secrets that sign each post with the Standard Webhooks scheme. Empty: posts are not signed.'),
    on: z
      .array(z.enum(alertTopics))
      .min(1)
      .max(alertTopics.length)
      .default([...alertTopics])
      .describe('The topics to post, see docs/alerts.md.'),
    allow_http: allowHttp,
  },
);

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
