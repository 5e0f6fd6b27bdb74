import {
  type FileHandle,
  lstat,
  mkdir,
  opendir,
  readdir,
  readFile,
  unlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import {
  type FileAccess,
  letGroupIn,
  replaceFile,
  requireRealFolder,
  syncFolder,
} from '../ops/files.ts';
import { renderResultDocument, resultFileName } from '../core/result/result-document.ts';
import { folderSinkName } from '../store/results/due-results.ts';
import type { Sink } from './delivery-loop.ts';

/** A folder of results is at least this open: the files in it are what is secret. */
const leastFolderMode = 0o750;

/** The mode of a folder whose files have this mode: their readers may also find them. */
function folderModeFor({ mode }: FileAccess): number {
  const readable = mode & 0o444;
  return leastFolderMode | readable | (readable >> 2);
}

export type ResultFile = { readonly subfolder: string; readonly name: string };

/**
 * The folder of results. Writes files into its subfolders, for the readers that the configuration
 * names.
 */
export class ResultFolder {
  readonly #path: string;
  readonly #access: FileAccess;
  readonly #ready = new Set<string>();
  readonly #writing = new Set<string>();
  readonly #removing = new Map<string, Promise<void>>();

  constructor(path: string, access: FileAccess) {
    this.#path = path;
    this.#access = access;
  }

  /**
   * Replaces one file in one step: a reader sees the old content or the new one.
   * @throws OrderSyncError FOLDER_UNUSABLE when the subfolder is a link; errors of the file system
   */
  async replace(
    subfolder: string,
    name: string,
    write: (draft: FileHandle) => Promise<void>,
  ): Promise<void> {
    const folder = join(this.#path, subfolder);
    const path = join(folder, name);
    await this.#removing.get(path);
    this.#writing.add(path);
    try {
      await this.#ensure(this.#path);
      await this.#ensure(folder);
      await requireRealFolder(folder);
      await replaceFile(path, write, this.#access);
    } catch (error) {
      // The folder may have been deleted: create it again at the next try.
      this.#ready.clear();
      throw error;
    } finally {
      this.#writing.delete(path);
    }
  }

  /**
   * The files that were written before a time, by their subfolder and name; not those of others:
   * links, drafts.
   */
  async *writtenBefore(timeMs: number): AsyncGenerator<ResultFile> {
    for (const folder of await readdir(this.#path, { withFileTypes: true })) {
      if (!folder.isDirectory()) continue;
      const subfolder = folder.name;
      for await (const { name } of await opendir(join(this.#path, subfolder))) {
        const isOld =
          !name.startsWith('.') &&
          (await wasWrittenBefore(join(this.#path, subfolder, name), timeMs));
        if (isOld) yield { subfolder, name };
      }
    }
  }

  read(subfolder: string, name: string): Promise<string> {
    return readFile(join(this.#path, subfolder, name), 'utf8');
  }

  /**
   * Removes a file that nobody needs, and is not written anew meanwhile: a result delivered then
   * would be lost.
   */
  async remove(
    { subfolder, name }: ResultFile,
    timeMs: number,
    isNeeded: () => Promise<boolean>,
  ): Promise<boolean> {
    const path = join(this.#path, subfolder, name);
    if (this.#writing.has(path)) return false;
    const { promise: removed, resolve: end } = Promise.withResolvers<void>();
    this.#removing.set(path, removed);
    try {
      if ((await isNeeded()) || !(await wasWrittenBefore(path, timeMs))) return false;
      await unlink(path);
      return true;
    } finally {
      this.#removing.delete(path);
      end();
    }
  }

  async #ensure(folder: string): Promise<void> {
    if (this.#ready.has(folder)) return;
    if ((await mkdir(folder, { recursive: true, mode: leastFolderMode })) !== undefined)
      await syncFolder(this.#path);
    const isRoot = folder === this.#path;
    if (!isRoot) await requireRealFolder(folder);
    await letGroupIn(folder, { gid: this.#access.gid, mode: folderModeFor(this.#access) }, isRoot);
    this.#ready.add(folder);
  }
}

/** False where there is no such file, or something else than a file. */
async function wasWrittenBefore(path: string, timeMs: number): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  return stats !== null && stats.isFile() && stats.mtimeMs < timeMs;
}

/**
 * Writes `<folder>/<source>/<order_id>.json`; see `resultFileName` for ids that are no safe names.
 */
export const folderSink = (folder: ResultFolder): Sink => ({
  name: folderSinkName,
  deliver: async (document, { sharesName }) => {
    const text = renderResultDocument(document);
    // The schema of a source allows only safe file names.
    const name = resultFileName(document, sharesName);
    await folder.replace(document.source, name, (draft) => draft.writeFile(text, 'utf8'));
  },
});
