import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { openStore, type StoreOptions } from '../../src/store/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { SeededRandom } from './seeded-random.ts';
import { connectionTo, forgetConnection, synchronousOf, tapSqlite } from './sqlite-tap.ts';

export type CrashKind = 'kill' | 'power';

tapSqlite();

const walHeaderBytes = 32;
const frameHeaderBytes = 24;
const pageBytes = 4096;

export const namespace = { instance: 'simulation', prefix: 'os', secret: Buffer.alloc(32, 9) };
const options = (path: string): StoreOptions => ({
  path,
  init: 'if-missing',
  namespace,
  upstream: 'https://api.example',
  sinks: ['folder'],
});

/**
 * The disk under the outbox: real SQLite files in memory. A kill leaves the bytes as they are. A power loss also keeps
 * every commit as long as the store syncs at each one, and else only what the last checkpoint had made durable, with
 * some of what came after it.
 */
export class SimDisk {
  readonly #folder: string;
  readonly #template: string;
  #generation = 0;
  #store: Store | null = null;

  constructor() {
    this.#folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'order-sync-sim-'));
    // An empty outbox is made once and copied: making one takes longer than most runs.
    this.#template = join(this.#folder, 'template.db');
    void openStore(options(this.#template)).close();
    writeFileSync(this.#template, readFileSync(this.#template));
  }

  get #path(): string {
    return join(this.#folder, `outbox-${this.#generation}.db`);
  }

  /** A new installation: an empty outbox. */
  format(): void {
    this.release();
    this.#remove(this.#path);
    this.#generation = 0;
    this.#remove(this.#path);
    copyFileSync(this.#template, this.#path);
  }

  open(): Store {
    this.#store = openStore(options(this.#path));
    return this.#store;
  }

  get isOpen(): boolean {
    return connectionTo(this.#path)?.open === true;
  }

  /** What the oracle looks at: the files as the worker's own connection sees them. */
  get connection(): Database {
    const found = connectionTo(this.#path);
    if (found === undefined) throw new Error('the outbox is not open');
    return found;
  }

  /** The bytes that the crash leaves become a new file; the process that wrote the old one can do no more. */
  crash(kind: CrashKind, random: SeededRandom): void {
    const old = this.#path;
    const connection = connectionTo(old);
    const synchronous = connection?.open ? synchronousOf(connection) : 2;
    this.#generation += 1;
    const path = this.#path;
    this.#remove(path);
    copyFileSync(old, path);
    const wal = `${old}-wal`;
    if (existsSync(wal)) {
      copyFileSync(wal, `${path}-wal`);
      if (kind === 'power' && synchronous < 2) loseFrames(`${path}-wal`, random);
    }
    this.release();
    this.#remove(old);
  }

  /** A stop in good order. */
  release(): void {
    void this.#store?.close();
    this.#store = null;
  }

  #remove(path: string): void {
    forgetConnection(path);
    forgetConnection(`${path}-lock`);
    for (const suffix of ['', '-wal', '-shm', '-lock', '-lock-journal']) rmSync(`${path}${suffix}`, { force: true });
  }

  destroy(): void {
    this.release();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Frames that no sync has made durable: the disk may have written any number of them. */
function loseFrames(path: string, random: SeededRandom): void {
  const bytes = statSync(path).size;
  const frames = Math.floor(Math.max(0, bytes - walHeaderBytes) / (frameHeaderBytes + pageBytes));
  truncateSync(path, frames === 0 ? 0 : walHeaderBytes + random.int(0, frames) * (frameHeaderBytes + pageBytes));
}
