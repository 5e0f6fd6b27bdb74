import { z } from 'zod';
import { resultEventTypes } from '../core/result/result-events.ts';
import {
  count,
  groupName,
  httpUrl,
  keyName,
  listOf,
  live,
  orNull,
  secretText,
  secretsOf,
  section,
  someSources,
  usualPath,
} from '../core/settings/schema-values.ts';
import { findGroup } from '../ops/system-groups.ts';

const callbacks = listOf(20, 'URLs to which signed results are posted. See docs/callback.md.', {
  name: keyName.describe('The name in logs and deliveries: `callback:<name>`.'),
  url: httpUrl.describe('Where results are posted.'),
  secrets: secretsOf(1, 5, '`whsec_` and base64 of 24 to 64 bytes.').describe(
    'The secrets that sign each post.',
  ),
  sources: orNull(someSources).describe('The sources whose results are posted. Unset: all.'),
  events: orNull(z.array(z.enum(resultEventTypes)).min(1).max(resultEventTypes.length)).describe(
    'The events to post: `order.updated`, `order.settled`, `line.needs_review`. Unset: each change of a result.',
  ),
  allow_http: z
    .boolean()
    .default(false)
    .describe('Allows http to another machine. Only for a network that nobody else can read.'),
}).meta(live);

export const resultsSection = section('Where results are written back to.', {
  folder: usualPath(
    'Where results are written: `<source>/<order_id>.json`, and `files/<name>.<id>.csv` for CSV files. Default: `<data_dir>/results`.',
  ),
  group: orNull(groupName).describe(
    "The group that may read results, by name or by number in quotes. The worker's user must be in this group. Unset: only that user.",
  ),
  keep_days: orNull(count(1, 36_500)).describe(
    'Result files are removed this many days after their order was settled and delivered everywhere. Unset: never.',
  ),
  callbacks,
}).transform(({ group, ...settings }) => {
  const gid = group === null ? null : findGroup(group);
  return { ...settings, access: { mode: gid === null ? 0o600 : 0o640, gid } };
});

/** How long a post of a result may take; `scale` shortens it in trials. */
export const callbackTimeouts = (scale: number) => ({
  connectMs: Math.max(1500, 5000 * scale),
  totalMs: Math.max(1500, 15_000 * scale),
});

export type CallbackSettings = Omit<z.output<typeof callbacks>[number], 'allowHttp'> &
  ReturnType<typeof callbackTimeouts>;

export const alertsSection = listOf(10, 'Endpoints for alerts. See docs/alerts.md.', {
  name: keyName.describe('The name in logs and health: `alert:<name>`.'),
  url: secretText('required').describe(
    'The URL to which alerts are sent. A secret, because its holder can post to Slack. `email`: `smtps://user:password@host`.',
  ),
  format: z
    .enum(['json', 'slack', 'email'])
    .default('json')
    .describe('`json`: an event. `slack`: `{ text }`, also for Discord. `email`: a mail.'),
  to: orNull(z.array(z.email()).min(1).max(20)).describe('`email`: who gets the mails.'),
  from: orNull(z.email()).describe('`email`: who sends them.'),
});

/** The pace of alerts, which `scale` shortens in trials, and how long a post may take. */
export const alertPace = (scale: number) => ({
  lastsMs: 60_000 * scale,
  gapMs: 60_000 * scale,
  intervalMs: 900_000 * scale,
  remindMs: 3_600_000 * scale,
  connectMs: 5000,
  totalMs: 15_000,
});

export type AlertSettings = Omit<z.output<typeof alertsSection>[number], 'allowHttp'> &
  ReturnType<typeof alertPace>;
