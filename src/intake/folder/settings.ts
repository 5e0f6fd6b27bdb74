import type { ColumnMapping, Only, ParseLimits } from '../orders/settings.ts';

/** All folders are absolute paths on one mount: files move between them by rename. */
export interface FolderSettings {
  readonly name: string;
  readonly inbox: string;
  /** False: a missing inbox is an error, because its volume may not be mounted. */
  readonly createsInbox: boolean;
  readonly work: string;
  readonly archive: string;
  readonly rejected: string;
  /** The group that may put files into the inbox and read reports of rejected ones; null: only the user of the worker. */
  readonly gid: number | null;
  readonly source: string;
  readonly sources: readonly string[];
  /** The balance to charge for orders that name none; null: each must name one. */
  readonly currency: string | null;
  /** The absolute path of the SKU map of CSV files; null: a column `sku` is carried through. */
  readonly skuMap: string | null;
  readonly scanIntervalMs: number;
  /** A file is ready when it looked the same in this many scans … */
  readonly stableObservations: number;
  /** … over at least this time on the monotonic clock, … */
  readonly stableMs: number;
  /** … and over this time where its name or its content shows that its writer may not have finished it. */
  readonly unfinishedMs: number;
  /** `done_file`: a file also needs a `<name>.done` marker to be ready. */
  readonly ready: 'stable' | 'done_file';
  readonly limits: ParseLimits;
  readonly columns: ColumnMapping;
  /** The name of the format of CSV files, or the path of one. */
  readonly format: string;
  readonly only: Only;
  readonly unmatched: 'review' | 'ignore';
  readonly allowMangledIds: boolean;
}

/** How often the inbox is scanned, and when a file is ready; `scale` shortens it in trials. */
export const defaultScanning = (scale: number) => ({
  scanIntervalMs: Math.max(50, Math.round(1000 * scale)),
  stableObservations: 3,
  stableMs: Math.max(50, Math.round(2000 * scale)),
  unfinishedMs: Math.max(50, Math.round(600_000 * scale)),
});
