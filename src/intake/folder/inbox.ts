import { Buffer } from 'node:buffer';
import type { BigIntStats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { hasErrno } from './filesystem-error.ts';
import { isUnfinishedName, markerSuffix, shownName } from './file-names.ts';

export interface InboxFile {
  /** The name as bytes: it need not be UTF-8. */
  readonly nameBytes: Buffer;
  readonly path: Buffer;
  /** The name for people. */
  readonly name: string;
  /** The name as a key, one for each sequence of bytes. */
  readonly key: string;
  readonly kind: 'file' | 'folder' | 'other';
  readonly sizeBytes: number;
  /** Changes with whatever is written to the file, or put in its place. */
  readonly signature: string;
}

export interface InboxListing {
  readonly files: readonly InboxFile[];
  /** Keys of files that stand beside their `.done` marker; only with markers. */
  readonly marked: ReadonlySet<string>;
}

/** Looks into the inbox. Names of unfinished files are passed over, and markers are not files of their own. */
export async function listInbox(inbox: string, withMarkers: boolean): Promise<InboxListing> {
  const names = (await readdir(inbox, { encoding: 'buffer' })).filter((name) => !isUnfinishedName(keyOf(name)));
  const isMarker = (name: Buffer): boolean => withMarkers && keyOf(name).endsWith(markerSuffix);
  const marked = new Set(names.filter(isMarker).map((name) => keyOf(name).slice(0, -markerSuffix.length)));
  const candidates = names.filter((name) => !isMarker(name)).toSorted((one, other) => one.compare(other));
  const files: InboxFile[] = [];
  for (let start = 0; start < candidates.length; start += 64) {
    const some = await Promise.all(candidates.slice(start, start + 64).map((name) => look(inbox, name)));
    files.push(...some.filter((file) => file !== null));
  }
  return { files, marked };
}

function keyOf(name: Buffer): string {
  return name.toString('latin1');
}

async function look(inbox: string, nameBytes: Buffer): Promise<InboxFile | null> {
  const path = Buffer.concat([Buffer.from(`${inbox}/`), nameBytes]);
  try {
    const stats = await lstat(path, { bigint: true });
    return {
      nameBytes,
      path,
      name: shownName(nameBytes),
      key: keyOf(nameBytes),
      kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other',
      sizeBytes: Number(stats.size),
      signature: signatureOf(stats),
    };
  } catch (error) {
    // It went while we looked: whoever took it has it.
    if (hasErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/** What a file looks like now; null when there is none. */
export async function signatureAt(path: string): Promise<string | null> {
  try {
    return signatureOf(await lstat(path, { bigint: true }));
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

export function signatureOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}`;
}
