import { z } from 'zod';
import { currencySchema, sourceSchema } from '../../core/order/order-request.ts';
import {
  count,
  keyName,
  keysOf,
  listenAddress,
  listOf,
  live,
  orNull,
  pathText,
  rotated,
  secretText,
  section,
  someSources,
  tokenValue,
} from '../../core/settings/schema-values.ts';

/** The scopes of a token: `cancel` is for what is unsent. */
const tokenScopes = ['post', 'read', 'cancel', 'cancel_esim'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** Limits on everything that a caller can make grow or wait. */
const defaultWebhookLimits = {
  /** Of one request. */
  bodyBytes: 1_048_576,
  /** Order lines in one request, over all its orders. */
  batchLines: 1000,
  /** Levels of nested objects and arrays. */
  depth: 16,
  requestsPerMinute: 1200,
  burst: 200,
  /** Requests that wait for the disk at the same time. */
  uncommitted: 1000,
  connections: 512,
  connectionsPerAddress: 64,
  /** Of two webhooks of shops, one of them too large. */
  unverifiedBytes: 25_165_824,
  verifiedBytes: 6_291_456,
  headersMs: 10_000,
  requestMs: 30_000,
};

/** The source of signed orders when neither they nor their secret have one. */
export const usualSource = 'webhook';

const tokens = listOf(100, 'Bearer tokens, one for each caller.', {
  name: keyName.describe('The name of the caller in logs and the audit log.'),
  ...tokenValue,
  scopes: z
    .array(z.enum(tokenScopes))
    .min(1)
    .default(['post', 'read', 'cancel'])
    .describe(
      'What the caller may do: `post` orders, `read` them with codes, `cancel` unsent orders. `cancel_esim` (with `post`) cancels eSIMs of its sources, and is not in the default.',
    ),
  sources: someSources
    .optional()
    .describe(
      'The sources of the caller; the first is the default. Unset: the source with the name of the token.',
    ),
  currency: orNull(currencySchema).describe(
    'The balance for orders without a currency. Unset: each order must name a currency.',
  ),
})
  .transform((listed) =>
    rotated(listed).map((token) => ({ ...token, sources: token.sources ?? [token.name] })),
  )
  .meta(live);

const standardWebhooks = listOf(100, 'Secrets of the Standard Webhooks scheme.', {
  name: keyName.describe('The name in logs.'),
  secret: secretText('required').describe('`whsec_` and base64 of 24 to 64 bytes.'),
  source: orNull(sourceSchema).describe(
    'Orders signed with this secret may name only this source. Unset: any source; orders without a source belong to `webhook`.',
  ),
}).meta(live);

const limits = section('Limits on requests.', {
  requests_per_minute: count(1, 1_000_000)
    .default(defaultWebhookLimits.requestsPerMinute)
    .describe(
      'Requests in a minute, for each token or secret. One sixth of this number may arrive at once.',
    ),
})
  .transform((given) => ({
    ...defaultWebhookLimits,
    ...given,
    burst: Math.ceil(given.requestsPerMinute / 6),
  }))
  .meta(live);

/** Without the lists of shops, which `config` adds. */
export const webhookKeys = {
  listen: listenAddress.describe('Where the worker receives orders, for example `127.0.0.1:8080`.'),
  sku_map: orNull(pathText).describe('The SKU map (YAML or CSV) for `sku` in orders.').meta(live),
  tokens,
  standard_webhooks: standardWebhooks,
  limits,
};
const webhookSection = keysOf(webhookKeys);
export type WebhookSettings = z.output<typeof webhookSection>;
export type TokenCaller = WebhookSettings['tokens'][number];
export type WebhookCaller = Pick<
  WebhookSettings['standardWebhooks'][number],
  'name' | 'secret' | 'source'
>;
export type WebhookLimits = WebhookSettings['limits'];
