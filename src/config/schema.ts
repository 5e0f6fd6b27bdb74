import { z } from 'zod';
import { adminSection } from '../admin/settings.ts';
import { sourceSchema } from '../core/order/order-request.ts';
import {
  count,
  durationMs,
  keysOf,
  live,
  pathText,
  section,
  usualPath,
} from '../core/settings/schema-values.ts';
import { foldersSection } from '../intake/folder/settings.ts';
import { webhookKeys } from '../intake/http/settings.ts';
import { alertsSection, resultsSection } from '../results/settings.ts';
import { shopLists } from '../storefronts/settings.ts';
import { submitSection } from '../buying/decision/settings.ts';
import { spendSection } from '../buying/spending/settings.ts';
import { wholesaleSection } from '../wholesale/settings.ts';
import { backup, retention, seal } from './upkeep-section.ts';

const disk = section('The disk of the outbox.', {
  min_free_bytes: count(0, 1_099_511_627_776)
    .default(209_715_200)
    .describe(
      'With less free space than this, no new orders are accepted; with less than half of it, nothing is sent.',
    ),
})
  .transform(({ minFreeBytes }) => ({ minFreeBytes, sendingMinFreeBytes: minFreeBytes / 2 }))
  .meta(live);

const trial = section('Shorter times for trials, only with `wholesale.environment: sandbox`.', {
  time_scale: z
    .number()
    .min(0)
    .max(10)
    .default(1)
    .describe('Multiplies every retry delay, pause, interval and wait.'),
  window_ms: durationMs(1, 86_400_000)
    .default(60_000)
    .describe('The window in which the server counts calls: a minute in production.'),
  transit_ms: durationMs(0, 600_000)
    .default(5000)
    .describe('How long a call that the worker gave up can still reach the server.'),
});

/**
 * The file. Each `describe` documents its key in docs/reference/config-keys.md; rules between keys
 * stand beside their section.
 */
export const configSchema = keysOf({
  instance: sourceSchema.describe(
    'The name of this installation, a part of every reference. Never change this name.',
  ),
  data_dir: pathText
    .default('data')
    .describe('The folder of `order-sync.db`, and of all folders that are not set.'),
  init: z
    .enum(['never', 'if-missing'])
    .default('never')
    .describe(
      '`if-missing`: `run` creates a missing database; `never`: only `order-sync init` does.',
    ),
  reference: section('How references are derived.', {
    prefix: z
      .string()
      .regex(/^[A-Za-z0-9_]{1,9}$/, 'must be 1 to 9 characters of A-Z a-z 0-9 _')
      .default('os')
      .describe('The beginning of every reference. `uuid`: each reference is a UUID.'),
    secret_file: usualPath(
      'The secret that references are derived from. Keep a copy outside the data volume. Default: `<data_dir>/reference.secret`.',
    ),
    progress_folder: usualPath(
      'The folder of the progress file, which shows that a database is an older copy. Never back up this folder. Default: the folder of `secret_file`.',
    ),
  }),
  disk,
  intake: section('Where orders come from.', {
    folders: foldersSection,
    webhook: keysOf({ ...webhookKeys, ...shopLists })
      .optional()
      .describe('Receives orders over HTTP. See docs/http-api.md.'),
  }),
  wholesale: wholesaleSection,
  submit: submitSection,
  spend: spendSection,
  results: resultsSection,
  seal,
  retention,
  alerts: alertsSection,
  backup,
  admin: adminSection,
  log: section('The log.', {
    level: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .default('info')
      .describe('The lowest level that is logged.')
      .meta(live),
  }),
  trial,
  sandbox: z
    .unknown()
    .optional()
    .describe('The sandbox that the commands `demo` and `sandbox` start. See docs/sandbox.md.'),
});
