import type { ColumnMapping } from '../orders/csv-columns.ts';
import { type ParseLimits, defaultParseLimits } from '../orders/settings.ts';

export interface FolderLimits extends ParseLimits {
  /** Below this many free bytes nothing more is claimed (default 200 MiB): the outbox needs the room for what it has taken on. */
  readonly minFreeBytes?: number;
}

/** Folders are absolute paths on one mount: a file moves between them by renaming, or not at all. */
export interface FolderIntakeConfig {
  readonly inbox: string;
  readonly work: string;
  readonly archive: string;
  readonly rejected: string;
  /** The source of orders that name none. */
  readonly source: string;
  readonly scanIntervalMs: number;
  /** A file is ready when it looked the same in this many scans … */
  readonly stableObservations: number;
  /** … that span at least this long, on a clock that does not jump. An empty file is given five times as long. */
  readonly stableMs: number;
  /** `done_file`: a file is also only ready when `<name>.done` stands beside it. */
  readonly ready: 'stable' | 'done_file';
  readonly limits: FolderLimits;
  readonly columns: ColumnMapping;
}

export const minFreeBytes = 200 * 1024 * 1024;

export const folderIntakeDefaults = {
  source: 'folder',
  scanIntervalMs: 1000,
  stableObservations: 3,
  stableMs: 2000,
  ready: 'stable',
  limits: { ...defaultParseLimits, minFreeBytes },
  columns: {},
} as const satisfies Omit<FolderIntakeConfig, 'inbox' | 'work' | 'archive' | 'rejected'>;
