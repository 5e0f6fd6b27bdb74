import { open, rename, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

async function syncAndClose(file: FileHandle): Promise<void> {
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes what happened in a folder (a rename, a new name) survive a power loss. */
export async function syncFolder(folder: string): Promise<void> {
  await syncAndClose(await open(folder, 'r'));
}

/**
 * Replaces a file as one step: a reader sees the old content or the new, never a part, and after a power loss too.
 * The draft has one fixed, hidden name beside the file, so that a crash leaves nothing that the next write does not
 * overwrite; there must be one writer for a file.
 */
export async function writeFileAtomically(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.tmp`);
  const file = await open(draft, 'w', mode);
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
