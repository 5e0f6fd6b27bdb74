import { z } from 'zod';
import { currencySchema, sourceSchema } from '../core/order/order-request.ts';
import {
  count,
  durationMs,
  folderPath,
  httpUrl,
  keyName,
  live,
  secretFile,
  secretText,
} from '../core/settings/schema-values.ts';
import { csvColumns } from '../intake/orders/settings.ts';
import { admin } from './admin-schema.ts';
import { alerts } from './alerts-schema.ts';
import { results } from './results-schema.ts';
import { backup, retention, seal, upkeep } from './upkeep-schema.ts';
import { webhookIntake } from './webhook-schema.ts';

const disk = z
  .strictObject({
    min_free_bytes: count(0, 1_099_511_627_776)
      .default(209_715_200)
      .describe(
        'With less free space on the disk of the outbox, no new orders are taken in, whatever way they come. With less than 50 % of it, nothing is sent. Both resume by themselves.',
      ),
  })
  .prefault({})
  .describe('The disk of the outbox.')
  .meta(live);

const folderIntake = z
  .strictObject({
    inbox: folderPath('Where order files arrive. Default: `<data_dir>/inbox`.'),
    work: folderPath('Where files are while they are read. Default: `work` beside the inbox, on the same mount.'),
    archive: folderPath('Where files go once their lines are in the outbox. Default: `<data_dir>/archive`.'),
    rejected: folderPath(
      'Where rejected files go, each with a `.error.json` that says why. Default: `<data_dir>/rejected`.',
    ),
    scan_interval_ms: durationMs(10, 3_600_000).default(1000).describe('How often the inbox is scanned.').meta(live),
    stable_observations: count(1, 100)
      .default(3)
      .describe('How many scans in a row must find the same size and modification time before a file is read.'),
    stable_ms: durationMs(0, 3_600_000)
      .default(2000)
      .describe('How long these scans must span, by the clock of the worker.'),
    ready: z
      .enum(['stable', 'done_file'])
      .default('stable')
      .describe(
        '`stable`: a file is read once it has stopped changing. `done_file`: it also needs `<name>.done` beside it.',
      ),
    source: sourceSchema
      .default('folder')
      .describe('The source of orders in files that name none. Part of the identity of each line.'),
    currency: currencySchema
      .optional()
      .describe('The balance to charge for orders in files that name none. Unset: each must name one.')
      .meta(live),
    sku_map: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'The file (YAML or CSV) that says what the SKUs in the column `sku` of CSV files stand for, as for a shop. Unset: that column is carried through.',
      )
      .meta(live),
    columns: z
      .partialRecord(z.enum(csvColumns), z.string().min(1).max(200).nullable())
      .default({})
      .describe(
        'CSV columns with another name in the file: our column, then its name, or null where the file does not have it, although a column is called like it.',
      )
      .meta(live),
    limits: z
      .strictObject({
        document_bytes: count(1, 1_073_741_824)
          .default(67_108_864)
          .describe('Larger CSV and NDJSON files are rejected unread.'),
        json_bytes: count(1, 67_108_864)
          .default(8_388_608)
          .describe('Larger JSON files are rejected unread: a JSON file is held in memory as a whole.'),
        rows: count(1, 1_000_000).default(50_000).describe('Order lines in one file.'),
        row_bytes: count(1, 1_048_576).default(65_536).describe('Bytes of one CSV row.'),
        order_bytes: count(1, 16_777_216)
          .default(1_048_576)
          .describe('Bytes of one NDJSON line, which is a whole order.'),
        depth: count(2, 64).default(16).describe('Levels of nested objects and lists.'),
      })
      .prefault({})
      .describe('Limits on order files.')
      .meta(live),
  })
  .prefault({})
  .describe('The watched folder.');

const wholesale = z
  .strictObject({
    environment: z
      .enum(['production', 'sandbox'])
      .default('production')
      .describe(
        '`sandbox` allows plain http and keys written in this file, and marks every result with `sandbox: true`.',
      ),
    base_url: httpUrl.describe(
      'The address of the Wholesale Ordering API. It must be https, except on this machine and for a sandbox.',
    ),
    keys: z
      .array(
        z.strictObject({
          name: keyName.describe('The name of this key in logs, pauses and attempts.'),
          value: secretText('required').describe(
            'The key itself. In production from the environment, or use `value_file`.',
          ),
          value_file: secretFile('the key'),
        }),
      )
      .min(1)
      .max(5)
      .describe('One to five API keys of one account. Each key has its own budget.')
      .meta(live),
    ca_file: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'A file with certificate authorities in PEM that are trusted instead of those of the system, for an API whose certificate a private authority issued. Certificates are always verified. It is read at the start.',
      ),
    limits: z
      .strictObject({
        window_ms: durationMs(1, 86_400_000)
          .default(60_000)
          .describe('The time window in which the server counts calls.'),
        requests: count(1, 100_000).default(60).describe('Calls in a window, for each key.').meta(live),
        orders: count(1, 100_000)
          .default(20)
          .describe('Calls in a window that buy, top up or cancel, for each key. At most `requests`.')
          .meta(live),
        transit_ms: durationMs(0, 600_000)
          .default(5000)
          .describe('How long the server may still receive a call that the worker has aborted.'),
      })
      .prefault({})
      .describe('The budget that the server allows.'),
    timeouts: z
      .strictObject({
        connect_ms: durationMs(1, 600_000).default(5000).describe('Until the connection is open.'),
        response_ms: durationMs(1, 600_000).default(30_000).describe('From the request until the answer begins.'),
        total_ms: durationMs(1, 600_000)
          .default(45_000)
          .describe('From the start of the call until the whole answer has arrived.'),
      })
      .prefault({})
      .describe('Deadlines of one call.'),
    wire: z
      .unknown()
      .optional()
      .describe('Paths and field names that the specification does not show. See `order-sync wire`.'),
  })
  .describe('The API of the supplier.');

