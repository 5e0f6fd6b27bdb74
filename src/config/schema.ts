import { z } from 'zod';
import { currencySchema, sourceSchema } from '../core/order/order-request.ts';
import {
  count,
  durationMs,
  folderPath,
  httpUrl,
  keyName,
  listenAddress,
  live,
  secretFile,
  secretText,
} from '../core/settings/schema-values.ts';
import { resultEventTypes } from '../core/result/result-events.ts';
import { adminRoles } from '../admin/settings.ts';
import { alertTopics } from '../results/settings.ts';
import { csvColumns } from '../intake/orders/settings.ts';
import { isCronExpression } from '../ops/schedule.ts';
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

const callbacks = z
  .array(
    z.strictObject({
      name: keyName.describe('The name of this endpoint in logs and deliveries, as `callback:<name>`.'),
      url: httpUrl.describe(
        'Where results are posted. It must be https, except on this machine, for a sandbox and with `allow_http`.',
      ),
      secrets: z
        .array(
          z.strictObject({
            value: secretText('required').describe(
              'A secret: `whsec_` and base64 of 24 to 64 bytes. In production from the environment, or use `value_file`.',
            ),
            value_file: secretFile('the secret'),
          }),
        )
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

const results = z
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
        language: z
          .string()
          .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be the tag of a language, for example "de"')
          .default('en')
          .describe(
            'The language of orders that name none of those that have templates: `en`, `de`, `es`, `ru`, `zh`, and those of `templates`.',
          ),
        templates: z
          .string()
          .min(1)
          .max(4096)
          .optional()
          .describe('A folder of templates in the place of those of the program: `<language>/<name>`.'),
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

const alerts = z
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
      secrets: z
        .array(
          z.strictObject({
            value: secretText('required').describe(
              'A secret: `whsec_` and base64 of 24 to 64 bytes. In production from the environment, or use `value_file`.',
            ),
            value_file: secretFile('the secret'),
          }),
        )
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

const admin = z
  .strictObject({
    listen: listenAddress
      .default('127.0.0.1:9090')
      .describe(
        'Where the worker answers health checks, shows its pages and takes commands of this machine. Port 0: any free port.',
      ),
    tokens: z
      .array(
        z.strictObject({
          name: keyName.describe('Who signs in with this token. The audit log names the decisions by it.'),
          role: z
            .enum(adminRoles)
            .describe('`viewer`: reads the pages. `operator`: also decides, for example holds, retries and re-orders.'),
          value: secretText('required').describe(
            'The token, at least 16 characters. In production from the environment, or use `value_file`.',
          ),
          value_file: secretFile('the token'),
          previous_value: secretText('optional').describe(
            'The token that `value` replaces. It is accepted, too, until this key is removed.',
          ),
          previous_value_file: secretFile('the previous token'),
        }),
      )
      .max(100)
      .default([])
      .describe(
        'Who may sign in to the pages. Empty: the pages only show, and only on an address of this machine alone. See docs/pages.md.',
      )
      .meta(live),
    hosts: z
      .array(
        z
          .string()
          .regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be a host name in small letters, without port'),
      )
      .max(100)
      .default([])
      .describe(
        'Further host names under which browsers reach the pages, for example `orders.example.com` of a proxy. Under another name nothing is shown.',
      )
      .meta(live),
  })
  .prefault({})
  .describe('The admin server.');

const seal = z
  .strictObject({
    keys: z
      .array(
        z.strictObject({
          id: keyName.describe(
            'The name of this key. It stands in each value that it sealed: a new key needs a new id.',
          ),
          value: secretText('required').describe(
            'The key: base64 of 32 bytes. In production from the environment, or use `value_file`.',
          ),
          value_file: secretFile('the key'),
        }),
      )
      .max(16)
      .default([])
      .describe(
        'The first key seals, all open. Keep a copy of each outside the data volume: without it, the codes that it sealed are lost. Empty: codes are stored in clear.',
      ),
  })
  .prefault({})
  .describe('The keys that seal delivered codes in the database. See docs/sealing.md.');

const retention = z
  .strictObject({
    codes_days: count(1, 36_500)
      .optional()
      .describe(
        'Delivered codes are shredded so many days after their result was delivered everywhere. References, money and the audit log stay. Unset: codes are kept.',
      ),
  })
  .prefault({})
  .describe('For how long something is kept. See docs/sealing.md.');

const schedule = (usual: string, description: string) =>
  z
    .string()
    .refine(
      (text) => text === 'off' || isCronExpression(text),
      'must be off, or a cron expression of five or six fields, for example "23 2 * * *"',
    )
    .default(usual)
    .describe(description);

const upkeep = z
  .strictObject({
    backup_schedule: schedule(
      '23 2 * * *',
      'When the running worker makes a backup as `db backup` does, as a cron expression in UTC; `off`: never.',
    ),
    check_schedule: schedule(
      '41 3 * * *',
      'When the running worker checks that the database is not damaged, in the same form; `off`: never.',
    ),
  })
  .prefault({})
  .describe('What the worker does by itself to keep its database safe. See docs/operating.md.');

const backup = z
  .strictObject({
    folder: folderPath('Where `db backup` writes. Best on another disk. Default: `<data_dir>/backups`.'),
    keep: count(1, 1000).default(7).describe('How many backups stay; `db backup` removes older ones.'),
  })
  .prefault({})
  .describe('Backups of the database.');

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
