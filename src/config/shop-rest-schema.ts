import { z } from 'zod';
import { isCronExpression } from '../ops/schedule.ts';
import { count, durationMs, httpUrl, secretText } from '../core/settings/schema-values.ts';

const restFields = {
  url: httpUrl.describe(
    'The address of the shop, for example `https://shop.example.com`. https, unless it is this machine.',
  ),
  schedule: z
    .string()
    .max(100)
    .refine(isCronExpression, 'must be a cron expression of five or six fields, for example "*/5 * * * *"')
    .default('*/5 * * * *')
    .describe('When the shop is read back, as a cron expression in UTC; also at the start of the worker.'),
  lookback_h: count(0, 8760)
    .default(0)
    .describe('How far before the very first start orders are read back, in hours. Those that are paid are bought.'),
  overlap_s: count(0, 86_400)
    .default(300)
    .describe('How much of what was read before is read again, in seconds: a change may become visible late.'),
  pages_per_run: count(1, 10_000).default(50).describe('Pages in one run. The next run goes on where it ended.'),
  request_interval_ms: durationMs(0, 60_000).default(500).describe('The least time between two calls to the shop.'),
  body_bytes: count(1024, 268_435_456).default(16_777_216).describe('The longest answer that is read.'),
  timeouts: z
    .strictObject({
      connect_ms: durationMs(1, 600_000).default(5000).describe('Until the connection stands.'),
      total_ms: durationMs(1, 600_000).default(60_000).describe('Until the answer is complete; a hard end.'),
    })
    .prefault({})
    .describe('Deadlines of one call.'),
};

export const wooRest = z
  .strictObject({
    ...restFields,
    consumer_key: secretText('required').describe(
      'The `ck_` of a key with the right to read. In production from the environment, or use `consumer_key_file`.',
    ),
    consumer_key_file: z.string().min(1).optional().describe('A file that holds the consumer key.'),
    consumer_secret: secretText('required').describe(
      'The `cs_` of that key. In production from the environment, or use `consumer_secret_file`.',
    ),
    consumer_secret_file: z.string().min(1).optional().describe('A file that holds the consumer secret.'),
    page_size: count(10, 100).default(100).describe('Orders on a page.'),
  })
  .optional()
  .describe(
    'Reads the shop back through its REST API, so that no order is lost with a webhook. Unset: it is not read.',
  );

export const shopifyRest = z
  .strictObject({
    ...restFields,
    api_version: z
      .string()
      .regex(/^\d{4}-(01|04|07|10)$/, 'must be a version of the Admin API, for example "2026-10"')
      .default('2026-10')
      .describe('The version of the Admin API.'),
    access_token: secretText('optional').describe(
      'A lasting Admin API token with `read_orders`. In production from the environment, or use `access_token_file`.',
    ),
    access_token_file: z.string().min(1).optional().describe('A file that holds the token.'),
    client_id: z
      .string()
      .regex(/^[\x21-\x7e]{1,128}$/, 'must be printable ASCII without spaces')
      .optional()
      .describe(
        'The client id of an app of the Dev Dashboard, in place of a token: tokens of a day are asked for with it.',
      ),
    client_secret: secretText('optional').describe(
      'The secret of that app. In production from the environment, or use `client_secret_file`.',
    ),
    client_secret_file: z.string().min(1).optional().describe('A file that holds the client secret.'),
    page_size: count(10, 250).default(100).describe('Orders on a page.'),
  })
  .optional()
  .describe(
    'Reads the shop back through the Admin API, so that no order is lost with a webhook. Unset: it is not read.',
  );
