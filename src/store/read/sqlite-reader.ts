import { resultFileOf, type NamedRequest } from '../results/result-name.ts';
import { dirname } from 'node:path';
import type { BulkAction, BulkFilter } from '../../core/entry/bulk.ts';
import { zeroCounts, type EntryState } from '../../core/entry/states.ts';
import { SealKeys } from '../../core/sealing/seal-keys.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';
import { openReadOnly, statementOf, type Sqlite } from '../sqlite/database.ts';
import { freeBytesOf } from '../sqlite/disk-errors.ts';
import { readOrderDetail } from './order-detail.ts';
import { readMeta } from '../sqlite/meta.ts';
import { refuseNewer, refuseOlder } from '../sqlite/migrate.ts';
import { readQueuedEntry, readQueueFacts, type QueuedEntry, type QueueFacts } from './queue-facts.ts';
import { countRedelivery } from '../results/redelivery.ts';
import type { Redelivery } from '../results/results.ts';
import { readResultDocument, type ResultParts } from '../results/result-reader.ts';
import { readSealUsage, type SealUsage } from '../sealing/seal-usage.ts';
import { SealedUnits } from '../sealing/sealed-units.ts';
import { never } from '../results/sink-states.ts';
import { everySource } from '../search/find-orders.ts';
import { readStateCounts } from '../sqlite/entry-counts.ts';
import { listOrders } from './list-orders.ts';
import {
  readAttention,
  readAttentionPage,
  readAttentionCounts,
  type Attention,
  type AttentionCounts,
  type AttentionFilter,
} from './attention.ts';
import { readAuditLog, type AuditEntry, type AuditFilter } from './audit-log.ts';
import { findForBulk, type FoundEntries } from './bulk-entries.ts';
import { readCallLog, type CallFilter, type LoggedCall } from './call-log.ts';
import { readDeliveries, type DeliveryFilter, type ListedDelivery } from './delivery-list.ts';
import type { Page, PageRequest } from './page.ts';
import {
  readHourStatistics,
  readMinuteCalls,
  readSpending,
  type DaySpending,
  type HourStatistics,
  type MinuteCalls,
  type Period,
} from './statistics.ts';
import { readTimeline, type TimelineEvent } from './timeline.ts';
import type { Backlog, OrderDetail, OrderFilter, OrderSummary, OutboxReader } from './outbox-reader.ts';
import { readOldestOpen } from './states-by-source.ts';
import { readPauseEffects, type PauseEffect } from './pause-effects.ts';
import { countDueResults, readSinkPauses, type PausedSink } from './sink-pauses.ts';
import {
  readFlaggedSku,
  readMappedLine,
  readRepairable,
  type FlaggedSku,
  type MappedLine,
  type Repairable,
  type RepairFilter,
} from './sku-repairs.ts';
import { readSkuSightings, type SkuSighting } from '../storefronts/storefront-skus.ts';

const openStates: readonly EntryState[] = ['pending', 'sending', 'waiting', 'unknown', 'placed'];
/** A delivery that was given up is due never. */
const countDueDeliveries = statementOf<[], { count: number }>(
  `SELECT count(*) AS count FROM deliveries WHERE done_version < due_version AND due_at_ms < ${never}`,
);
const selectOrdersOfId = statementOf<[string], { id: number; source: string }>(
  `${everySource} SELECT r.id, r.source FROM sources s JOIN requests r ON r.source = s.source AND r.order_id = ?
   ORDER BY r.id DESC LIMIT 11`,
);
const selectOrder = statementOf<[string, string], { id: number; source: string }>(
  'SELECT id, source FROM requests WHERE source = ? AND order_id = ?',
);
const selectVersions = statementOf<[string], { id: number; version: number }>(
  'SELECT id, version FROM requests WHERE id IN (SELECT value FROM json_each(?))',
);

/** Reads the outbox for people. Writes nothing, so it may read a database that a worker is writing to. */
export class SqliteOutboxReader implements OutboxReader {
  readonly #database: Sqlite;
  readonly #parts: ResultParts;

  constructor(database: Sqlite, parts: ResultParts) {
    this.#database = database;
    this.#parts = parts;
  }

