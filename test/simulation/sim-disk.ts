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
import SqliteDatabase, { type Database } from 'better-sqlite3';
import type { ResultSink } from '../../src/store/sqlite/outbox.ts';
import { openStore, type StoreOptions } from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import type { SeededRandom } from './seeded-random.ts';
import {
  closeKept,
  connectionTo,
  forgetConnection,
  keepOpen,
  synchronousOf,
  tapSqlite,
} from './sqlite-tap.ts';

export type CrashKind = 'kill' | 'power';

tapSqlite();

/**
 * An order is over a limit for as long as an operator must look at another one, which may have been
 * bought.
 */
const isHeldByReview = `(held_by IS 'limit' AND EXISTS (
  SELECT 1 FROM entries r WHERE r.state = 'needs_review' AND r.reserved IS NOT NULL))`;

const walHeaderBytes = 32;
const frameHeaderBytes = 24;
/** A quarter of the usual size: the outbox is small, and every commit writes whole pages. */
const pageBytes = 1024;

export const namespace = { instance: 'simulation', prefix: 'os', secret: Buffer.alloc(32, 9) };
const ownSinks: readonly ResultSink[] = ['folder', 'csv'].map((name) => ({ name, sources: null }));
const options = (path: string, sinks = ownSinks): StoreOptions => ({
  path,
  init: 'if-missing',
  namespace,
  upstream: 'https://api.example',
  sinks,
});

/** The triggers that forbid deleting rows. They allow it while the simulation empties an outbox. */
const guards = [
  'attempts_are_kept',
  'entries_are_kept',
  'audit_is_kept',
  'charges_are_kept',
] as const;
const emptying = 'simulation_empties';
/**
 * The index of words keeps its rows in tables of its own, and is emptied by a command of its own.
 */
const words = 'search_words';

/** Changes the triggers to allow it. */
function letBeEmptied(database: Database): void {
  for (const name of guards) {
    const sql = String(
      database.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(name),
    );
    const [head, body] = sql.split(/\sBEGIN /);
    if (body === undefined)
      throw new Error(`the guard ${name} is not written as the simulation knows it`);
    database.exec(`DROP TRIGGER ${name}`);
    database.exec(
      `${head} WHEN NOT EXISTS (SELECT 1 FROM meta WHERE name = '${emptying}')\nBEGIN ${body}`,
    );
  }
}

/** The tables in an order in which they can be emptied: each before those that it refers to. */
function childrenFirst(database: Database): readonly string[] {
  const rows = database
    .prepare<[], { name: string; parent: string | null }>(
      `SELECT s.name, f."table" AS parent FROM sqlite_schema s LEFT JOIN pragma_foreign_key_list(s.name) f
       WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%' AND s.name NOT LIKE '${words}%' AND s.name <> 'meta'`,
    )
    .all();
  const left = new Set(rows.map((row) => row.name));
  const ordered: string[] = [];
  while (left.size > 0) {
    const free = [...left].filter(
      (name) => !rows.some((row) => row.parent === name && left.has(row.name)),
    );
    if (free.length === 0)
      throw new Error(`the tables ${[...left].join(', ')} refer to each other`);
    for (const name of free) left.delete(name);
    ordered.push(...free);
  }
  return ordered;
}

/**
 * The disk of the outbox: SQLite files in memory. A kill keeps all bytes. A power loss keeps every
 * commit if the store syncs each one; otherwise it keeps what the last checkpoint made durable, and
 * some frames after it.
 *
 * Some runs have files of their own: they start with a copy of an empty outbox, and after a crash
 * the next worker opens a copy of the files. The other runs share one file, which is emptied before
 * each run, and after a crash without lost commits the next worker gets the open connection. For
 * SQLite both are the same.
 */
export class SimDisk {
  readonly #folder: string;
  readonly #template: string;
  readonly #shared: string;
  readonly #emptied: readonly string[];
  readonly #copy: string;
  #generation = 0;
  #path = '';
  #store: Store | null = null;
  #sinks = ownSinks;