const submit = z
  .strictObject({
    concurrency: count(1, 100)
      .optional()
      .describe('Calls under way at once. Default: 8 with one key, and 4 more for each further key.')
      .meta(live),
    max_unknown_outcomes: count(1, 1000)
      .optional()
      .describe(
        'Entries with an unknown outcome, counted together with the spending calls under way. While there are this many, the worker buys nothing new. Default: `submit.concurrency`.',
      )
      .meta(live),
    settlement_delay_ms: durationMs(0, 86_400_000)
      .default(120_000)
      .describe(
        'How long after an ambiguous call a rejection or a missing order proves nothing: the API may still process the call.',
      ),
    reference_expiry_ms: durationMs(1, 2_592_000_000)
      .default(86_400_000)
      .describe(
        'How long after its first call the worker may send a reference again. After that, the entry needs review.',
      ),
    placed_deadline_ms: durationMs(1, 2_592_000_000)
      .default(86_400_000)
      .describe('How long an accepted order may wait for its units. After that, the entry needs review.'),
    cancel_tries: count(1, 10)
      .default(3)
      .describe('How often the worker sends a cancel while the API cannot check the eSIM.'),
    retry_time_scale: z
      .number()
      .min(0)
      .max(10)
      .default(1)
      .describe('Multiplies every retry delay. 1 in production; smaller values only for trials.'),
  })
  .prefault({})
  .describe('How orders are sent.');

/**
 * The configuration as it is written in the file. Each `describe` documents its key: docs/config.md and the example file
 * are checked against it. `rules.ts` has the rules between keys.
 */
export const configSchema = z.strictObject({
  instance: sourceSchema.describe('The name of this installation. Part of every reference: never change it.'),
  data_dir: z
    .string()
    .min(1)
    .default('data')
    .describe('The folder of `order-sync.db`, and of all folders that are not set.'),
  init: z
    .enum(['never', 'if-missing'])
    .default('never')
    .describe('Whether `run` creates a missing database. `never`: only `order-sync init` does.'),
  reference: z
    .strictObject({
      prefix: z
        .string()
        .regex(/^[A-Za-z0-9_]{1,9}$/, 'must be 1 to 9 of A-Z a-z 0-9 _')
        .default('os')
        .describe('Begins every reference, to recognise it in the list of the supplier.'),
      secret_file: folderPath(
        'The file of the secret that references are derived from. Keep a copy outside the data volume. Default: `<data_dir>/reference.secret`.',
      ),
      progress_folder: folderPath(
        'The folder of the progress file, by which the worker notices that its database is an older copy. It must be writable, and should not be restored together with the database. Default: the folder of `secret_file`.',
      ),
    })
    .prefault({})
    .describe('How references are derived.'),
  disk,
  intake: z
    .strictObject({ folder: folderIntake, webhook: webhookIntake })
    .prefault({})
    .describe('Where orders come from.'),
  wholesale,
  submit,
  results,
  seal,
  retention,
  alerts,
  upkeep,
  backup,
  admin,
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info')
        .describe('The least severe level that is logged.')
        .meta(live),
      format: z
        .enum(['auto', 'json', 'pretty'])
        .default('auto')
        .describe('`auto`: text on a terminal, otherwise JSON lines.'),
    })
    .prefault({})
    .describe('The log.'),
  shutdown: z
    .strictObject({
      grace_ms: durationMs(0, 600_000)
        .default(6500)
        .describe('How long calls under way may take to finish after SIGTERM.'),
    })
    .prefault({})
    .describe('How the worker stops.'),
  sandbox: z
    .unknown()
    .optional()
    .describe('The embedded sandbox. Only `demo` and `sandbox` read it. See docs/sandbox.md.'),
});

/** The file with its defaults, before paths and secrets are resolved. */
export type ConfigDocument = z.infer<typeof configSchema>;
