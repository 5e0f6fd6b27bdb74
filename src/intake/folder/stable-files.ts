import type { InboxFile } from './inbox.ts';

interface Observation {
  signature: string;
  count: number;
  sinceMono: number;
}

/**
 * Finds files that nobody writes to any more: they looked the same in several scans over some time. The modification
 * time of a file is never compared with a clock: writers' clocks are wrong, and copies keep old times.
 */
export class StableFiles {
  readonly #observations: number;
  readonly #stableMs: number;
  #seen = new Map<string, Observation>();

  constructor(observations: number, stableMs: number) {
    this.#observations = observations;
    this.#stableMs = stableMs;
  }

  /** Records a scan and returns the stable files, those first that have been stable longest. */
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
      // Many programs create a file some time before they write to it.
      const wantedMs = file.kind === 'file' && file.sizeBytes === 0 ? this.#stableMs * 5 : this.#stableMs;
      if (observation.count >= this.#observations && nowMono - observation.sinceMono >= wantedMs) {
        stable.push({ file, sinceMono: observation.sinceMono });
      }
    }
    this.#seen = seen;
    return stable.toSorted((one, other) => one.sinceMono - other.sinceMono).map(({ file }) => file);
  }
}
