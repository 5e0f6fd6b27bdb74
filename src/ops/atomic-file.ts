import { constants, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

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

async function openDraft(draft: string, mode: number): Promise<FileHandle> {
  try {
    return await open(draft, newFile, mode);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  await unlink(draft);
  return await open(draft, newFile, mode);
}

/**
 * Replaces a file in one step: a reader sees the old content or the new one, also after a power loss. The draft has a
 * fixed, hidden name beside the file: after a crash the next write removes it. A file must have one writer only. Whoever may
 * write beside it cannot have it write elsewhere: a link in place of the draft is removed, and no link is followed.
 */
export async function writeFileAtomically(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.tmp`);
  const file = await openDraft(draft, mode);
  try {
    await file.chmod(mode);
    await file.writeFile(text, 'utf8');
  } catch (error) {
    await file.close();
    throw error;
  }
  await syncAndClose(file);
  await rename(draft, path);
  await syncFolder(dirname(path));
}
