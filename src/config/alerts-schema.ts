import { z } from 'zod';
import { count, keyName, secretFile, secretText, signingSecrets } from '../core/settings/schema-values.ts';
import { alertTopics } from '../results/settings.ts';

/** The section of the endpoints that are told when something is wrong. */
export const alerts = z
  .array(
    z.strictObject({
      name: keyName.describe('The name of this endpoint in logs and health, as `alert:<name>`.'),
      url: secretText('required').describe(
        'Where alerts are posted. A secret, because whoever has an address of Slack may post there: in production from the environment, or use `url_file`. It must be https, except on this machine, for a sandbox and with `allow_http`.',
      ),
      url_file: secretFile('the address'),
      format: z
        .enum(['json', 'slack'])
        .default('json')
        .describe(
          '`json`: `{ type, timestamp, data }`, see docs/alerts.md. `slack`: `{ text }`, for Slack and what is compatible.',
        ),
      secrets: signingSecrets
        .max(5)
        .default([])
        .describe('The secrets that sign each post with the Standard Webhooks scheme. Empty: posts are not signed.'),
      on: z
        .array(z.enum(alertTopics))
        .min(1)
        .max(alertTopics.length)
        .default([...alertTopics])
        .describe(
          '`attention`: new rows of the attention list. `paused`: scopes for which nothing is sent. `deliveries`: results that a sink does not take. `disk`: the disk of the outbox is nearly full. `health`: another check of `/healthz` fails.',
        ),
      interval_min: count(0, 10_080)
        .default(15)
        .describe('At most one alert in so many minutes: what happens meanwhile is posted together after it.'),
      allow_http: z
        .boolean()
        .default(false)
        .describe('Allows http to another machine. Only for a network that nobody else can read.'),
    }),
  )
  .max(10)
  .default([])
  .describe('Endpoints that are told when something is wrong, and when it is over. See docs/alerts.md.');
