import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { schemaVersion } from './schema.ts';
import { openReadOnly } from './database.ts';
import { freeBytesOf, sizeOf } from './disk-errors.ts';
import { inspectDatabase } from './inspect.ts';
import { readMeta } from './meta.ts';
import { sync } from './open-files.ts';
import { takeWriterLock } from './writer-lock.ts';

const backupName = /^order-sync-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.db$/;
const draftName = /^\.order-sync-.*\.db\.tmp$/;
const sideFiles = ['', '-wal', '-shm'] as const;

interface BackupSettings {
  readonly folder: string;
  readonly keep: number;
  /** The time of the backup, ISO 8601, which becomes its name. */
  readonly at: string;
  /** So much space must be free on the disk of the folder afterwards, in bytes. Default: 0. */
  readonly leaveFreeBytes?: number;
}

/**
 * Copies the database in one consistent state, also while a worker writes to it, checks the copy
 * and removes older ones. The copy has nothing that was deleted before, and codes are sealed in it
 * as in the database.
 * @throws OrderSyncError DISK_FULL when the copy would not leave enough space, before anything is
 * copied
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER, DATABASE_UNSAFE when
 * the copy is damaged
 */
export function backUpDatabase(
  path: string,
  { folder, keep, at, leaveFreeBytes = 0 }: BackupSettings,
): { readonly file: string; readonly removed: readonly string[] } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = `order-sync-${at.replaceAll(/[-:.]/g, '')}.db`;
  const draft = join(folder, `.${name}.tmp`);
  for (const left of readdirSync(folder).filter((it) => draftName.test(it)))
    rmSync(join(folder, left));
  requireSpace(path, folder, leaveFreeBytes);
  copySoundly(path, draft);
  renameSync(draft, join(folder, name));
  sync(folder);
  const removed = backupsIn(folder).slice(0, -keep);
  for (const old of removed) rmSync(join(folder, old));
  return { file: join(folder, name), removed };
}

const backupsIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => backupName.test(name))
    .toSorted();

/** A worker with a full disk buys nothing: rather than that, there is no backup. */
function requireSpace(path: string, folder: string, leaveFreeBytes: number): void {
  const neededBytes = sizeOf(path) + leaveFreeBytes;
  const freeBytes = freeBytesOf(folder);
  if (freeBytes >= neededBytes) return;
  const message = `A backup needs ${neededBytes} free bytes on the disk of ${folder}, but ${freeBytes} are free`;
  throw new OrderSyncError('DISK_FULL', message, {
    hint: 'free space, keep fewer backups, or set backup.folder to another disk',
  });
}

/** When the newest backup in a folder was made, by its name, in ms; null: there is none. */
export function newestBackupMs(folder: string): number | null {
  if (!existsSync(folder)) return null;
  const iso = backupsIn(folder).at(-1)?.replace(backupName, '$1-$2-$3T$4:$5:$6.$7Z');
  return iso === undefined ? null : Date.parse(iso);
}

/**
 * Copies everything that is committed, also in the write-ahead log, and checks the copy. On failure
 * there is no copy.
 */
function copySoundly(path: string, draft: string): void {
  const database = openReadOnly(path);
  try {
    rmSync(draft, { force: true });
    // Before SQLite writes to it: a copy must never be readable for others.
    closeSync(openSync(draft, 'wx', 0o600));
    database.prepare('VACUUM INTO ?').run(draft);
    requireSound(draft);
    sync(draft);
  } catch (cause) {
    rmSync(draft, { force: true });
    if (cause instanceof OrderSyncError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new OrderSyncError('DATABASE_UNSAFE', `${path} could not be copied: ${reason}`, {
      hint: 'is this file a database of order-sync, and is there free space? Nothing was changed',
      cause,
    });
  } finally {
    database.close();
  }
}

interface RestoreSettings {
  readonly from: string;
  /** The time, ISO 8601, which becomes the name of the folder of the old database. */
  readonly at: string;
  /** The upstream of the configuration: a backup of another one is refused. */
  readonly upstream: string;
}

/**
 * Puts a copy in the place of the database, and keeps the old one beside it. Where it is refused,
 * nothing has changed.
 * @returns the folder of the old database; null where there was none
 * @throws OrderSyncError DATABASE_LOCKED while a worker runs; DATABASE_MISSING, DATABASE_FOREIGN,
 * DATABASE_NEWER,
 *   DATABASE_UNSAFE, UPSTREAM_MISMATCH
 */
export function restoreDatabase(
  path: string,
  { from, at, upstream }: RestoreSettings,
): string | null {
  if (existsSync(path)) refuseForeign(path);
  const lock = takeWriterLock(path);
  try {
    const draft = join(dirname(path), `.${basename(path)}.restore.tmp`);
    copySoundly(from, draft);
    requireUpstream(draft, { from, upstream });
    const replaced = moveAway(path, at);
    renameSync(draft, path);
    sync(dirname(path));
    return replaced;
  } finally {
    lock.release();
  }
}

/** A database that is damaged, or that a newer version made, is what a backup is for. */
function refuseForeign(path: string): void {
  try {
    openReadOnly(path).close();
  } catch (error) {
    if (hasCode(error, 'DATABASE_FOREIGN')) throw error;
  }
}

/**
 * Orders of another upstream would be looked up, and bought, at this one. A backup of before the
 * first run has none.
 */
function requireUpstream(
  draft: string,
  { from, upstream }: { from: string; upstream: string },
): void {
  const database = openReadOnly(draft);
  const found = schemaVersion(database) === 0 ? undefined : readMeta(database, 'upstream');
  database.close();
  if (found === undefined || found === upstream) return;
  for (const side of sideFiles) rmSync(`${draft}${side}`, { force: true });
  const message = `${from} is a backup of the upstream ${found}, but the config names ${upstream}`;
  throw new OrderSyncError('UPSTREAM_MISMATCH', message, {
    hint: 'use a backup of this installation; nothing was changed',
  });
}

/**
 * A copy with the write-ahead log of another database would be damaged: all files of the old one
 * go.
 */
function moveAway(path: string, at: string): string | null {
  const files = sideFiles.map((side) => `${path}${side}`).filter((file) => existsSync(file));
  if (files.length === 0) return null;
  const folder = join(dirname(path), `replaced-${at.replaceAll(/[-:.]/g, '')}`);
  mkdirSync(folder, { mode: 0o700 });
  for (const file of files) renameSync(file, join(folder, basename(file)));
  sync(folder);
  return folder;
}

/** Checks a copy, which has no write-ahead log of its own. */
function requireSound(path: string): void {
  const { problems } = inspectDatabase(path);
  for (const side of ['-wal', '-shm']) rmSync(`${path}${side}`, { force: true });
  if (problems.length === 0) return;
  throw new OrderSyncError('DATABASE_UNSAFE', `${path} is damaged: ${problems[0]}`, {
    hint: 'check the disk, and the database with `order-sync db check`; use another backup',
  });
}
