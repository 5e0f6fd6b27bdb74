import { Buffer } from 'node:buffer';
import { access, constants, link, lstat, readdir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../../ops/atomic-file.ts';
import type { Store } from '../../store/store.ts';
import { moveDurably } from './durable-files.ts';
import { markerSuffix, parseWorkName, workNameOf } from './file-names.ts';
import { hasErrno } from './filesystem-error.ts';
import type { FolderSettings } from './settings.ts';
import type { InboxFile } from './inbox.ts';
import type { FileJob } from './finish-file.ts';

/**
 * Takes a file out of the inbox by renaming it: exactly one of all who try succeeds, and a crash leaves it in exactly
 * one of the two folders. Its marker goes first, so that a file in the work folder always has the one it came with.
 * Null when somebody else took it. Throws what the file system says, for example EACCES for a file we may not read.
 */
export async function claimFile(config: FolderSettings, file: InboxFile, id: string): Promise<FileJob | null> {
  const job = { id, name: file.name, workName: workNameOf(id, file.name) };
  try {
    if (file.kind === 'file') await access(file.path, constants.R_OK);
    if (config.ready === 'done_file') await claimWithMarker(config, file, job);
    else await moveDurably(file.path, config.inbox, join(config.work, job.workName));
    return job;
  } catch (error) {
    // It is ours, only the folders could not be synced: a power loss may undo the claim, which is as good.
    if (await exists(Buffer.from(join(config.work, job.workName)))) return job;
    if (hasErrno(error, 'ENOENT') && !(await exists(file.path))) return null;
    throw error;
  }
}

/** Takes a file back from the archive, under a new id: what it holds now is another content. */
export async function reclaimFile(
  config: FolderSettings,
  file: { name: string; path: string },
  id: string,
): Promise<FileJob> {
  const job = { id, name: file.name, workName: workNameOf(id, file.name) };
  await moveDurably(file.path, dirname(file.path), join(config.work, job.workName));
  return job;
}

async function claimWithMarker(config: FolderSettings, file: InboxFile, job: FileJob): Promise<void> {
  const marker = Buffer.concat([file.path, Buffer.from(markerSuffix)]);
  const claimed = join(config.work, `${job.workName}${markerSuffix}`);
  await rename(marker, claimed);
  try {
    await moveDurably(file.path, config.inbox, join(config.work, job.workName));
  } catch (error) {
    // Without its marker the file would wait for ever.
    if (await exists(file.path)) await rename(claimed, marker);
    throw error;
  }
}

/** What an earlier run left in the work folder, oldest first, and names there that are not ours. */
export async function findUnfinishedJobs(
  config: FolderSettings,
  store: Store,
): Promise<{ jobs: readonly FileJob[]; foreign: readonly string[] }> {
  const names = (await readdir(config.work)).filter((name) => !name.startsWith('.')).toSorted();
  const present = new Set(names);
  const jobs: FileJob[] = [];
  const foreign: string[] = [];
  for (const workName of names) {
    const parsed = parseWorkName(workName);
    const isMarker = config.ready === 'done_file' && workName.endsWith(markerSuffix);
    if (parsed === null) foreign.push(workName);
    else if (!isMarker) jobs.push({ ...parsed, workName });
    else if (!present.has(workName.slice(0, -markerSuffix.length))) await returnMarker(config, store, workName);
  }
  return { jobs, foreign };
}

/** A marker whose file is not in the work folder: either the file's job has ended, or its claim was cut short. */
async function returnMarker(config: FolderSettings, store: Store, workName: string): Promise<void> {
  const parsed = parseWorkName(workName);
  const path = join(config.work, workName);
  if (parsed !== null && (await store.intake.files.find(parsed.id)) === null) {
    await link(path, join(config.inbox, parsed.name)).catch((error: unknown) => {
      // A newer marker stands there: it speaks for the file.
      if (!hasErrno(error, 'EEXIST')) throw error;
    });
    await syncFolder(config.inbox);
  }
  await unlink(path);
}

async function exists(path: Buffer): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return false;
    throw error;
  }
}