  constructor() {
    this.#folder = mkdtempSync(
      join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'order-sync-sim-'),
    );
    // An empty outbox is made once and copied, because making one takes longer than most runs.
    this.#template = join(this.#folder, 'template.db');
    makeWithPages(this.#template, pageBytes);
    void openStore(options(this.#template)).close();
    writeFileSync(this.#template, readFileSync(this.#template));
    this.#shared = join(this.#folder, 'shared.db');
    this.#copy = join(this.#folder, 'copy.db');
    copyFileSync(this.#template, this.#shared);
    this.#emptied = this.#share();
  }

  /** Opens the shared outbox until the end. Returns the statements that empty it. */
  #share(): readonly string[] {
    const store = openStore(options(this.#shared));
    const database = connectionTo(this.#shared);
    const lock = connectionTo(`${this.#shared}-lock`);
    if (database === undefined || lock === undefined)
      throw new Error('the shared outbox cannot be opened');
    letBeEmptied(database);
    keepOpen(database);
    keepOpen(lock);
    void store.close();
    const stamps = database.prepare<[], string>('SELECT name FROM meta').pluck().all();
    return [
      `INSERT INTO meta (name, value) VALUES ('${emptying}', 'yes')`,
      ...childrenFirst(database).map((name) => `DELETE FROM ${name}`),
      'INSERT INTO steady_time (id, steady_ms, ahead_ms, machine_ms) VALUES (1, 0, 0, 0)',
      `INSERT INTO ${words} (${words}) VALUES ('delete-all')`,
      `DELETE FROM meta WHERE name NOT IN (${stamps.map((name) => `'${name}'`).join(', ')})`,
    ];
  }

  /**
   * A new installation: an empty outbox, in files of its own or in the shared one, whose results
   * are due at these sinks.
   */
  format(ownFiles: boolean, sinks = ownSinks): void {
    this.release();
    this.#sinks = sinks;
    if (this.#path !== this.#shared) this.#remove(this.#path);
    this.#generation = 0;
    if (!ownFiles) return this.#empty();
    this.#path = this.#next();
    copyFileSync(this.#template, this.#path);
  }

  #empty(): void {
    this.#path = this.#shared;
    const { connection } = this;
    connection
      .transaction(() => {
        for (const sql of this.#emptied) connection.prepare(sql).run();
      })
      .immediate();
    connection.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** Copies the outbox as it is now: each transaction is in it as a whole, or not at all. */
  copy(): void {
    this.#copyFiles(this.#path, this.#copy);
  }

  /** The last copy takes the place of the outbox. */
  restore(): void {
    this.release();
    if (this.#path !== this.#shared) this.#remove(this.#path);
    this.#path = this.#next();
    this.#copyFiles(this.#copy, this.#path);
  }

  #copyFiles(from: string, to: string): void {
    rmSync(`${to}-wal`, { force: true });
    copyFileSync(from, to);
    if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`);
  }

  #next(): string {
    this.#generation += 1;
    const path = join(this.#folder, `outbox-${this.#generation}.db`);
    this.#remove(path);
    return path;
  }

  open(): Store {
    this.#store = openStore(options(this.#path, this.#sinks));
    return this.#store;
  }

  get isOpen(): boolean {
    return this.#store !== null && connectionTo(this.#path)?.open === true;
  }

  /** The worker's own connection, for the oracle. */
  get connection(): Database {
    const found = connectionTo(this.#path);
    if (found === undefined) throw new Error('the outbox is not open');
    return found;
  }

  /** How many entries, attempts and deliveries are not settled. */
  countOpen(): number {
    const open = this.connection
      .prepare<[], number>(
        `SELECT (SELECT count(*) FROM entries WHERE state IN ('pending', 'sending', 'waiting', 'unknown', 'placed', 'held')
                AND NOT ${isHeldByReview})
              + (SELECT count(*) FROM deliveries WHERE done_version < due_version AND given_up_at_ms IS NULL)
              + (SELECT count(*) FROM attempts WHERE closed_at_ms IS NULL)`,
      )
      .pluck()
      .get();
    return open ?? 0;
  }

  /** How many entries an operator may send again. */
  countInReview(): number {
    return (
      this.connection
        .prepare<[], number>("SELECT count(*) FROM entries WHERE state = 'needs_review'")
        .pluck()
        .get() ?? 0
    );
  }

  /** Whether a limit on spending holds an order, which time may release. */
  get holdsByLimit(): boolean {
    const sql = "SELECT count(*) FROM entries WHERE held_by = 'limit'";
    return (this.connection.prepare<[], number>(sql).pluck().get() ?? 0) > 0;
  }

  /** What is still open, and what is paused, for the operator who reads the trace. */
  describeOpen(): string {
    const entries = this.connection
      .prepare<[], string>(
        `SELECT reference || ' ' || state || ' ' || next_step || ', due at ' || due_steady FROM entries
         WHERE state IN ('pending', 'sending', 'waiting', 'unknown', 'placed', 'held') ORDER BY id LIMIT 3`,
      )
      .pluck()
      .all();
    const deliveries = this.connection
      .prepare<[], string>(
        `SELECT 'result of request ' || request_id || ' for ' || sink || ', due at ' || due_steady || ', ' || coalesce(last_error, '')
         FROM deliveries WHERE done_version < due_version AND given_up_at_ms IS NULL LIMIT 3`,
      )
      .pluck()
      .all();
    const paused = this.connection
      .prepare<[], string>(`SELECT scope || ' is paused: ' || reason FROM pauses`)
      .pluck();
    return [...entries, ...deliveries, ...paused.all()].join('; ');
  }

  /** The bytes after the crash become a new file, which the dead process cannot change. */
  crash(kind: CrashKind, random: SeededRandom): void {
    const old = this.#path;
    const connection = connectionTo(old);
    const synchronous = connection?.open ? synchronousOf(connection) : 2;
    if (old === this.#shared && (kind === 'kill' || synchronous === 2)) return this.#dropShared();
    const path = this.#next();
    this.#copyFiles(old, path);
    if (existsSync(`${path}-wal`) && kind === 'power' && synchronous < 2)
      loseFrames(`${path}-wal`, random);
    this.release();
    if (old !== this.#shared) this.#remove(old);
    this.#path = path;
  }

  /** The process is dead and its lock free; all its commits stay. */
  #dropShared(): void {
    this.#store = null;
    const lock = connectionTo(`${this.#shared}-lock`);
    if (lock?.inTransaction === true) lock.exec('ROLLBACK');
  }

  /** A regular stop. */
  release(): void {
    void this.#store?.close();
    this.#store = null;
  }

  #remove(path: string): void {
    forgetConnection(path);
    forgetConnection(`${path}-lock`);
    for (const suffix of ['', '-wal', '-shm', '-lock', '-lock-journal'])
      rmSync(`${path}${suffix}`, { force: true });
  }

  destroy(): void {
    this.release();
    closeKept(this.#shared);
    closeKept(`${this.#shared}-lock`);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function makeWithPages(path: string, bytes: number): void {
  const database = new SqliteDatabase(path);
  database.exec(`PRAGMA page_size = ${bytes}; VACUUM`);
  database.close();
  // The counter of schema changes: a file that ever had another schema is refused.
  const file = readFileSync(path);
  file.writeInt32BE(0, 40);
  writeFileSync(path, file);
  forgetConnection(path);
}

/** Frames that were not synced: the disk may have written any number of them. */
function loseFrames(path: string, random: SeededRandom): void {
  const bytes = statSync(path).size;
  const frames = Math.floor(Math.max(0, bytes - walHeaderBytes) / (frameHeaderBytes + pageBytes));
  truncateSync(
    path,
    frames === 0 ? 0 : walHeaderBytes + random.int(0, frames) * (frameHeaderBytes + pageBytes),
  );
}
