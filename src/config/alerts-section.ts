import { z } from 'zod';
import { isHttpUrl, keyName, secretFile, secretText, signingSecrets } from '../core/settings/schema-values.ts';
import { alertTopics } from '../results/settings.ts';
import { isUnencrypted, problemOfWhsec, type SectionCheck } from './section-check.ts';

/** The section of the endpoints that are told when something is wrong. */
export const alerts = z
  .array(
    z.strictObject({
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
      allow_http: z
        .boolean()
        .default(false)
        .describe('Allows http to another machine. Only for a network that nobody else can read.'),
    }),
  )
  .max(10)
  .default([])
  .describe('Endpoints that are told when something is wrong, and when it is over. See docs/alerts.md.');

/** No message has an address in it: an address of Slack lets its holder post. */
export function checkAlerts(check: SectionCheck): void {
  const endpoints = check.entries('alerts');
  check.distinct(endpoints, 'name', 'the names of the other alerts');
  for (const at of endpoints) {
    const url = check.secret(...at, 'url');
    const mayBeHttp = check.isSandbox || check.at(...at, 'allow_http') === true;
    const problem = url === undefined ? null : problemOfUrl(url, mayBeHttp);
    if (problem !== null) check.report([...at, 'url'], problem);
    for (const entry of check.entries(...at, 'secrets')) {
      const secret = check.secret(...entry, 'value');
      const wrong = secret === undefined ? null : problemOfWhsec(secret);
      if (wrong !== null) check.report([...entry, 'value'], wrong);
    }
  }
}

function problemOfUrl(url: string, mayBeHttp: boolean): string | null {
  if (!isHttpUrl(url)) return 'must be an http or https address without user, query or fragment';
  if (mayBeHttp || !isUnencrypted(url)) return null;
  return 'must be https, because anybody on the way could read where alerts are posted; or set allow_http';
}
