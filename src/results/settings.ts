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

const callbacks = listOf(
  20,
  'Endpoints to which results are posted, signed with the Standard Webhooks scheme. See docs/callback.md.',
  {
    name: keyName.describe(
      'The name of this endpoint in logs and deliveries, as `callback:<name>`.',
    ),
    url: httpUrl.describe(
      'Where results are posted. It must be https, except on this machine, for a sandbox and with `allow_http`.',
    ),
    secrets: secretsOf(1, 5, 'A secret: `whsec_` and base64 of 24 to 64 bytes.').describe(
      'The secrets that sign each post. During a rotation, list the old and the new one.',
    ),
    sources: orNull(someSources).describe(
      'Only results of these sources are posted. Unset: those of every source.',
    ),
    events: orNull(z.array(z.enum(resultEventTypes)).min(1).max(resultEventTypes.length)).describe(
      'The events to post: `order.updated`, `order.settled`, `line.needs_review`. Unset: the result itself at each change.',
    ),
    allow_http: z
      .boolean()
      .default(false)
      .describe('Allows http to another machine. Only for a network that nobody else can read.'),
  },
).meta(live);

export const resultsSection = section('Where results are written back to.', {
  folder: usualPath(
    'Where results are written, as `<source>/<order_id>.json`, and those of CSV order files as `files/<name>.<id>.csv`. Default: `<data_dir>/results`.',
  ),
  group: orNull(groupName).describe(
    'The group that may read results (`0640`), by name, or by number in quotes. The user of the worker must be in it. Unset: only that user (`0600`).',
  ),
  keep_days: orNull(count(1, 36_500)).describe(
    'Result files are removed so many days after their orders were settled and delivered everywhere. `results rewrite` writes them again. Unset: files are kept.',
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

export const alertsSection = listOf(
  10,
  'Endpoints that are told when something is wrong, and when it is over. See docs/alerts.md.',
  {
    name: keyName.describe('The name of this endpoint in logs and health, as `alert:<name>`.'),
    url: secretText('required').describe(
      'Where alerts are posted. A secret, because an address of Slack lets its holder post. It must be https, except on this machine and for a sandbox.',
    ),
    format: z
      .enum(['json', 'slack'])
      .default('json')
      .describe('`json`: an event, see docs/alerts.md. `slack`: `{ text }`.'),
  },
);

/**
 * How often an alert is posted at most, and how long a post may take; `scale` shortens the first in
 * trials.
 */
export const alertPace = (scale: number) => ({
  intervalMs: 900_000 * scale,
  connectMs: 5000,
  totalMs: 15_000,
});

export type AlertSettings = Omit<z.output<typeof alertsSection>[number], 'allowHttp'> &
  ReturnType<typeof alertPace>;
