import { dirname, join } from 'node:path';
import { z } from 'zod';
import { currencySchema, sourceSchema } from '../../core/order/order-request.ts';
import {
  groupName,
  keyName,
  keysOf,
  live,
  orNull,
  pathText,
  someSources,
  usualPath,
} from '../../core/settings/schema-values.ts';
import { findGroup } from '../../ops/system-groups.ts';
import { csvColumns, defaultParseLimits } from '../orders/settings.ts';

const folderSection = keysOf({
  name: keyName.describe('The name of the folder in logs, health and metrics.'),
  inbox: usualPath(
    'Where order files arrive. Default: `<data_dir>/<name>/inbox`, of `folder` `<data_dir>/inbox`. Files that are being read are in `work` beside it.',
  ),
  archive: usualPath(
    'Where files go when their lines are in the outbox. Default: `archive` beside the inbox.',
  ),
  rejected: usualPath(
    'Where invalid files go, each with a `.error.json`. Default: `rejected` beside the inbox.',
  ),
  group: orNull(groupName).describe(
    'The group that may write to the inbox and read the reports. Default: `results.group`.',
  ),
  ready: z
    .enum(['stable', 'done_file'])
    .default('stable')
    .describe(
      '`stable`: a file is read when it no longer changes. `done_file`: it also needs `<name>.done` beside it.',
    ),
  source: z
    .union([sourceSchema, someSources])
    .optional()
    .describe(
      'The source of orders that name none. With a list, orders may name each source in it, and the first is for orders that name none. The source is part of the identity of a line. Default: the name of the folder.',
    ),
  currency: orNull(currencySchema)
    .describe('The balance for orders without a currency. Unset: each order must name a currency.')
    .meta(live),
  sku_map: orNull(pathText)
    .describe('The SKU map (YAML or CSV) for `sku` in order files.')
    .meta(live),
  columns: z
    .partialRecord(z.enum(csvColumns), z.string().min(1).max(200).nullable())
    .default({})
    .describe(
      'CSV columns with other names: our name, then the name in the file, or null if the file does not have the column.',
    )
    .meta(live),
  format: z
    .string()
    .min(1)
    .max(1000)
    .default('own')
    .describe(
      'The format of CSV files: `own`, a format of `config/formats` such as `amazon_orders`, or the path of a similar file.',
    )
    .meta(live),
  only: z
    .record(z.string().min(1).max(200), z.array(z.string().max(200)).max(100).nullable())
    .default({})
    .describe(
      'Which rows are bought: a column, then its values in paid rows, or null if the column says nothing about payment.',
    )
    .meta(live),
  unmatched: z
    .enum(['review', 'ignore'])
    .default('review')
    .describe(
      'Rows with a SKU that is not in the map: `review` them as invalid, or `ignore` them as goods that are not bought here.',
    )
    .meta(live),
  allow_mangled_ids: z
    .boolean()
    .default(false)
    .describe('Accept ids that look changed by a spreadsheet, such as `1E+05` or `12.Jan`.')
    .meta(live),
}).transform(({ group, source, ...folder }) => {
  const sources = [source ?? folder.name].flat();
  return {
    ...folder,
    gid: group === null ? null : findGroup(group),
    /** That of orders that name none. */
    source: sources[0] ?? folder.name,
    sources,
    /**
     * Beside the inbox: the worker claims a file by renaming it, and a rename cannot cross mounts.
     */
    work: join(dirname(folder.inbox), 'work'),
  };
});

export const foldersSection = z
  .array(folderSection)
  .max(100)
  .prefault([{ name: 'folder' }])
  .describe('The watched folders.');

/** How often the inbox is scanned, and when a file is ready; `scale` shortens it in trials. */
export const defaultScanning = (scale: number) => ({
  scanIntervalMs: Math.max(50, Math.round(1000 * scale)),
  /** A file is ready when it looked the same in this many scans … */
  stableObservations: 3,
  /** … over at least this time on the monotonic clock, … */
  stableMs: Math.max(50, Math.round(2000 * scale)),
  /**
   * … and over this time where its name or its content shows that its writer may not have finished
   * it.
   */
  unfinishedMs: Math.max(50, Math.round(600_000 * scale)),
  limits: defaultParseLimits,
});

/** `createsInbox`: else a missing inbox is an error, because its volume may not be mounted. */
export type FolderSettings = z.output<typeof folderSection> &
  Readonly<ReturnType<typeof defaultScanning>> & { readonly createsInbox: boolean };
