import type { SeededRandom } from './seeded-random.ts';
import type { CrashKind } from './sim-disk.ts';

/** A file of the simulated disk. Who has it open keeps it, wherever it is moved. */
export class SimFile {
  readonly ino: number;
  bytes: Buffer = Buffer.alloc(0);
  /** The bytes that were synced. */
  durable: Buffer = Buffer.alloc(0);
  mtimeNs: bigint;

  constructor(ino: number, mtimeNs: bigint) {
    this.ino = ino;
    this.mtimeNs = mtimeNs;
  }
}

/** The names in each folder. */
type Tree = Map<string, Map<string, SimFile>>;

/** A change of names that is not on the disk yet. */
interface NameChange {
  readonly folders: readonly string[];
  /** Changes with a common key must reach the disk in their order. */
  readonly keys: ReadonlySet<string>;
  readonly apply: (tree: Tree) => void;
}

const conflict = (one: NameChange, other: NameChange): boolean =>
  [...one.keys].some((key) => other.keys.has(key));

export function errno(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${call} '${path}'`), { code, syscall: call, path });
}

function splitPath(path: string): { folder: string; name: string } {
  const at = path.lastIndexOf('/');
  return { folder: path.slice(0, at), name: path.slice(at + 1) };
}

/**
 * The file system of order files, in memory. A kill changes nothing. At a power loss a name that
 * was not synced with its folder may be the old one again, each for itself, and of the bytes that
 * were not synced any first part may be left. A rename is either done or not.
 */
export class SimFiles {
  readonly #random: SeededRandom;
  readonly #wallMs: () => number;
  #tree: Tree = new Map();
  #durable: Tree = new Map();
  #pending: NameChange[] = [];
  #inodes = 0;

  constructor(random: SeededRandom, options: { folders: readonly string[]; wallMs: () => number }) {
    this.#random = random;
    this.#wallMs = options.wallMs;
    for (const folder of options.folders) {
      this.#tree.set(folder, new Map());
      this.#durable.set(folder, new Map());
    }
  }

  crash(kind: CrashKind): void {
    if (kind === 'kill') return;
    const lost: NameChange[] = [];
    for (const change of this.#pending) {
      const follows = lost.some((other) => conflict(other, change));
      if (follows || this.#random.chance(0.5)) lost.push(change);
      else change.apply(this.#durable);
    }
    this.#pending = [];
    this.#tree = new Map([...this.#durable].map(([folder, names]) => [folder, new Map(names)]));
    for (const names of this.#tree.values())
      for (const file of names.values()) this.#loseBytes(file);
  }

  #loseBytes(file: SimFile): void {
    const { bytes, durable } = file;
    if (bytes.equals(durable)) return;
    const appended =
      bytes.length > durable.length && bytes.subarray(0, durable.length).equals(durable);
    const kept = appended ? this.#random.int(durable.length, bytes.length) : 0;
    file.bytes = this.#random.chance(0.3) ? bytes : appended ? bytes.subarray(0, kept) : durable;
    file.durable = file.bytes;
  }

  isFolder(path: string): boolean {
    return this.#tree.has(path);
  }

  find(path: string): SimFile | undefined {
    const { folder, name } = splitPath(path);
    return this.#tree.get(folder)?.get(name);
  }

  /** The file at a path. Throws ENOENT. */
  get(path: string, call: string): SimFile {
    const file = this.find(path);
    if (file === undefined) throw errno('ENOENT', call, path);
    return file;
  }

  names(folder: string): readonly string[] {
    const names = this.#tree.get(folder);
    if (names === undefined) throw errno('ENOENT', 'scandir', folder);
    return [...names.keys()];
  }

  /** Every folder that begins with this path. */
  foldersOf(path: string): readonly string[] {
    return [...this.#tree.keys()].filter(
      (folder) => folder === path || folder.startsWith(`${path}/`),
    );
  }

  #change(change: NameChange): void {
    change.apply(this.#tree);
    this.#pending.push(change);
  }

  /** Returns whether the folder is new. */
  makeFolder(path: string): boolean {
    if (this.#tree.has(path)) return false;
    const { folder } = splitPath(path);
    const apply = (tree: Tree): void => void tree.set(path, new Map());
    this.#change({ folders: [folder], keys: new Set([`folder ${path}`]), apply });
    return true;
  }

  /** An empty file. One that has the name already is emptied. */
  create(path: string, exclusive: boolean): SimFile {
    const found = this.find(path);
    if (found !== undefined) {
      if (exclusive) throw errno('EEXIST', 'open', path);
      this.write(found, Buffer.alloc(0));
      return found;
    }
    this.#inodes += 1;
    const file = new SimFile(this.#inodes, this.#nowNs());
    this.#name(path, file, 'open');
    return file;
  }

  link(from: string, to: string): void {
    const file = this.get(from, 'link');
    if (this.find(to) !== undefined) throw errno('EEXIST', 'link', to);
    this.#name(to, file, 'link');
  }

  #name(path: string, file: SimFile, call: string): void {
    const { folder, name } = splitPath(path);
    if (!this.#tree.has(folder)) throw errno('ENOENT', call, path);
    const keys = this.#keysOf([path], file);
    this.#change({
      folders: [folder],
      keys,
      apply: (tree) => void tree.get(folder)?.set(name, file),
    });
  }

  unlink(path: string): void {
    const file = this.get(path, 'unlink');
    const { folder, name } = splitPath(path);
    const keys = this.#keysOf([path], file);
    this.#change({ folders: [folder], keys, apply: (tree) => void tree.get(folder)?.delete(name) });
  }

  #keysOf(paths: readonly string[], file: SimFile): ReadonlySet<string> {
    const keys = new Set([`inode ${file.ino}`]);
    for (const path of paths) {
      const { folder } = splitPath(path);
      keys.add(`name ${path}`);
      // Nothing in a folder can reach the disk before the folder itself.
      if (!this.#durable.has(folder)) keys.add(`folder ${folder}`);
    }
    return keys;
  }

  rename(from: string, to: string): void {
    const file = this.get(from, 'rename');
    const [source, target] = [splitPath(from), splitPath(to)];
    if (!this.#tree.has(target.folder)) throw errno('ENOENT', 'rename', to);
    const keys = this.#keysOf([from, to], file);
    const apply = (tree: Tree): void => {
      tree.get(source.folder)?.delete(source.name);
      tree.get(target.folder)?.set(target.name, file);
    };
    this.#change({ folders: [source.folder, target.folder], keys, apply });
  }

  write(file: SimFile, bytes: Buffer): void {
    file.bytes = bytes;
    file.mtimeNs = this.#nowNs();
  }

  syncFile(file: SimFile): void {
    file.durable = file.bytes;
  }

  /** Writes the names of a folder to the disk, with all changes that must come before them. */
  syncFolder(folder: string): void {
    const synced = new Set<NameChange>();
    for (const change of this.#pending.toReversed()) {
      const isBefore = (): boolean => [...synced].some((later) => conflict(change, later));
      if (change.folders.includes(folder) || isBefore()) synced.add(change);
    }
    for (const change of this.#pending) if (synced.has(change)) change.apply(this.#durable);
    this.#pending = this.#pending.filter((change) => !synced.has(change));
  }

  #nowNs(): bigint {
    return BigInt(Math.floor(this.#wallMs())) * 1_000_000n;
  }
}
