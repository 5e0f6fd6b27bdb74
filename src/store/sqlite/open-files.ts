import { Buffer } from 'node:buffer';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import { OrderSyncError } from '../../core/order-sync-error.ts';

interface FoundFile {
  /** Device and inode, which change when the file is replaced; `missing`: there is none. */
  readonly id: string;
  readonly bytes: number;
}

const missing: FoundFile = { id: 'missing', bytes: 0 };

export function findFile(path: string): FoundFile {
  try {
    const { dev, ino, size } = statSync(path);
    return { id: `${dev}:${ino}`, bytes: size };
  } catch {
    return missing;
  }
}

/** SQLite itself cuts a log that is longer to this size. */
export const longestLogBytes = 67_108_864;
const [logHeaderBytes, frameHeaderBytes] = [32, 24];

/**
 * The database and its write-ahead log, as a connection has them open. When one of them is removed,
 * replaced or cut, what is committed afterwards ends with this process.
 */
export class OpenFiles {
  readonly #database: Database;
  readonly #opened: readonly [FoundFile, FoundFile];
  /** By which files the database and its log are found at their names; changed by a rescue. */
  #expected: readonly [FoundFile, FoundFile];
  readonly #frameBytes: number;
  #logBytes: number;
  #lost: OrderSyncError | null = null;

  constructor(database: Database) {
    this.#database = database;
    this.#frameBytes = frameHeaderBytes + Number(database.pragma('page_size', { simple: true }));
    this.#opened = this.#found();
    this.#expected = this.#opened;
    this.#logBytes = this.#opened[1].bytes;
  }

  get areLost(): boolean {
    return this.#lost !== null;
  }

  /**
   * Looks at the files. When they are not the ones that are open, it saves what is committed.
   * @param wrote whether this connection wrote since the last look
   * @throws OrderSyncError DATABASE_REPLACED at this call and each later one
   */
  check(wrote = false): void {
    if (this.#database.readonly) return;
    const [main, log] = this.#found();
    const what = this.#whatHappened(main, log, wrote);
    if (what !== null) {
      const hint = this.#save(main, log);
      const message = `${what} while the worker had it open`;
      this.#lost ??= new OrderSyncError('DATABASE_REPLACED', message, { hint });
    }
    if (this.#lost !== null) throw this.#lost;
    this.#logBytes = log.bytes;
  }

  #found(): readonly [FoundFile, FoundFile] {
    const { name } = this.#database;
    return [findFile(name), findFile(`${name}-wal`)];
  }

  #whatHappened(main: FoundFile, log: FoundFile, wrote: boolean): string | null {
    const { name } = this.#database;
    const how = ({ id }: FoundFile): string => (id === missing.id ? 'removed' : 'replaced');
    const [ownMain, ownLog] = this.#expected;
    if (main.id !== ownMain.id) return `The database file ${name} was ${how(main)}`;
    if (log.id !== ownLog.id) return `The write-ahead log ${name}-wal was ${how(log)}`;
    if (this.areLost || !this.#wasCut(log, wrote)) return null;
    return `The write-ahead log ${name}-wal was cut`;
  }

  #wasCut({ bytes }: FoundFile, wrote: boolean): boolean {
    // Another program may have moved all of it into the database, and emptied it.
    if (bytes < this.#logBytes)
      return !(wrote && bytes >= longestLogBytes) && !this.#isInDatabase('NOOP');
    return wrote && bytes > 0 && this.#hasHole();
  }

  /** SQLite writes at the old end of a log that was cut meanwhile: what was before it is empty. */
  #hasHole(): boolean {
    const frames = Math.floor((this.#logBytes - logHeaderBytes) / this.#frameBytes);
    const lastFrame = frames < 1 ? 0 : logHeaderBytes + (frames - 1) * this.#frameBytes;
    const [head, frame] = [Buffer.alloc(4), Buffer.alloc(4)];
    // SQLite holds no lock on its log, which would end when another handle of it is closed.
    const file = openSync(`${this.#database.name}-wal`, 'r');
    try {
      readSync(file, head, 0, head.length, 0);
      readSync(file, frame, 0, frame.length, lastFrame);
    } finally {
      closeSync(file);
    }
    return head.readUInt32BE() === 0 || frame.readUInt32BE() === 0;
  }

  /** Whether everything that is committed is in the database, after a checkpoint of this mode. */
  #isInDatabase(mode: 'NOOP' | 'FULL'): boolean {
    const [row] = this.#database
      .prepare<[], Record<string, number>>(`PRAGMA wal_checkpoint(${mode})`)
      .all();
    return row?.['log'] === row?.['checkpointed'];
  }

  /** Saves what is committed as long as the files are open. Returns what to do next. */
  #save(main: FoundFile, log: FoundFile): string {
    const { name } = this.#database;
    const [ownMain, ownLog] = this.#opened;
    const isOurs = main.id === ownMain.id;
    const whole =
      'nothing is lost: the database has all of it now; find out what did this, and start the worker again';
    this.#expected = [main, log];
    try {
      // A checkpoint of a log that was cut would tear the database.
      if (isOurs && log.id !== ownLog.id && this.#isInDatabase('FULL')) {
        this.#expected = [main, missing];
        rmSync(`${name}-wal`, { force: true });
        return whole;
      }
      const draft = `${name}-saved`;
      const isWhole = this.#copy(draft, isOurs);
      // With the log of another file, a database would be damaged.
      if (isOurs || log.id === ownLog.id) rmSync(`${name}-wal`, { force: true });
      if (!isOurs && main.id !== missing.id)
        return `what the worker had is in ${draft}: \`order-sync db restore ${draft}\` puts it back`;
      this.#expected = [findFile(draft), missing];
      rmSync(`${name}-shm`, { force: true });
      renameSync(draft, name);
      sync(dirname(name));
      if (isWhole) return whole;
    } catch {
      // Nothing can be saved, for example because the folder is gone or its disk is full.
    }
    return 'what was committed last may be lost: put the file back, or start the worker again, which then looks for every order that it may have bought';
  }

  /** Returns whether the copy has everything; else it has what was in the database file. */
  #copy(draft: string, isOurs: boolean): boolean {
    rmSync(draft, { force: true });
    closeSync(openSync(draft, 'wx', 0o600));
    let isWhole = true;
    try {
      this.#database.prepare('VACUUM INTO ?').run(draft);
    } catch (error) {
      if (!isOurs || !existsSync(this.#database.name)) throw error;
      copyFileSync(this.#database.name, draft);
      isWhole = false;
    }
    sync(draft);
    return isWhole;
  }
}

/** Returns once a file, or the names in a folder, are on the disk. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
