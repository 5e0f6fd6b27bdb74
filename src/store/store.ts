import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ReferenceNamespace } from '../core/order/reference.ts';
import { SealKeys, type SealKey } from '../core/sealing/seal-keys.ts';
import type { TimeMark } from '../core/clock.ts';
import type { OutboxProgress } from '../core/outbox-progress.ts';
import { hasCode, type OrderSyncError } from '../core/order-sync-error.ts';
import type { ShopIdentity } from '../core/shop-identity.ts';
import { Alerts } from './alerts/alerts.ts';
import { endAfterLoss } from './entries/after-loss.ts';
import { Intake } from './intake/intake.ts';
import { Operator } from './operator/operator.ts';
import { readerOf } from './read/outbox-reader.ts';
import { Results, retireSinks } from './results/results.ts';
import { CodeReads, CodeRetention } from './sealing/codes.ts';
import { checkSealKeys, Sealing } from './sealing/sealing.ts';
import {
  checkFileSystem,
  inTransaction,
  openDatabase,
  watchOutbox,
  type InitPolicy,
  type Sqlite,
} from './sqlite/database.ts';
import {
  diskError,
  freeBytesOf,
  isDiskFailure,
  isOutOfSpace,
  requireReserve,
  sizeOf,
} from './sqlite/disk-errors.ts';
import { countNewEntries } from './sqlite/entry-counts.ts';
import { checkStamp, makeDatabaseIdOnce, readProgress } from './sqlite/meta.ts';
import { migrate, refuseOlder } from './sqlite/schema.ts';
import { noClock, OutboxSteps, type OutboxClock, type ResultSink } from './sqlite/outbox.ts';
import { countTimeOff, lastMark, writeMark } from './sqlite/steady-time.ts';
import { SealedUnits } from './sqlite/sealed-units.ts';
import { UpkeepResults } from './sqlite/upkeep-results.ts';
import { takeWriterLock, writerLockPath, type WriterLock } from './sqlite/writer-lock.ts';
import { adoptShops, Storefronts } from './storefronts/storefronts.ts';
import { KeptAnswers } from './entries/kept-answers.ts';
import { Pauses } from './entries/pauses.ts';
import { adoptKeys, type KeysInUse } from './wholesale-keys.ts';

export interface StoreOptions {
  readonly path: string;
  readonly init: InitPolicy;
  /** Nothing that is written stays: for a check of the API while no worker runs. */
  readonly looks?: boolean;
  readonly namespace: ReferenceNamespace;
  /** The upstream the references go to: an origin, or `sandbox`. */
  readonly upstream: string;
  readonly sinks: readonly ResultSink[];
  /** The keys that seal delivered units; absent or empty: units are stored in clear. */
  readonly sealKeys?: readonly SealKey[];
  /**
   * With less free space on the disk of the database, new orders are refused. Default: none is kept
   * free.
   */
  readonly minFreeBytes?: () => number;
}

interface NewConfig extends Pick<KeysInUse, 'keys' | 'nowMs'> {
  readonly shops: readonly ShopIdentity[];
  readonly sinks: readonly ResultSink[];
}

/**
 * The outbox in one SQLite file, by role, with this process as its only writer. Each method of a
 * role is a whole business step: one transaction, which is on disk when its promise resolves. A
 * step that fails leaves nothing behind.
 */
export class Store extends OutboxSteps {
  readonly intake = new Intake(this.outbox);
  readonly storefronts = new Storefronts(this.outbox);
  readonly pauses = new Pauses(this.outbox);
  readonly answers = new KeptAnswers(this.outbox);
  readonly results = new Results(this.outbox);
  readonly operator = new Operator(this.outbox);
  readonly sealing = new Sealing(this.outbox);
  readonly codeReads = new CodeReads(this.outbox);
  readonly codeRetention = new CodeRetention(this.outbox);
  readonly alerts = new Alerts(this.outbox);
  readonly upkeep = new UpkeepResults(this.outbox);
  readonly read = readerOf(this.outbox);
  readonly #lock: WriterLock;
  readonly #state: ReturnType<typeof watchOutbox>;

  constructor(database: Sqlite, lock: WriterLock, keys: SealKeys, options: StoreOptions) {
    super({
      database,
      namespace: options.namespace,
      units: new SealedUnits(keys),
      sandbox: options.upstream === 'sandbox',
      requireSpace: () => requireReserve(options.path, options.minFreeBytes?.() ?? 0),
      sinks: options.sinks,
      clock: noClock,
    });
    this.#lock = lock;
    this.#state = watchOutbox(database);
  }

