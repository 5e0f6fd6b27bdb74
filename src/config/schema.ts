import { z } from 'zod';
import { sourceSchema } from '../core/order/order-request.ts';
import {
  count,
  durationMs,
  folderPath,
  httpUrl,
  keyName,
  listenAddress,
  live,
  secretText,
} from '../core/settings/schema-values.ts';
import { csvColumns } from '../intake/orders/settings.ts';
import { webhookIntake } from './webhook-schema.ts';

/**
 * The whole configuration as it is written: snake_case, one YAML file. Each `describe` is the documentation of its
 * key: docs/config.md and the example file are checked against it. Rules between keys stand in `rules.ts`, so that
 * they are reported together with the rules of single keys.
 */
const folderIntake = z
  .strictObject({
    inbox: folderPath('Where order files arrive. Default: `<data_dir>/inbox`.'),
    work: folderPath('Where a file stands while it is read. Default: `work` beside the inbox, on the same mount.'),
    archive: folderPath('Where files go whose lines are in the outbox. Default: `<data_dir>/archive`.'),
    rejected: folderPath(
      'Where unusable files go, each with a `.error.json` that says why. Default: `<data_dir>/rejected`.',
    ),
    scan_interval_ms: durationMs(10, 3_600_000).default(1000).describe('How often the inbox is looked at.').meta(live),
    stable_observations: count(1, 100)
      .default(3)
      .describe('How many scans in a row must see the same size and time before a file is taken.'),
    stable_ms: durationMs(0, 3_600_000)
      .default(2000)
      .describe('How long those scans must span; counted by our own clock, never by file times.'),
    ready: z
      .enum(['stable', 'done_file'])
      .default('stable')
      .describe(
        '`stable`: a file is taken when it stopped changing. `done_file`: and only when `<name>.done` stands beside it.',
      ),
    source: sourceSchema
      .default('folder')
      .describe('The shop that orders belong to when a file does not say. Part of the identity of each line.'),
    columns: z
      .partialRecord(z.enum(csvColumns), z.string().min(1).max(200).nullable())
      .default({})
      .describe('CSV headers that are named otherwise: our column to the name in the file, or null where it has none.')
      .meta(live),
    limits: z
      .strictObject({
        document_bytes: count(1, 1_073_741_824)
          .default(67_108_864)
          .describe('Larger CSV and NDJSON files are rejected unread.'),
        json_bytes: count(1, 67_108_864)
          .default(8_388_608)
          .describe('Larger JSON files are rejected unread: they are held in memory whole.'),
        rows: count(1, 1_000_000).default(50_000).describe('Order lines in one file.'),
        row_bytes: count(1, 1_048_576).default(65_536).describe('Bytes of one row of CSV.'),
        order_bytes: count(1, 16_777_216).default(1_048_576).describe('Bytes of one line of NDJSON: one whole order.'),
        depth: count(2, 64).default(16).describe('Objects and lists within each other.'),
        min_free_bytes: count(0, 1_099_511_627_776)
          .default(209_715_200)
          .describe('With less room on the disk no further file is taken.'),
      })
      .prefault({})
      .describe('Limits on what is read.')
      .meta(live),
  })
  .prefault({})
  .describe('The watched folder.');

const wholesale = z
  .strictObject({
    environment: z
      .enum(['production', 'sandbox'])
      .default('production')
      .describe('`sandbox` allows plain http and keys written in this file, and marks every result.'),
    base_url: httpUrl.describe(
      'The address of the Wholesale Ordering API. https, unless it is this machine or a sandbox.',
    ),
    keys: z
      .array(
        z.strictObject({
          name: keyName.describe('How this key is called in logs, pauses and attempts.'),
          value: secretText('required').describe(
            'The key itself. In production from the environment, or use `value_file`.',
          ),
          value_file: z.string().min(1).optional().describe('A file that holds the key.'),
        }),
      )
      .min(1)
      .max(5)
      .describe('One to five API keys of one account; each brings its own budget.')
      .meta(live),
    limits: z
      .strictObject({
        window_ms: durationMs(1, 86_400_000).default(60_000).describe('The span in which calls are counted.'),
        requests: count(1, 100_000).default(60).describe('Calls per window and key.').meta(live),
        orders: count(1, 100_000)
          .default(20)
          .describe('Spending calls per window and key; never more than `requests`.')
          .meta(live),
        transit_ms: durationMs(0, 600_000)
          .default(5000)
          .describe('How long the server may still receive a call that the worker has aborted.'),
      })
      .prefault({})
      .describe('The budget that the server enforces.'),
    timeouts: z
      .strictObject({
        connect_ms: durationMs(1, 600_000).default(5000).describe('Until the connection stands.'),
        response_ms: durationMs(1, 600_000).default(30_000).describe('Until the answer begins.'),
        total_ms: durationMs(1, 600_000).default(45_000).describe('Until the answer is complete; a hard end.'),
      })
      .prefault({})
      .describe('Deadlines of one call.'),
    wire: z
      .unknown()
      .optional()
      .describe('Paths and field names that the specification does not show; see `order-sync wire`.'),
  })
  .describe('The supplier.');

