import type { FolderSettings } from '../../src/intake/folder/settings.ts';
import type { ParseLimits } from '../../src/intake/orders/settings.ts';

/** The limits of a configuration that sets none. */
export const parseLimits: ParseLimits = {
  documentBytes: 64 * 1024 * 1024,
  jsonBytes: 8 * 1024 * 1024,
  rows: 50_000,
  rowBytes: 64 * 1024,
  orderBytes: 1024 * 1024,
  depth: 16,
};

/** The settings of a folder intake, without its folders, of a configuration that sets none. */
export const folderSettings = {
  name: 'folder',
  createsInbox: true,
  source: 'folder',
  sources: ['folder'],
  currency: null,
  skuMap: null,
  scanIntervalMs: 1000,
  stableObservations: 3,
  stableMs: 2000,
  unfinishedMs: 600_000,
  ready: 'stable',
  limits: parseLimits,
  columns: {},
  format: 'own',
  only: {},
  unmatched: 'review',
  gid: null,
  allowMangledIds: false,
} as const satisfies Omit<FolderSettings, 'inbox' | 'work' | 'archive' | 'rejected'>;
