import { z } from 'zod';
import { sourceSchema } from '../core/order/order-request.ts';
import {
  atStart,
  count,
  durationMs,
  keyName,
  listenAddress,
  live,
  rotatingToken,
  secretFile,
  secretText,
} from '../core/settings/schema-values.ts';
import { tokenScopes } from '../intake/http/settings.ts';
import { shopLists } from '../storefronts/settings.ts';

const boundSource = sourceSchema.optional().describe('The only source whose orders it may post. Unset: any.');

const tokens = z
  .array(
    z.strictObject({
      name: keyName.describe('The name of this token in logs and in the audit log.'),
      ...rotatingToken,
      scopes: z
        .array(z.enum(tokenScopes))
        .min(1)
        .default([...tokenScopes])
        .describe('What it may do: `post` orders, `read` them with their delivered codes, `cancel` what is unsent.'),
      sources: z
        .array(sourceSchema)
        .min(1)
        .max(100)
        .optional()
        .describe(
          'The only sources whose orders it may touch. The first is that of orders that name none. Unset: the source that is called as the token.',
        ),
    }),
  )
  .max(100)
  .default([])
  .describe('Bearer tokens. With a token for each caller, one can be replaced without the others.')
  .meta(live);

const standardWebhooks = z
  .array(
    z.strictObject({
      name: keyName.describe('The name of this secret in logs.'),
      secret: secretText('required').describe(
        '`whsec_` and base64 of 24 to 64 bytes. In production from the environment, or use `secret_file`.',
      ),
      secret_file: secretFile('the secret'),
      source: boundSource,
    }),
  )
  .max(100)
  .default([])
  .describe('Secrets of the Standard Webhooks scheme. During a rotation, list the old and the new one.')
  .meta(live);

const limits = z
  .strictObject({
    body_bytes: count(1, 16_777_216).default(1_048_576).describe('Bytes of one request body.'),
    batch_lines: count(1, 10_000).default(1000).describe('Order lines in one request, over all its orders.'),
    depth: count(2, 64).default(16).describe('Levels of nested objects and lists.'),
    requests_per_minute: count(1, 1_000_000).default(1200).describe('Requests in a minute, for each token or secret.'),
    burst: count(1, 100_000).default(200).describe('How many of these may arrive at once.'),
    uncommitted: count(1, 100_000)
      .default(1000)
      .describe('Requests that wait for the disk at the same time. More are answered with 503 and Retry-After.')
      .meta(atStart),
    connections: count(4, 65_535)
      .default(512)
      .describe(
        'Open connections. When there are more, the oldest one without a valid token or signature is closed; a quarter is left to addresses that had one in the last ten minutes.',
      )
      .meta(atStart),
    connections_per_address: count(1, 65_535)
      .default(64)
      .describe('Open connections of one address from which no valid token or signature came in the last ten minutes.')
      .meta(atStart),
    unverified_bytes: count(1, 1_073_741_824)
      .default(16_777_216)
      .describe('Bytes of all bodies together whose signature is not verified yet. More are answered with 503.')
      .meta(atStart),
    verified_bytes: count(1, 1_073_741_824)
      .default(16_777_216)
      .describe('The same for bodies that come with a valid token.')
      .meta(atStart),
    headers_ms: durationMs(1, 600_000)
      .default(10_000)
      .describe('Until the headers of a request have arrived.')
      .meta(atStart),
    request_ms: durationMs(1, 600_000)
      .default(30_000)
      .describe('Until a request has arrived with its body.')
      .meta(atStart),
    wait_s: count(0, 300).default(60).describe('The longest wait that `Prefer: wait` can ask for, in seconds.'),
    waiting: count(0, 100_000)
      .default(256)
      .describe('Requests that wait for a result at the same time. More are answered at once.')
      .meta(atStart),
  })
  .prefault({})
  .describe('Limits on requests.')
  .meta(live);

/** The section of the intake over HTTP. */
export const webhookIntake = z
  .strictObject({
    listen: listenAddress.describe(
      'The address at which the worker receives orders, for example `127.0.0.1:8080`. Port 0: any free port.',
    ),
    source: sourceSchema
      .default('webhook')
      .describe('The source of signed orders when neither the order nor its secret has one.')
      .meta(live),
    tokens,
    standard_webhooks: standardWebhooks,
    ...shopLists,
    limits,
  })
  .optional()
  .describe('Orders over HTTP. Unset: the worker receives no orders over HTTP. See docs/http-api.md.');