  /**
   * Takes up what a configuration that changed names. Results are due at its sinks from now on;
   * returns how many were given up at others, and which keys have another value.
   * @throws OrderSyncError CONFIG_INVALID when it gives a shop or a key another name: then nothing
   * was taken up
   */
  async adoptConfig({ shops, sinks, keys, nowMs }: NewConfig) {
    const { outbox } = this;
    const adopted = inTransaction(outbox.database, () => {
      adoptShops(outbox, { shops, nowMs });
      const { replaced } = adoptKeys(outbox, { keys, nowMs, whileRunning: true });
      return { replaced, givenUp: retireSinks(outbox, sinks, nowMs) };
    });
    outbox.sinks = sinks;
    return adopted;
  }

  /** The same for the keys alone, at the start. */
  readonly adoptKeys = this.step(adoptKeys);

  /** Steady time continues on this clock from now on. Called before anything else is done. */
  async continueTime(clock: OutboxClock & { continueFrom(last: TimeMark): number }): Promise<void> {
    const { outbox, database } = this;
    const offMs = clock.continueFrom(lastMark(database));
    outbox.clock = clock;
    inTransaction(database, () => {
      countTimeOff(database, offMs);
      writeMark(database, clock);
    });
  }

  /** Called every ten seconds. */
  readonly writeTime = this.step((outbox): void => {
    writeMark(outbox.database, outbox.clock);
    endAfterLoss(outbox);
  });

  /** How far this outbox has come, as it is on disk now: see `readProgress`. */
  async progress(): Promise<OutboxProgress & { readonly replaced: OutboxProgress | null }> {
    return readProgress(this.database);
  }

  /**
   * Free space on the disk of the database, in bytes: no call may be made whose outcome cannot be
   * recorded.
   */
  async freeBytes(): Promise<number> {
    return freeBytesOf(dirname(this.database.name));
  }

  /** How large the database and its write-ahead log are on the disk, in bytes. */
  async fileSizes(): Promise<{ readonly databaseBytes: number; readonly walBytes: number }> {
    return {
      databaseBytes: sizeOf(this.database.name),
      walBytes: sizeOf(`${this.database.name}-wal`),
    };
  }

  /**
   * Looks whether the files on disk are those that are open: see `OpenFiles`. Returns why the outbox
   * cannot be written at the moment; null: it can.
   */
  async checkHealth(): Promise<OrderSyncError | null> {
    this.#state.files.check();
    return this.#state.blockedBy;
  }

  async close(): Promise<void> {
    if (!this.database.open) return;
    if (this.database.inTransaction) this.database.exec('ROLLBACK');
    try {
      this.#state.files.check();
      this.database.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      // Without space, what was committed stays in the WAL file: the next start reads it there.
      if (!isDiskFailure(error) && !hasCode(error, 'DATABASE_REPLACED')) throw error;
    }
    this.database.close();
    this.#lock.release();
  }
}

/** What metrics and health checks get: nothing of it writes. Pages get `read` alone. */
export type ReadOnlyStore = Pick<Store, 'read' | 'fileSizes' | 'freeBytes' | 'checkHealth'>;

/**
 * Opens the outbox as its only writer: takes the lock, brings the schema up to date and checks what
 * it belongs to.
 * @throws OrderSyncError DATABASE_LOCKED, DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER,
 * DATABASE_UNSAFE,
 *   UPSTREAM_MISMATCH, REFERENCE_SECRET_CHANGED, SEAL_KEY_MISSING, SEAL_KEY_CHANGED, DISK_FULL
 */
export function openStore(options: StoreOptions): Store {
  let database: Sqlite | null = null;
  let lock: WriterLock | null = null;
  try {
    lock = lockBeforeOpening(options);
    database = openDatabase(options.path, options.init);
    lock ??= takeWriterLock(options.path);
    if (options.looks === true) {
      refuseOlder(database);
      // Each step is a part of this transaction, which `close` undoes.
      database.exec('BEGIN');
    } else migrate(database);
    checkStamp(database, options);
    const opened = database;
    inTransaction(opened, () => {
      makeDatabaseIdOnce(opened);
      countNewEntries(opened);
    });
    const keys = new SealKeys(options.sealKeys ?? []);
    checkSealKeys(opened, keys);
    return new Store(opened, lock, keys, options);
  } catch (error) {
    database?.close();
    lock?.release();
    throw isDiskFailure(error) || isOutOfSpace(error) ? diskError(error, options.path) : error;
  }
}

/**
 * Taken before the database is opened, because a restore, which holds the lock, puts another file
 * in its place. Null where there never was a database: its folder may be an unmounted volume.
 */
function lockBeforeOpening({ path }: StoreOptions): WriterLock | null {
  if (!existsSync(path) && !existsSync(writerLockPath(path))) return null;
  checkFileSystem(dirname(path));
  return takeWriterLock(path);
}
