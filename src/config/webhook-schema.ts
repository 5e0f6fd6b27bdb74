import { z } from 'zod';
import { currencySchema, sourceSchema } from '../core/order/order-request.ts';
import {
  atStart,
  count,
  durationMs,
  keyName,
  listenAddress,
  live,
  secretText,
} from '../core/settings/schema-values.ts';
import { shopLists } from '../storefronts/settings.ts';

const boundSource = sourceSchema
  .optional()
  .describe('The only shop whose orders it may post, read and take back. Unset: any.');

const tokens = z
  .array(
    z.strictObject({
      name: keyName.describe('How this token is called in logs and in the audit log.'),
      value: secretText('required').describe(
        'The token, at least 16 characters. In production from the environment, or use `value_file`.',
      ),
      value_file: z.string().min(1).optional().describe('A file that holds the token.'),
      source: boundSource,
    }),
  )
  .max(100)
  .default([])
  .describe('Bearer tokens. Several at once, so that each caller has its own and one can be replaced.')
  .meta(live);

const standardWebhooks = z
  .array(
    z.strictObject({
      name: keyName.describe('How this secret is called in logs.'),
      secret: secretText('required').describe(
        '`whsec_` and base64 of 24 to 64 bytes. In production from the environment, or use `secret_file`.',
      ),
      secret_file: z.string().min(1).optional().describe('A file that holds the secret.'),
      source: boundSource,
    }),
  )
  .max(100)
  .default([])
  .describe('Secrets of the Standard Webhooks scheme. During a rotation the old and the new one stand here together.')
  .meta(live);

const inDocument = z
  .string()
  .max(256)
  .regex(/^(?:\/[^/]*)+$/, 'must be a JSON pointer, for example "/order/number"');
const inLine = inDocument.optional();

const fields = z
  .strictObject({
    order_id: inDocument.describe('Where the order has its id, for example `/order/number`.'),
    lines: inDocument.describe('Where it has the list of its lines, for example `/order/items`.'),
    currency: inDocument.optional().describe('Where it names the balance to charge.'),
    not_after: inDocument.optional().describe('Where it says until when it may be bought.'),
    metadata: inDocument.optional().describe('Where it has an object that comes back with the result.'),
    line_id: inLine.describe('Where a line has its id, from the line. Default: its place in the list, from 1.'),
    sku: inLine.describe('Where a line has its SKU; needs `sku_map`.'),
    type: inLine.describe('Where a line has its type. Default: by what it names, and never a cancel.'),
    variant: inLine.describe('Where a line names a gift card or key.'),
    plan: inLine.describe('Where a line names an eSIM plan.'),
    iccid: inLine.describe('Where a line names the eSIM to top up.'),
    quantity: inDocument.describe('Where a line says how many.'),
    days: inLine.describe('Where a line says for how many days.'),
  })
  .optional()
  .describe("Where the shop's own JSON has what an order needs, as JSON pointers. Unset: it sends our form.");

const hmac = z
  .array(
    z.strictObject({
      name: keyName.describe('How this secret is called in logs.'),
      header: z
        .string()
        .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
        .describe('The header that carries the signature, for example `X-Shop-Signature`.'),
      encoding: z
        .enum(['base64', 'hex'])
        .default('base64')
        .describe('How HMAC-SHA256 of the raw body is written there.'),
      prefix: z
        .string()
        .max(32)
        .regex(/^[\x21-\x7e]*$/, 'must be printable ASCII without spaces')
        .default('')
        .describe('What stands before it in the header, for example `sha256=`.'),
      secret: secretText('required').describe(
        'The shared secret, at least 16 characters. In production from the environment, or use `secret_file`.',
      ),
      secret_file: z.string().min(1).optional().describe('A file that holds the secret.'),
      source: boundSource,
      fields,
      sku_map: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe('The file (YAML or CSV) that says what each SKU stands for; with `fields.sku`.'),
      currency: currencySchema
        .optional()
        .describe('With `fields`: the balance to charge where neither the SKU map nor the order names one.'),
      unmatched: z
        .enum(['refuse', 'ignore'])
        .default('refuse')
        .describe('Lines whose SKU is not in the map: `refuse` the order, or `ignore` them: they are not ours.'),
    }),
  )
  .max(100)
  .default([])
  .describe('Signatures of home-made shops: HMAC-SHA256 over the raw body, in a header of their choice.')
  .meta(live);

const limits = z
  .strictObject({
    body_bytes: count(1, 16_777_216).default(1_048_576).describe('Bytes of one request body.'),
    batch_lines: count(1, 10_000).default(1000).describe('Order lines in one request, over all its orders.'),
    depth: count(2, 64).default(16).describe('Objects and lists within each other.'),
    requests_per_minute: count(1, 1_000_000).default(1200).describe('Requests of one token or secret in a minute.'),
    burst: count(1, 100_000).default(200).describe('How many of them may come at once.'),
    uncommitted: count(1, 100_000)
      .default(1000)
      .describe('Requests that wait for the disk at once. Beyond that: 503 and Retry-After.')
      .meta(atStart),
    connections: count(1, 65_535).default(512).describe('Open connections. Beyond that they are closed.').meta(atStart),
    headers_ms: durationMs(1, 600_000)
      .default(10_000)
      .describe('Until the headers of a request are there.')
      .meta(atStart),
    request_ms: durationMs(1, 600_000)
      .default(30_000)
      .describe('Until a request with its body is there.')
      .meta(atStart),
    wait_s: count(0, 300).default(60).describe('The longest that `Prefer: wait` is honoured, in seconds.'),
    waiting: count(0, 100_000)
      .default(256)
      .describe('Requests that wait for a result at once. Beyond that the answer comes at once.')
      .meta(atStart),
  })
  .prefault({})
  .describe('Limits on what is received.')
  .meta(live);

/** The section of the HTTP intake. It listens only when the section is there. */
export const webhookIntake = z
  .strictObject({
    listen: listenAddress.describe(
      'Where orders are received over HTTP, for example `127.0.0.1:8080`. Port 0: any free port.',
    ),
    source: sourceSchema
      .default('webhook')
      .describe('The shop that orders belong to when neither the order nor its token says.')
      .meta(live),
    tokens,
    standard_webhooks: standardWebhooks,
    hmac,
    ...shopLists,
    limits,
  })
  .optional()
  .describe('Orders over HTTP. Without this section nothing listens. See docs/http-api.md.');
