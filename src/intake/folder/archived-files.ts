import { signatureAt } from './inbox.ts';

export interface ArchivedFile {
  readonly name: string;
  readonly path: string;
  /** What it looked like when it was read. */
  readonly signature: string;
}

const watchedMs = 60_000;
const watchedFiles = 500;

/**
 * Watches files for a while after they went to the archive. A writer that paused at the end of a line looks finished;
 * when it goes on, it goes on in our archive, where nobody would ever look for orders.
 */
export class LateWriters {
  #watched: (ArchivedFile & { untilMono: number })[] = [];

  watch(file: ArchivedFile, nowMono: number): void {
    this.#watched.push({ ...file, untilMono: nowMono + watchedMs });
    if (this.#watched.length > watchedFiles) this.#watched.shift();
  }

  /** Files that were written to since they were read; each is named once. */
  async find(nowMono: number): Promise<readonly ArchivedFile[]> {
    this.#watched = this.#watched.filter((file) => file.untilMono > nowMono);
    const found: ArchivedFile[] = [];
    for (const file of this.#watched) {
      const signature = await signatureAt(file.path);
      if (signature !== null && signature !== file.signature) found.push(file);
    }
    this.#watched = this.#watched.filter((file) => !found.includes(file));
    return found;
  }
}
