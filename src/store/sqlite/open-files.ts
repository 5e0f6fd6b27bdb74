import {
  closeSync,
  copyFileSync,
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

const missing = { id: 'missing', bytes: 0 };
type FoundFile = typeof missing;

/** `id`: device and inode, which change when a file is replaced. */
export function findFile(path: string): FoundFile {
  try {
    const { dev, ino, size } = statSync(path);
    return { id: `${dev}:${ino}`, bytes: size };
  } catch {
    return missing;
  }
}

const [logHeaderBytes, frameHeaderBytes] = [32, 24];
const whole =
  'nothing is lost: the database is complete; find out what changed the file, and start the worker again';
const perhapsNot =
  'the last changes are perhaps lost: put the file back, or start the worker, which then looks up every order';

/**
 * The database and its write-ahead log, as a connection has them open. When one of them is removed,
 * replaced or cut, what is committed afterwards ends with this process.
 */
export class OpenFiles {
  readonly #database: Database;
  readonly #opened: readonly FoundFile[];
  /** What stands at their names; a rescue changes it. */
  #expected: readonly FoundFile[];
  #logBytes = 0;
  #lost: OrderSyncError | null = null;

  constructor(database: Database) {
    this.#database = database;
    this.#opened = this.#found();
    this.#expected = this.#opened;
  }

  /**
   * Saves what is committed when the files are not the ones that are open.
   * @param wrote whether this connection wrote since the last look
   * @throws OrderSyncError DATABASE_REPLACED at this call and each later one
   */
  check(wrote = false): void {
    if (this.#database.readonly) return;
    const [main, log] = this.#found();
    const what = this.#whatHappened(main, log, wrote);
    if (what !== null) {
      // More may have been removed since that look.
      const now = this.#found();
      const message = `${this.#whatHappened(...now, false) ?? what} while the worker had the file open`;
      const hint = this.#save(...now);
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
    if (main.id !== this.#expected[0]?.id) return `The database file ${name} was ${how(main)}`;
    const logName = `The write-ahead log ${name}-wal`;
    if (log.id !== this.#expected[1]?.id) return `${logName} was ${how(log)}`;
    return this.#lost === null && this.#wasCut(log, wrote) ? `${logName} was cut` : null;
  }

  #wasCut({ bytes }: FoundFile, wrote: boolean): boolean {
    if (bytes >= this.#logBytes) return wrote && bytes > 0 && this.#hasHoleOrIsGone();
    // Another program may have moved all of it into the database, and emptied it, and SQLite itself
    // cuts a long one. Then it has room for everything that was written since.
    const frames = this.#framesNeeded('NOOP');
    return frames > 0 && bytes < logHeaderBytes + frames * this.#frameBytes;
  }

  /** SQLite writes at the old end of a log that was cut meanwhile: the part before it is empty. */
  #hasHole(): boolean {
    const { name } = this.#database;
    const frames = Math.floor((this.#logBytes - logHeaderBytes) / this.#frameBytes);
    const lastFrame = frames < 1 ? 0 : logHeaderBytes + (frames - 1) * this.#frameBytes;
    const words = new Uint32Array(2);
    // SQLite holds no lock on its log, which would end when another handle of it is closed.
    const file = openSync(`${name}-wal`, 'r');
    try {
      readSync(file, words, 0, 4, 0);
      readSync(file, words, 4, 4, lastFrame);
    } finally {
      closeSync(file);
    }
    return words.includes(0);
  }

  #hasHoleOrIsGone(): boolean {
    try {
      return this.#hasHole();
    } catch (cause) {
      if (findFile(`${this.#database.name}-wal`).id === missing.id) return true;
      throw cause;
    }
  }

  get #frameBytes(): number {
    return frameHeaderBytes + Number(this.#database.pragma('page_size', { simple: true }));
  }

  /** The frames of the log after a checkpoint of this mode; 0: all of them are in the database. */
  #framesNeeded(mode: 'NOOP' | 'FULL'): number {
    const [{ log = 0, checkpointed = 0 } = {}] = this.#database
      .prepare<[], Record<string, number>>(`PRAGMA wal_checkpoint(${mode})`)
      .all();
    return log === checkpointed ? 0 : log;
  }

  /** Saves what is committed as long as the files are open. Returns what to do next. */
  #save(main: FoundFile, log: FoundFile): string {
    const { name } = this.#database;
    const isOurs = main.id === this.#opened[0]?.id;
    const isOurLog = log.id === this.#opened[1]?.id;
    this.#expected = [main, log];
    try {
      // A checkpoint of a log that was cut would tear the database.
      if (isOurs && !isOurLog && this.#framesNeeded('FULL') === 0) {
        this.#expected = [main, missing];
        rmSync(`${name}-wal`, { force: true });
        return whole;
      }
      const draft = `${name}-saved`;
      const isWhole = this.#copy(draft, isOurs);
      // With the log of another file, a database would be damaged.
      if (isOurs || isOurLog) rmSync(`${name}-wal`, { force: true });
      if (!isOurs && main.id !== missing.id)
        return `the worker's data is in ${draft}: \`order-sync db restore ${draft}\` restores it`;
      this.#expected = [findFile(draft), missing];
      rmSync(`${name}-shm`, { force: true });
      renameSync(draft, name);
      sync(dirname(name));
      return isWhole ? whole : perhapsNot;
    } catch {
      // For example because the folder is gone, or its disk is full.
      return perhapsNot;
    }
  }

  /** Returns whether the copy has everything; else it has what was in the database file. */
  #copy(draft: string, isOurs: boolean): boolean {
    rmSync(draft, { force: true });
    closeSync(openSync(draft, 'wx', 0o600));
    let isWhole = true;
    try {
      this.#database.prepare('VACUUM INTO ?').run(draft);
    } catch (error) {
      if (!isOurs) throw error;
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
