import { Buffer } from 'node:buffer';
import { lstat, readdir } from 'node:fs/promises';
import { markerSuffix } from './file-names.ts';
import { hasErrno, signatureOf } from './filesystem.ts';

interface Observation {
  signature: string;
  count: number;
  sinceMono: number;
}

/** Finds files that looked the same in several scans. No clock is compared with theirs: writers' clocks are wrong. */
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

export interface InboxFile {
  readonly path: Buffer;
  readonly name: string;
  /** The bytes of the name as a key: a name need not be UTF-8. */
  readonly key: string;
  readonly kind: 'file' | 'folder' | 'other';
  readonly sizeBytes: number;
  /** Changes when the file is written to or replaced. */
  readonly signature: string;
}

/** Names that programs use while they are still writing a file. */
const unfinished = /^[.~]|\.(?:tmp|part|partial|filepart|writing|crdownload|swp)$/i;

/** Lists files that nobody is writing. `marked`: the keys of those with a marker, which is not listed itself. */
export async function listInbox(inbox: string, withMarkers: boolean) {
  const names = (await readdir(inbox, { encoding: 'buffer' })).filter((name) => !unfinished.test(keyOf(name)));
  const isMarker = (name: Buffer): boolean => withMarkers && keyOf(name).endsWith(markerSuffix);
  const marked = new Set(names.filter(isMarker).map((name) => keyOf(name).slice(0, -markerSuffix.length)));
  const candidates = names.filter((name) => !isMarker(name)).toSorted((one, other) => one.compare(other));
  const files: InboxFile[] = [];
  for (let start = 0; start < candidates.length; start += 64) {
    const some = await Promise.all(candidates.slice(start, start + 64).map((name) => inspect(inbox, name)));
    files.push(...some.filter((file) => file !== null));
  }
  return { files, marked };
}

function keyOf(name: Buffer): string {
  return name.toString('latin1');
}

async function inspect(inbox: string, nameBytes: Buffer): Promise<InboxFile | null> {
  const path = Buffer.concat([Buffer.from(`${inbox}/`), nameBytes]);
  try {
    const stats = await lstat(path, { bigint: true });
    return {
      path,
      name: nameBytes.toString('utf8').replace(/\p{Cc}/gu, '\uFFFD'),
      key: keyOf(nameBytes),
      kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other',
      sizeBytes: Number(stats.size),
      signature: signatureOf(stats),
    };
  } catch (error) {
    // Another process took it after the folder was listed.
    if (hasErrno(error, 'ENOENT')) return null;
    throw error;
  }
}
