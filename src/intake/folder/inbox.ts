import { Buffer } from 'node:buffer';
import { lstat, readdir } from 'node:fs/promises';
import { formatOf, markerSuffix } from './file-names.ts';
import { hasErrno, signatureOf } from './filesystem.ts';
import type { FolderSettings } from './settings.ts';

interface Observation {
  signature: string;
  count: number;
  sinceMs: number;
  /** Its content shows that more may follow. */
  isUnfinished: boolean;
}

/**
 * Finds files that looked the same in several scans. No clock is compared with theirs: writers'
 * clocks are wrong.
 */
export class StableFiles {
  readonly #config: FolderSettings;
  #seen = new Map<string, Observation>();

  constructor(config: FolderSettings) {
    this.#config = config;
  }

  /** Records a scan and returns the stable files, those first that have been stable longest. */
  observe(files: readonly InboxFile[], steadyMs: number): readonly InboxFile[] {
    const { stableObservations, stableMs, unfinishedMs, ready } = this.#config;
    const seen = new Map<string, Observation>();
    const stable: { file: InboxFile; sinceMs: number }[] = [];
    for (const file of files) {
      const before = this.#seen.get(file.key);
      const observation =
        before?.signature === file.signature
          ? { ...before, count: before.count + 1 }
          : { signature: file.signature, count: 1, sinceMs: steadyMs, isUnfinished: false };
      seen.set(file.key, observation);
      const { count, sinceMs } = observation;
      const looksSame = (ms: number): boolean =>
        count >= stableObservations && steadyMs - sinceMs >= ms;
      const isLong = file.kind !== 'file' || ready === 'done_file' || looksSame(unfinishedMs);
      const mayBeDone =
        file.sizeBytes > 0 && formatOf(file.name) !== null && !observation.isUnfinished;
      if (looksSame(stableMs) && (isLong || mayBeDone))
        stable.push({ file: { ...file, isLong }, sinceMs });
    }
    this.#seen = seen;
    return stable.toSorted((one, other) => one.sinceMs - other.sinceMs).map(({ file }) => file);
  }

  /** The file was put back: it is stable when it has changed, or looked the same for long. */
  markUnfinished(key: string): void {
    Object.assign(this.#seen.get(key) ?? {}, { isUnfinished: true });
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
  /** It looked the same for so long that its writer has given up. */
  readonly isLong?: boolean;
}

/**
 * Files that an uploader names so until they are complete, and files that desktops and editors
 * leave in folders.
 */
const ignored =
  /^[.~]|~$|^#.*#$|\.(?:tmp|sw[a-px])$|^(?:(?:eh)?thumbs(?:_vista)?\.db(?::.*)?|desktop\.ini|icon\r)$/i;

/**
 * Lists the files, without those that are ignored. `marked`: the keys of those with a marker, which
 * is not listed itself.
 */
export async function listInbox(inbox: string, withMarkers: boolean) {
  const names = (await readdir(inbox, { encoding: 'buffer' })).filter(
    (name) => !ignored.test(keyOf(name)),
  );
  const isMarker = (name: Buffer): boolean => withMarkers && keyOf(name).endsWith(markerSuffix);
  const marked = new Set(
    names.filter(isMarker).map((name) => keyOf(name).slice(0, -markerSuffix.length)),
  );
  const candidates = names
    .filter((name) => !isMarker(name))
    .toSorted((one, other) => one.compare(other));
  const files: InboxFile[] = [];
  for (let start = 0; start < candidates.length; start += 64) {
    const some = await Promise.all(
      candidates.slice(start, start + 64).map((name) => inspect(inbox, name)),
    );
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
