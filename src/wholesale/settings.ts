import { z } from 'zod';
import {
  certificatesFile,
  count,
  durationMs,
  httpUrl,
  keyName,
  keysOf,
  live,
  secretValue,
  section,
} from '../core/settings/schema-values.ts';

export const wholesaleSection = keysOf({
  environment: z
    .enum(['production', 'sandbox'])
    .default('production')
    .describe('`sandbox` allows http and secrets in this file, and marks every result.'),
  base_url: httpUrl
    .transform((url) => url.replace(/(?<!\/)\/+$/, ''))
    .describe('The address of the Wholesale Ordering API.'),
  shop_url: httpUrl
    .optional()
    .describe(
      "The supplier's web shop, named in messages about products that are only sold there.",
    ),
  keys: z
    .array(
      keysOf({
        name: keyName.describe('The name of the key in logs, pauses and attempts.'),
        ...secretValue('The key itself.'),
      }),
    )
    .min(1)
    .max(5)
    .describe('One to five API keys of one account. Each key has its own budget.')
    .meta(live),
  ca_file: certificatesFile(
    'Certificate authorities (PEM), instead of those of the system, read at the start.',
  ),
  limits: section('The budget that the server allows.', {
    requests: count(1, 100_000).default(60).describe('Calls in a minute, for each key.'),
    orders: count(1, 100_000)
      .default(20)
      .describe('Calls in a minute that buy, top up or cancel, for each key. At most `requests`.'),
  }).meta(live),
  timeout_ms: durationMs(100, 600_000)
    .default(45_000)
    .describe(
      'The longest time for a whole call. The answer must begin within two thirds of this time; the connection must open within a third, at most 5 s.',
    ),
  wire: z
    .unknown()
    .optional()
    .describe('Paths and field names that the specification does not show. See docs/spec-gaps.md.')
    .meta(live),
})
  .transform(({ caFile: ca, timeoutMs: totalMs, ...keys }) => {
    const [connectMs, responseMs] = [
      Math.min(5000, Math.ceil(totalMs / 3)),
      Math.ceil((totalMs * 2) / 3),
    ];
    return { ...keys, ca, timeouts: { connectMs, responseMs, totalMs } };
  })
  .describe('The API of the supplier.');