const submit = z
  .strictObject({
    concurrency: count(1, 100).default(8).describe('Calls under way at once.').meta(live),
    max_unknown_outcomes: count(1, 1000)
      .default(5)
      .describe('Entries with an unknown outcome. While there are this many, the worker buys nothing new.')
      .meta(live),
    settlement_delay_ms: durationMs(0, 86_400_000)
      .default(120_000)
      .describe('How long after an unclear call the API may still process it; before that, absence proves nothing.'),
    reference_expiry_ms: durationMs(1, 2_592_000_000)
      .default(86_400_000)
      .describe('How long after its first call a reference is sent again by itself; then a person decides.'),
    placed_deadline_ms: durationMs(1, 2_592_000_000)
      .default(86_400_000)
      .describe('How long an accepted order may wait for its units before a person looks at it.'),
    cancel_tries: count(1, 10)
      .default(3)
      .describe('How often a cancel is repeated while the eSIM could not be checked.'),
    retry_time_scale: z
      .number()
      .min(0)
      .max(10)
      .default(1)
      .describe('Stretches every retry delay. 1 in production; small values are for trying things out.'),
  })
  .prefault({})
  .describe('How orders are sent.');

const results = z
  .strictObject({
    folder: folderPath('Where results are written, as `<source>/<order_id>.json`. Default: `<data_dir>/results`.'),
    callback: z
      .strictObject({
        url: httpUrl.describe('Where each result is posted. https, unless it is this machine or a sandbox.'),
        secret: secretText('required').describe(
          'Signs each post: `whsec_` and base64 of 24 to 64 bytes. In production from the environment, or use `secret_file`.',
        ),
        secret_file: z.string().min(1).optional().describe('A file that holds the secret.'),
        allow_http: z
          .boolean()
          .default(false)
          .describe('Whether `url` may be http to another machine: only within a network that nobody else can read.'),
        connect_ms: durationMs(1, 60_000).default(5000).describe('Until the connection stands.'),
        total_ms: durationMs(1, 60_000).default(15_000).describe('Until the receiver has answered; a hard end.'),
      })
      .optional()
      .describe('Posts each result, signed by the Standard Webhooks scheme. See docs/callback.md.')
      .meta(live),
  })
  .prefault({})
  .describe('Where results go.');

const admin = z
  .strictObject({
    listen: listenAddress
      .default('127.0.0.1:9090')
      .describe('Where the worker answers health checks and takes commands of this machine. Port 0: any free port.'),
  })
  .prefault({})
  .describe('The admin listener.');

export const configSchema = z.strictObject({
  instance: sourceSchema.describe('Names this installation. Part of every reference: never change it.'),
  data_dir: z.string().min(1).default('data').describe('Holds `order-sync.db`, and the folders unless they are set.'),
  init: z
    .enum(['never', 'if-missing'])
    .default('never')
    .describe('Whether `run` may make a missing database. `never`: only `order-sync init` does.'),
  reference: z
    .strictObject({
      prefix: z
        .string()
        .regex(/^[A-Za-z0-9_]{1,9}$/, 'must be 1 to 9 of A-Z a-z 0-9 _')
        .default('os')
        .describe('Starts every reference, so that it is recognised in the list of the supplier.'),
      secret_file: folderPath(
        'The secret that references are made with. Keep a copy outside the data volume. Default: `<data_dir>/reference.secret`.',
      ),
    })
    .prefault({})
    .describe('How references are made.'),
  intake: z.strictObject({ folder: folderIntake, webhook: webhookIntake }).prefault({}).describe('How orders come in.'),
  wholesale,
  submit,
  results,
  admin,
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info')
        .describe('The least severe lines that are written.')
        .meta(live),
      format: z
        .enum(['auto', 'json', 'pretty'])
        .default('auto')
        .describe('`auto`: for people on a terminal, JSON otherwise.'),
    })
    .prefault({})
    .describe('The log.'),
  shutdown: z
    .strictObject({
      grace_ms: durationMs(0, 600_000).default(6500).describe('How long calls under way may finish after SIGTERM.'),
    })
    .prefault({})
    .describe('The end.'),
  sandbox: z.unknown().optional().describe('The embedded sandbox; only `demo` and `sandbox` read it.'),
});

/** What the file says, with its defaults filled in, before paths and secrets are resolved. */
export type ConfigDocument = z.infer<typeof configSchema>;
