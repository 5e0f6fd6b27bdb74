import { constants } from 'node:fs';
import type { SeededRandom } from './seeded-random.ts';
import { errno, type SimFile, type SimFiles } from './sim-files.ts';
import type { SimProcess } from './sim-process.ts';

/** An error of the file system, after so many calls since the previous one. */
export interface FileErrorPlan {
  readonly afterCalls: number;
  readonly code: 'EIO' | 'ENOSPC' | 'EACCES';
  /** How many calls in a row get the error. */
  readonly times: number;
  /** The first one waits for this call; absent: any call gets it. */
  readonly atCall?: string;
}

export interface MountWorld {
  readonly files: SimFiles;
  readonly random: SeededRandom;
  /** How often a call takes some time. */
  readonly slowShare: number;
  readonly freeBytes: () => number;
  /** The error of this call; null: none. */
  readonly errorOf: (port: string) => FileErrorPlan['code'] | null;
  readonly onMoved: (file: SimFile, from: string, to: string) => void;
}

type Call = (...values: readonly unknown[]) => unknown;

function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('utf8') : String(value);
}

/**
 * How Node names the file system to one process: below a root of its own, so that a dead process
 * has no effect.
 */
export class SimMount {
  readonly root: string;
  readonly #process: SimProcess;
  readonly #world: MountWorld;
  /**
   * Errors begin when the worker has started: a folder that cannot be used then stops it, as it
   * should.
   */
  failing = false;

  constructor(root: string, process: SimProcess, world: MountWorld) {
    this.root = root;
    this.#process = process;
    this.#world = world;
  }

  readonly calls: Readonly<Record<string, Call>> = {
    access: (path) =>
      this.#read('access', () => void this.#world.files.get(this.#path(path), 'access')),
    lstat: async (path, options) =>
      await this.#read(`lstat ${this.#folderOf(path)}`, () =>
        this.#stats(this.#path(path), options),
      ),
    readdir: (path, options) => this.#read('readdir', () => this.#names(this.#path(path), options)),
    statfs: () =>
      this.#read('statfs', () => ({
        bavail: Math.floor(this.#world.freeBytes() / 4096),
        bsize: 4096,
      })),
    mkdir: (path) => this.#makeFolders(this.#path(path)),
    link: (from, to) =>
      this.#write('link', to, () => this.#world.files.link(this.#path(from), this.#path(to))),
    unlink: (path) => this.#write('unlink', path, () => this.#world.files.unlink(this.#path(path))),
    rename: (from, to) => this.#rename(this.#path(from), this.#path(to)),
    writeFile: (path) =>
      this.#write('create', path, () => void this.#world.files.create(this.#path(path), true)),
    open: (path, flags) => this.#open(this.#path(path), flags),
  };

  /** A path without the root of this process. */
  #path(value: unknown): string {
    const path = textOf(value);
    if (!path.startsWith(`${this.root}/`)) throw errno('EXDEV', 'open', path);
    return path.slice(this.root.length + 1);
  }

  /** The folder of the worker in which a path is. */
  #folderOf(path: unknown): string {
    return this.#path(path).split('/')[0] ?? '';
  }

  async #read<T>(call: string, look: () => T): Promise<T> {
    await this.#pass(`files.${call}`, true);
    return await this.#process.whileAlive(look);
  }

  async #write<T>(call: string, path: unknown, effect: () => T): Promise<T> {
    const folder = this.#folderOf(path);
    return await this.#effect(`files.${call} ${folder}`, effect);
  }

  async #effect<T>(port: string, effect: () => T): Promise<T> {
    await this.#pass(port);
    return await this.#process.port(port, effect);
  }

  /** Waits for the disk. Throws the error that the plan has for this call. */
  async #pass(port: string, reads = false): Promise<void> {
    const { random, slowShare, errorOf } = this.#world;
    // The worker writes its last results while it stops, which must not take long.
    if (random.chance(slowShare) && !port.endsWith(' results'))
      await this.#process.sleep(random.int(1, 3000));
    const code = this.failing && this.#process.alive ? errorOf(port) : null;
    // A full disk can be read.
    if (code !== null) throw errno(reads && code === 'ENOSPC' ? 'EIO' : code, port, this.root);
  }

  async #makeFolders(path: string): Promise<string | undefined> {
    const { files } = this.#world;
    if (files.isFolder(path)) return undefined;
    const made = await this.#write('mkdir', `${this.root}/${path}`, () => files.makeFolder(path));
    return made ? path : undefined;
  }

  async #rename(from: string, to: string): Promise<void> {
    const { files, onMoved } = this.#world;
    await this.#write('rename', `${this.root}/${to}`, () => {
      const file = files.get(from, 'rename');
      files.rename(from, to);
      onMoved(file, from, to);
    });
  }

  #names(folder: string, options: unknown): readonly (string | Buffer)[] {
    const names = this.#world.files.names(folder);
    const asBuffers = typeof options === 'object' && options !== null && 'encoding' in options;
    return asBuffers ? names.map((name) => Buffer.from(name)) : names;
  }

  #stats(path: string, options: unknown): unknown {
    const { files } = this.#world;
    if (files.isFolder(path)) return statsOf(null, options);
    return statsOf(files.get(path, 'lstat'), options);
  }

  async #open(path: string, flags: unknown): Promise<unknown> {
    const { files } = this.#world;
    const [folder] = path.split('/');
    if (files.isFolder(path)) {
      const sync = (): Promise<void> =>
        this.#effect(`files.sync ${folder}`, () => files.syncFolder(path));
      // No owner: the worker leaves the modes of folders of others alone.
      const stat = (options: unknown) => this.#read(`stat ${folder}`, () => statsOf(null, options));
      return { stat, sync, close: () => this.#process.whileAlive(() => undefined) };
    }
    const isNew =
      flags === (constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW);
    if (!isNew && flags !== (constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK))
      throw new Error(`the simulation does not open files with ${String(flags)}`);
    const file = isNew
      ? await this.#effect(`files.create ${folder}`, () => files.create(path, true))
      : await this.#read('open', () => files.get(path, 'open'));
    return this.#handle(file, folder ?? '');
  }

  #handle(file: SimFile, folder: string): unknown {
    const { files } = this.#world;
    return {
      stat: (options: unknown) => this.#read('stat', () => statsOf(file, options)),
      chmod: () => this.#process.whileAlive(() => undefined),
      read: (buffer: Uint8Array, offset: number, length: number, position: number) =>
        this.#read('read', () => ({
          bytesRead: file.bytes.copy(buffer, offset, position, position + length),
          buffer,
        })),
      writeFile: (text: string) =>
        this.#effect(`files.write ${folder}`, () =>
          files.write(file, Buffer.concat([file.bytes, Buffer.from(text)])),
        ),
      sync: () => this.#effect(`files.sync file ${folder}`, () => files.syncFile(file)),
      close: () => this.#process.whileAlive(() => undefined),
    };
  }
}

/** @param file null: a folder */
function statsOf(file: SimFile | null, options: unknown): unknown {
  const isBig = typeof options === 'object' && options !== null && 'bigint' in options;
  const number = (value: number): number | bigint => (isBig ? BigInt(value) : value);
  return {
    isFile: () => file !== null,
    isDirectory: () => file === null,
    dev: number(1),
    ino: number(file?.ino ?? 0),
    size: number(file?.bytes.length ?? 0),
    mtimeNs: file?.mtimeNs ?? 0n,
  };
}
