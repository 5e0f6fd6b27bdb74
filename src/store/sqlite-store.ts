import { dirname } from 'node:path';
import type { Family, LookedUp } from '../core/order/operation.ts';
import type { ReferenceNamespace } from '../core/order/reference.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { AttemptTable } from './submission/attempts.ts';
import { AuditTable } from './operator/audit.ts';
import { BudgetTable } from './submission/budgets.ts';
import {
  fileIdentity,
  freeBytesOf,
  inTransaction,
  openDatabase,
  type InitPolicy,
  type Sqlite,
} from './sqlite/database.ts';
import { DeliveryTable } from './results/deliveries.ts';
import { DueEntries } from './submission/due-entries.ts';
import { EntryChanges } from './submission/entry-changes.ts';
import { FileTable } from './intake/files.ts';
import { IntakeTable } from './intake/accept-lines.ts';
import { RecentVerdicts } from './submission/recent-verdicts.ts';
import { AfterLoss } from './submission/after-loss.ts';
import { LookupProofs } from './submission/lookup-proofs.ts';
import { checkStamp } from './sqlite/meta.ts';
import { migrate } from './sqlite/migrate.ts';
import { OperatorActions } from './operator/operator-actions.ts';
import { PauseTable } from './submission/pauses.ts';
import { SettlementDelays } from './submission/settlement-delays.ts';
import { SqliteOutboxReader } from './read/reader.ts';
import type { StorefrontOrder, WholeRequest } from './intake/intake-steps.ts';
import type { OutboxReader } from './read/outbox-reader.ts';
import type { AttemptClaim, AttemptClose, DueDelivery, IntakeBatch, LookupProof, Pause, Store } from './store.ts';
import { ShopFingerprints } from './storefronts/shop-fingerprints.ts';
import { StorefrontOrders } from './storefronts/storefront-orders.ts';
import { StorefrontWatermarks } from './storefronts/storefront-watermarks.ts';
import { CancelUnsentStep } from './storefronts/cancel-unsent.ts';
import { UnreadOrders } from './storefronts/unread-orders.ts';
import { WholeRequests } from './intake/whole-requests.ts';
import { WholesaleKeyTable } from './submission/wholesale-keys.ts';
import { takeWriterLock, type WriterLock } from './sqlite/writer-lock.ts';

export interface StoreOptions {
  readonly path: string;
  readonly init: InitPolicy;
  readonly namespace: ReferenceNamespace;
  /** The upstream the references go to: an origin, or `sandbox`. */
  readonly upstream: string;
  /** The names of the places that results are written to. */
  readonly sinks: readonly string[];
}

/** The outbox in one SQLite file, with this process as its only writer. */
class SqliteStore implements Store {
  readonly read: OutboxReader;
  readonly #path: string;
  readonly #database: Sqlite;
  readonly #lock: WriterLock;
  readonly #identity: string;
  readonly #files: FileTable;
  readonly #intake: IntakeTable;
  readonly #requests: WholeRequests;
  readonly #cancelUnsentStep: CancelUnsentStep;
  readonly #storefronts: StorefrontOrders;
  readonly #watermarks: StorefrontWatermarks;
  readonly #unread: UnreadOrders;
  readonly #shops: ShopFingerprints;
  readonly #attempts: AttemptTable;
  readonly #due: DueEntries;
  readonly #entries: EntryChanges;
  readonly #settlementDelays: SettlementDelays;
  readonly #afterLoss: AfterLoss;
  readonly #judged: RecentVerdicts;
  readonly #budgets: BudgetTable;
  readonly #pauses: PauseTable;
  readonly #keys: WholesaleKeyTable;
  readonly #desk: OperatorActions;
  readonly #lookups: LookupProofs;
  readonly #deliveries: DeliveryTable;

