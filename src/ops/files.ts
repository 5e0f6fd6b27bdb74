import { statSync } from 'node:fs';
import { constants, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, OrderSyncError } from '../core/order-sync-error.ts';

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export interface FileAccess {
  readonly mode: number;
  /** The group that it gets; null: the group of new files in its folder. */
  readonly gid: number | null;
}

const onlyOwner: FileAccess = { mode: 0o600, gid: null };

async function syncAndClose(file: FileHandle): Promise<void> {
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes the changes of a folder, such as a rename, to the disk: they survive a power loss. */
export async function syncFolder(folder: string): Promise<void> {
  await syncAndClose(await open(folder, 'r'));
}

async function openDraft(draft: string): Promise<FileHandle> {
  try {
    return await open(draft, newFile, onlyOwner.mode);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  await unlink(draft);
  return await open(draft, newFile, onlyOwner.mode);
}

/**
 * Replaces a file in one step: a reader sees the old content or the new one, also after a power
 * loss. The draft has a fixed, hidden name beside the file: after a crash the next write removes
 * it. A file must have one writer only. Another writer of the folder cannot make it write
 * elsewhere: a link in place of the draft is removed, and no link is followed.
 * @param write writes the whole content to the draft, from its start on; when it fails, the file
 * stays as it is
 */
export async function replaceFile(
  path: string,
  write: (draft: FileHandle) => Promise<void>,
  { mode, gid }: FileAccess = onlyOwner,
): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.tmp`);
  const file = await openDraft(draft);
  try {
    // The group first: no other group may read it even for a moment.
    if (gid !== null && (await file.stat()).gid !== gid)
      await file.chown(process.getuid?.() ?? -1, gid);
    await file.chmod(mode);
    await write(file);
  } catch (error) {
    await file.close();
    // It may contain codes, and perhaps nobody writes this file again.
    await unlink(draft).catch(() => undefined);
    throw error;
  }
  await syncAndClose(file);
  await rename(draft, path);
  await syncFolder(dirname(path));
}

export async function writeFileAtomically(
  path: string,
  text: string,
  access: FileAccess = onlyOwner,
): Promise<void> {
  await replaceFile(path, (draft) => draft.writeFile(text, 'utf8'), access);
}

/**
 * Lets a group into a folder of this user; `mode` says how far. A folder of somebody else stays as
 * it is, and a link is followed only where `mayBeLink`: another writer beside it could put one
 * there.
 */
export async function letGroupIn(
  path: string,
  { gid: group, mode: wanted }: FileAccess,
  mayBeLink = false,
): Promise<void> {
  const folder = await open(path, constants.O_DIRECTORY | (mayBeLink ? 0 : constants.O_NOFOLLOW));
  try {
    const { uid, gid, mode } = await folder.stat();
    if (uid !== process.getuid?.()) return;
    if (group !== null && gid !== group) await folder.chown(uid, group);
    if ((mode & wanted) !== wanted) await folder.chmod((mode | wanted) & 0o7777);
  } finally {
    await folder.close();
  }
}

/** How to give a folder to this process: for the hint of an error. */
export function howToOpen(folder: string): string {
  const command = `as root: install -d -o ${process.getuid?.()} -g ${process.getgid?.()} -m 0700 ${folder}`;
  return `${whoseIs(folder)}; ${command}. Its mount must not be read-only`;
}

/** How a shop lets this process read its file. */
export const howToRead = (file: string): string =>
  `${whoseIs(file)}; give the file a group of the user of order-sync, and run chmod 640 on it`;

/** Who this process is, and whose a file or folder is. */
export function whoseIs(path: string): string {
  const self = `order-sync runs as uid:gid ${process.getuid?.()}:${process.getgid?.()}, and ${path}`;
  try {
    const { uid, gid, mode } = statSync(path);
    return `${self} belongs to ${uid}:${gid} with mode 0${(mode & 0o777).toString(8)}`;
  } catch {
    return `${self} cannot be seen`;
  }
}

/**
 * Throws FOLDER_UNUSABLE for a link: who may write beside it could have the worker write anywhere.
 */
export async function requireRealFolder(folder: string): Promise<void> {
  if ((await lstat(folder)).isDirectory()) return;
  throw new OrderSyncError(
    'FOLDER_UNUSABLE',
    `${folder} is not a folder, but a link or something else`,
    {
      hint: 'put the folder itself there, or set the config to the folder that the link leads to',
    },
  );
}
