import { z } from 'zod';
import { sourceSchema } from '../core/order/order-request.ts';
import { resultEventTypes } from '../core/result/result-events.ts';
import {
  count,
  durationMs,
  folderPath,
  httpUrl,
  keyName,
  live,
  signingSecrets,
} from '../core/settings/schema-values.ts';

const callbacks = z
  .array(
    z.strictObject({
      name: keyName.describe('The name of this endpoint in logs and deliveries, as `callback:<name>`.'),
      url: httpUrl.describe(
        'Where results are posted. It must be https, except on this machine, for a sandbox and with `allow_http`.',
      ),
      secrets: signingSecrets
        .min(1)
        .max(5)
        .describe('The secrets that sign each post. During a rotation, list the old and the new one.'),
      sources: z
        .array(sourceSchema)
        .min(1)
        .max(100)
        .optional()
        .describe('Only results of these sources are posted. Unset: those of every source.'),
      events: z
        .array(z.enum(resultEventTypes))
        .min(1)
        .max(resultEventTypes.length)
        .optional()
        .describe(
          'Which events are posted: `order.updated`, `order.settled`, `line.needs_review`, each as `{ type, timestamp, data }`. Unset: the result itself is posted at each change.',
        ),
      allow_http: z
        .boolean()
        .default(false)
        .describe('Allows http to another machine. Only for a network that nobody else can read.'),
      connect_ms: durationMs(1, 60_000).default(5000).describe('Until the connection is open.'),
      total_ms: durationMs(1, 60_000)
        .default(15_000)
        .describe('From the start of a post until the receiver has answered.'),
    }),
  )
  .max(20)
  .default([])
  .describe('Endpoints to which results are posted, signed with the Standard Webhooks scheme. See docs/callback.md.')
  .meta(live);

/** The section of the results, and of the endpoints that get them. */
export const results = z
  .strictObject({
    folder: folderPath(
      'Where results are written, as `<source>/<order_id>.json`, and those of CSV order files as `files/<name>.<id>.csv`. Default: `<data_dir>/results`.',
    ),
    file_mode: z
      .enum(['0600', '0640', '0644'])
      .optional()
      .describe(
        'Who may read results: `0600` the user of the worker, `0640` its group, too, `0644` every user of the machine. In quotes. Default: `0600`, and `0640` with `group`.',
      ),
    group: z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a group, or its number in quotes')
      .optional()
      .describe(
        'The group that gets results, by name, or by number in quotes, for a program beside the worker. The user of the worker must be in it. Unset: that of the worker.',
      ),
    keep_days: count(1, 36_500)
      .optional()
      .describe(
        'The files of results are removed so many days after their orders were settled and delivered everywhere. The results stay in the outbox: `results rewrite` writes them again. Unset: files are kept.',
      ),
    callbacks,
    customer: z
      .strictObject({
        templates: z
          .string()
          .min(1)
          .max(4096)
          .optional()
          .describe('A folder of templates in the place of those of the program, which are in English.'),
        qr_png: z
          .boolean()
          .default(false)
          .describe('Gives each eSIM in a result its QR code as `qr_png`, a `data:` address.'),
        qr_svg: z
          .boolean()
          .default(false)
          .describe('Gives each eSIM in a result its QR code as `qr_svg`, the source of a picture.'),
      })
      .optional()
      .describe(
        'Adds to each result what its customer reads, as text and HTML. Unset: results have no such text. See docs/customer-texts.md.',
      ),
  })
  .prefault({})
  .describe('Where results are written back to.');