  constructor(database: Sqlite, lock: WriterLock, options: StoreOptions) {
    this.#path = options.path;
    this.#database = database;
    this.#lock = lock;
    this.#identity = fileIdentity(options.path);
    this.#deliveries = new DeliveryTable(database, options.sinks);
    this.#files = new FileTable(database);
    this.#intake = new IntakeTable(database, options.namespace, this.#deliveries);
    this.#requests = new WholeRequests(database, this.#intake);
    this.#due = new DueEntries(database);
    this.#entries = new EntryChanges(database, options.namespace, this.#deliveries);
    this.#settlementDelays = new SettlementDelays(database);
    this.#judged = new RecentVerdicts(database);
    this.#budgets = new BudgetTable(database);
    const audit = new AuditTable(database);
    this.#afterLoss = new AfterLoss(database, audit);
    const rooms = { entries: this.#entries, audit, afterLoss: this.#afterLoss };
    this.#cancelUnsentStep = new CancelUnsentStep(database, rooms);
    this.#storefronts = new StorefrontOrders(database, this.#intake, rooms);
    this.#watermarks = new StorefrontWatermarks(database);
    this.#unread = new UnreadOrders(database, this.#intake);
    this.#shops = new ShopFingerprints(database, options.namespace);
    this.#pauses = new PauseTable(database, audit);
    this.#keys = new WholesaleKeyTable(database, { namespace: options.namespace, pauses: this.#pauses });
    this.#desk = new OperatorActions(database, { ...rooms, settlementDelays: this.#settlementDelays });
    this.#lookups = new LookupProofs(database);
    this.#attempts = new AttemptTable(database, {
      budgets: this.#budgets,
      due: this.#due,
      entries: this.#entries,
      pauses: this.#pauses,
      afterLoss: this.#afterLoss,
      keys: this.#keys,
    });
    this.read = new SqliteOutboxReader(database, options.upstream === 'sandbox');
  }

  async acceptBatch(batch: IntakeBatch) {
    return this.#intake.accept(batch);
  }
  async acceptRequests(requests: readonly WholeRequest[]) {
    return this.#requests.accept(requests);
  }
  async takeStorefrontOrder(order: StorefrontOrder) {
    return this.#storefronts.take(order);
  }
  async adoptShops(shops: Parameters<Store['adoptShops']>[0]) {
    this.#shops.adopt(shops);
  }
  async flagUnreadOrders(step: Parameters<Store['flagUnreadOrders']>[0]) {
    return this.#unread.tell(step);
  }
  async flagStrandedOrders(step: Parameters<Store['flagStrandedOrders']>[0]) {
    this.#unread.tellOfOthers(step);
  }
  async storefrontWatermark(source: string) {
    return this.#watermarks.find(source);
  }
  async advanceStorefrontWatermark(step: Parameters<Store['advanceStorefrontWatermark']>[0]) {
    this.#watermarks.advance(step);
  }
  async lowerStorefrontWatermark(step: Parameters<Store['lowerStorefrontWatermark']>[0]) {
    return this.#watermarks.lower(step);
  }
  async cancelUnsent(order: Parameters<Store['cancelUnsent']>[0]) {
    return this.#cancelUnsentStep.cancelUnsent(order);
  }
  async beginFile(file: Parameters<Store['beginFile']>[0]) {
    return this.#files.begin(file);
  }
  async finishFile(file: Parameters<Store['finishFile']>[0]) {
    return this.#files.finish(file);
  }
  async postponeFile(id: string) {
    this.#files.postpone(id);
  }
  async rejectFile(file: Parameters<Store['rejectFile']>[0]) {
    this.#files.reject(file);
  }
  async archiveFile(id: string) {
    this.#files.archive(id);
  }
  async findFile(id: string) {
    return this.#files.find(id);
  }
  async rejectionsOfFile(id: string) {
    return this.#files.rejections(id);
  }

  async openAttempt(claim: AttemptClaim) {
    return this.#attempts.open(claim);
  }
  async closeAttempt(close: AttemptClose) {
    this.#attempts.close(close);
  }
  async openAttemptsOfOthers(incarnationId: number) {
    return this.#attempts.openOfOthers(incarnationId);
  }
  async restartSettlementDelays(restart: Parameters<Store['restartSettlementDelays']>[0]) {
    this.#settlementDelays.restart(restart);
  }
  async nextDueAt(step: 'send' | 'lookup') {
    return this.#due.nextAt(step);
  }
  async expireOverdue(nowMs: number, maxUnknownOutcomes: number) {
    const overdue = this.#due.overdue(nowMs);
    if (overdue.length === 0) return 0;
    return inTransaction(this.#database, () => {
      const unsure = new Set(overdue.filter((row) => this.#afterLoss.appliesTo(row)));
      // Nobody is told "expired" of what an outbox that was lost may have bought in time.
      const room = Math.max(0, maxUnknownOutcomes - this.#due.countUnknownOutcomes());
      for (const row of [...unsure].slice(0, room)) this.#entries.lookUpFirst(row, nowMs);
      const ended = overdue.filter((row) => !unsure.has(row));
      for (const row of ended) this.#entries.endOverdue(row, nowMs);
      return ended.length;
    });
  }
  async bringForward(at: Parameters<Store['bringForward']>[0]) {
    return inTransaction(
      this.#database,
      () => this.#due.bringForward(at) + this.#pauses.bringForward(at) + this.#deliveries.bringForward(at.nowMs),
    );
  }
  async countUnknownOutcomes() {
    return this.#due.countUnknownOutcomes();
  }
  async provenLookups() {
    return this.#lookups.proven();
  }
  async proveLookup(proof: LookupProof) {
    this.#lookups.prove(proof);
  }
  async boughtReference(kind: LookedUp) {
    return this.#lookups.boughtReference(kind);
  }
  async recentVerdicts(family: Family) {
    return this.#judged.newest(family);
  }
  async restoreSlots(restart: { settledMono: number; bootId: string | null }) {
    return this.#budgets.restore(restart);
  }
  async restoreBackOffs(restart: Parameters<Store['restoreBackOffs']>[0]) {
    return this.#keys.restore(restart);
  }
  async recordBackOff(...[rest, at]: Parameters<Store['recordBackOff']>) {
    this.#keys.rateLimitedAlone(rest, at);
  }
  async adoptKeys(keys: Parameters<Store['adoptKeys']>[0]) {
    return this.#keys.adopt(keys);
  }
  async takeSlot(slot: Parameters<Store['takeSlot']>[0]) {
    return this.#budgets.takeAlone(slot);
  }
  async settleSlot(id: number, settledMono: number) {
    this.#budgets.settleAlone(id, settledMono);
  }
  async forgetSlots(freeBeforeMono: number, bootId: string | null) {
    this.#budgets.forget(freeBeforeMono, bootId);
  }

  async pauses(): Promise<readonly Pause[]> {
    return this.#pauses.all();
  }
  async openPause(pause: Parameters<Store['openPause']>[0]) {
    this.#pauses.open(pause);
  }
  async postponeProbe(scope: string, probeAtMs: number) {
    this.#pauses.postpone(scope, probeAtMs);
  }
  async endPause(scope: string, actor: string, reason: string, nowMs: number) {
    return this.#pauses.end(scope, actor, reason, nowMs);
  }

  async actOnEntry(action: Parameters<Store['actOnEntry']>[0]) {
    return this.#desk.act(action);
  }
  async pauseScope(pause: Parameters<Store['pauseScope']>[0]) {
    this.#pauses.stop(pause);
  }
  async resumeScope(resume: Parameters<Store['resumeScope']>[0]) {
    this.#pauses.goOn(resume);
  }

  async dueDeliveries(sink: string, nowMs: number, limit: number): Promise<readonly DueDelivery[]> {
    return this.#deliveries
      .due(sink, nowMs, limit)
      .map(({ requestId, tries }) => ({ requestId, tries, ...this.read.resultDocument(requestId) }));
  }
  async nextDeliveryAt(sink: string) {
    return this.#deliveries.nextAt(sink);
  }
  async closeDelivery(done: Parameters<Store['closeDelivery']>[0]) {
    this.#deliveries.close(done);
  }
  async failDelivery(failed: Parameters<Store['failDelivery']>[0]) {
    this.#deliveries.fail(failed);
  }
  async giveUpDelivery(given: Parameters<Store['giveUpDelivery']>[0]) {
    this.#deliveries.giveUp(given);
  }
  async retireSinks(nowMs: number) {
    return this.#deliveries.retireOthers(nowMs);
  }
  async redeliver(filter: { source?: string; orderId?: string }, nowMs: number) {
    return this.#deliveries.redeliver(filter, nowMs);
  }

  async beginIncarnation(run: { bootId: string | null; version: string; nowMs: number }) {
    const insert = this.#database.prepare(
      'INSERT INTO incarnations (boot_id, version, started_at_ms) VALUES (:bootId, :version, :nowMs)',
    );
    return inTransaction(this.#database, () => Number(insert.run(run).lastInsertRowid));
  }
  async endIncarnation(id: number, nowMs: number) {
    const update = this.#database.prepare('UPDATE incarnations SET stopped_at_ms = ? WHERE id = ?');
    inTransaction(this.#database, () => update.run(nowMs, id));
  }

  async beginAfterLoss(wish: Parameters<Store['beginAfterLoss']>[0]) {
    this.#afterLoss.begin(wish);
  }
  async freeBytes() {
    return freeBytesOf(dirname(this.#path));
  }

  async checkHealth() {
    const found = fileIdentity(this.#path);
    if (found !== this.#identity) {
      throw new OrderSyncError(
        'DATABASE_REPLACED',
        `The database file ${this.#path} was ${found === 'missing' ? 'removed' : 'replaced'} while the worker had it open`,
        {
          hint: 'what is written now would be lost: the worker stops; put the file back and start it again',
        },
      );
    }
  }

  async close() {
    if (!this.#database.open) return;
    this.#database.pragma('wal_checkpoint(TRUNCATE)');
    this.#database.close();
    this.#lock.release();
  }
}

/**
 * Opens the outbox as its only writer: takes the lock, brings the schema up to date and checks what it belongs to.
 * @throws OrderSyncError DATABASE_LOCKED, DATABASE_MISSING, DATABASE_NEWER, DATABASE_UNSAFE, UPSTREAM_MISMATCH,
 *   REFERENCE_SECRET_CHANGED
 */
export function openStore(options: StoreOptions): Store {
  const database = openDatabase(options.path, options.init);
  let lock: WriterLock | null = null;
  try {
    lock = takeWriterLock(options.path);
    migrate(database);
    checkStamp(database, options);
    return new SqliteStore(database, lock, options);
  } catch (error) {
    database.close();
    lock?.release();
    throw error;
  }
}
