import { signatureAt } from './filesystem.ts';

export interface ArchivedFile {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  /** The signature when the file was read. */
  readonly signature: string;
}

const watchedMs = 60_000;
const watchedFiles = 500;

/**
 * Watches files for a while after they were archived. A writer that pauses between two lines seems to be done; when it
 * continues, it writes to the file in the archive, where those orders would be lost.
 */
export class ArchivedFiles {
  #watched: (ArchivedFile & { untilMono: number })[] = [];

  watch(file: ArchivedFile, nowMono: number): void {
    this.#watched.push({ ...file, untilMono: nowMono + watchedMs });
    if (this.#watched.length > watchedFiles) this.#watched.shift();
  }

  /** Returns the files that changed since they were read, each once. */
  async takeChanged(nowMono: number): Promise<readonly ArchivedFile[]> {
    this.#watched = this.#watched.filter((file) => file.untilMono > nowMono);
    const changed: ArchivedFile[] = [];
    for (const file of this.#watched) {
      const signature = await signatureAt(file.path);
      if (signature !== null && signature !== file.signature) changed.push(file);
    }
    this.#watched = this.#watched.filter((file) => !changed.includes(file));
    return changed;
  }
}
