import type { InboxFile } from './inbox.ts';

interface Observation {
  signature: string;
  count: number;
  sinceMono: number;
}

/**
 * Tells which files are not being written any more: those that looked the same in several scans over some time. The
 * age of a file by its own clock is never used; writers' clocks are wrong, and copies keep old times.
 */
export class StableFiles {
  readonly #observations: number;
  readonly #stableMs: number;
  #seen = new Map<string, Observation>();

  constructor(observations: number, stableMs: number) {
    this.#observations = observations;
    this.#stableMs = stableMs;
  }

  /** Takes note of a scan; returns the stable files, those first that have been waiting longest. */
  observe(files: readonly InboxFile[], nowMono: number): readonly InboxFile[] {
    const seen = new Map<string, Observation>();
    const stable: { file: InboxFile; sinceMono: number }[] = [];
    for (const file of files) {
      const before = this.#seen.get(file.key);
      const observation =
        before?.signature === file.signature
          ? { ...before, count: before.count + 1 }
          : { signature: file.signature, count: 1, sinceMono: nowMono };
      seen.set(file.key, observation);
      // Many a program opens its file first and thinks before it writes.
      const wanted = file.kind === 'file' && file.sizeBytes === 0 ? this.#stableMs * 5 : this.#stableMs;
      if (observation.count >= this.#observations && nowMono - observation.sinceMono >= wanted) {
        stable.push({ file, sinceMono: observation.sinceMono });
      }
    }
    this.#seen = seen;
    return stable.toSorted((one, other) => one.sinceMono - other.sinceMono).map(({ file }) => file);
  }
}