  listOrders(filter: OrderFilter): readonly OrderSummary[] {
    return listOrders(this.#database, filter);
  }

  skuSightings(source: string): readonly SkuSighting[] {
    return readSkuSightings(this.#database, source);
  }

  mappedLine(reference: string): MappedLine | null {
    return readMappedLine(this.#database, reference);
  }

  flaggedSku(id: string): FlaggedSku | null {
    return readFlaggedSku(this.#database, id);
  }

  repairable(filter: RepairFilter): Repairable {
    return readRepairable(this.#database, filter);
  }

  /** @throws OrderSyncError USAGE when several shops have an order of that id and none was named */
  showOrder(source: string | null, orderId: string): OrderDetail | null {
    const found =
      source === null
        ? selectOrdersOfId(this.#database).all(orderId)
        : selectOrder(this.#database).all(source, orderId);
    if (found.length > 1) {
      const sources = found.map((order) => order.source);
      throw new OrderSyncError('USAGE', `Order ${orderId} exists in several sources: ${sources.join(', ')}`, {
        hint: `name one of them: --source ${sources[0]}`,
      });
    }
    return found[0] === undefined ? null : readOrderDetail(this.#database, found[0].id);
  }

  showEntry(reference: string): OrderDetail | null {
    const id = this.#database
      .prepare<[string], number>(
        'SELECT l.request_id FROM entries e JOIN lines l ON l.id = e.line_id WHERE e.reference = ?',
      )
      .pluck()
      .get(reference);
    return id === undefined ? null : readOrderDetail(this.#database, id);
  }

  counts(): Readonly<Record<EntryState, number>> {
    const counts = zeroCounts();
    for (const { state, count } of readStateCounts(this.#database)) counts[state] = count;
    return counts;
  }

  attentionPage(filter: AttentionFilter, page: PageRequest): Page<Attention> {
    return readAttentionPage(this.#database, filter, page);
  }

  attention(limit: number, filter: AttentionFilter = {}): readonly Attention[] {
    return readAttention(this.#database, limit, filter);
  }

  attentionCounts(filter: AttentionFilter = {}, atMost?: number): AttentionCounts {
    return readAttentionCounts(this.#database, filter, atMost);
  }

  resultFile(request: NamedRequest): string {
    return resultFileOf(this.#database, request);
  }

  resultDocument(requestId: number): { version: number; document: ResultDocument } {
    return readResultDocument(this.#database, requestId, this.#parts);
  }

  findOrder(source: string, orderId: string): { requestId: number; version: number } | null {
    const found = this.#database
      .prepare<[string, string], { requestId: number; version: number }>(
        'SELECT id AS requestId, version FROM requests WHERE source = ? AND order_id = ?',
      )
      .get(source, orderId);
    return found ?? null;
  }

  sealUsage(): readonly SealUsage[] {
    return readSealUsage(this.#database);
  }

  resultVersions(requestIds: readonly number[]): ReadonlyMap<number, number> {
    const rows = selectVersions(this.#database).all(JSON.stringify(requestIds));
    return new Map(rows.map(({ id, version }) => [id, version]));
  }

  backlog(): Backlog {
    const counts = this.counts();
    return {
      open: openStates.reduce((sum, state) => sum + counts[state], 0),
      oldestOpenMs: readOldestOpen(this.#database),
      dueDeliveries: countDueDeliveries(this.#database).get()?.count ?? 0,
    };
  }

  findForBulk(action: BulkAction, filter: BulkFilter, limit: number): readonly FoundEntries[] {
    return findForBulk(this.#database, action, filter, limit);
  }

  pauses(): readonly PauseEffect[] {
    return readPauseEffects(this.#database);
  }

  redeliveryCount(which: Redelivery): number {
    return countRedelivery(this.#database, which);
  }

  dueResults(sinks: readonly string[], atMost: number): ReadonlyMap<string, number> {
    return new Map(sinks.map((sink) => [sink, countDueResults(this.#database, sink, atMost)]));
  }

  sinkPauses(): readonly PausedSink[] {
    return readSinkPauses(this.#database);
  }

  queueFacts(nowMs: number): QueueFacts {
    const freeBytes = freeBytesOf(dirname(this.#database.name));
    return readQueueFacts(this.#database, nowMs, freeBytes);
  }

  queuedEntry(reference: string): QueuedEntry | null {
    return readQueuedEntry(this.#database, reference);
  }

  timeline(requestId: number, page: PageRequest): Page<TimelineEvent> {
    return readTimeline(this.#database, requestId, page);
  }

  auditLog(filter: AuditFilter, page: PageRequest): Page<AuditEntry> {
    return readAuditLog(this.#database, filter, page);
  }

  callLog(filter: CallFilter, page: PageRequest): Page<LoggedCall> {
    return readCallLog(this.#database, filter, page);
  }

  deliveries(filter: DeliveryFilter, page: PageRequest): Page<ListedDelivery> {
    return readDeliveries(this.#database, filter, page);
  }

  hourStatistics(period: Period): readonly HourStatistics[] {
    return readHourStatistics(this.#database, period);
  }

  minuteCalls(period: Period): readonly MinuteCalls[] {
    return readMinuteCalls(this.#database, period);
  }

  spending(period: Period): readonly DaySpending[] {
    return readSpending(this.#database, period);
  }
}

/**
 * Opens the outbox for reading, also while a worker runs.
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_NEWER, DATABASE_OLDER
 */
export function openReader(path: string): SqliteOutboxReader & { close(): void } {
  const database = openReadOnly(path);
  try {
    refuseNewer(database);
    refuseOlder(database);
    // Who only reads has no key: no code leaves the outbox without an audit entry.
    const units = new SealedUnits(new SealKeys([]));
    const sandbox = readMeta(database, 'upstream') === 'sandbox';
    return Object.assign(new SqliteOutboxReader(database, { units, sandbox }), {
      close: () => void database.close(),
    });
  } catch (error) {
    database.close();
    throw error;
  }
}
