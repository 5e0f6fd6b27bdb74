import { dirname } from 'node:path';
import { SealKeys } from '../../core/sealing/seal-keys.ts';
import { countRedelivery } from '../results/redelivery.ts';
import { readResult, type ResultSource, resultFileOf } from '../results/result-reader.ts';
import { readSealUsage } from '../sealing/sealing.ts';
import { SealedUnits } from '../sqlite/sealed-units.ts';
import { openReadOnly, type Sqlite } from '../sqlite/database.ts';
import { freeBytesOf } from '../sqlite/disk-errors.ts';
import { isAnyLookupProven, readMeta } from '../sqlite/meta.ts';
import { refuseOlder } from '../sqlite/schema.ts';
import { mappedBefore, readSkuSightings } from '../storefronts/storefront-skus.ts';
import { readBalances } from '../entries/balances.ts';
import { readPauses } from '../entries/pauses.ts';
import { readKeptAnswers, readLastAnswer } from '../entries/kept-answers.ts';
import { readAffected } from './affected.ts';
import {
  readAttention,
  readAttentionCounts,
  readAttentionGroups,
  readAttentionPage,
  readSomeAttention,
} from './attention.ts';
import { readAuditLog } from './audit-log.ts';
import { findForBulk } from './bulk-entries.ts';
import { readDeliveries, readDueResults, readSinkPauses } from './delivery-list.ts';
import { readBacklog, readCounts, readCountsBySource, readSources } from './entries-by-source.ts';
import { listOrders } from './list-orders.ts';
import { findOrder, showEntry, showOrder } from './order-detail.ts';
import { readPauseEffects } from './pause-effects.ts';
import { readQueuedEntry, readQueueFacts } from './queue-facts.ts';
import { readMappedLine } from './mapped-lines.ts';
import { readNumbers } from './numbers.ts';
import { readHourStatistics, readLatency, readSpending } from './statistics.ts';
import { readWaiting } from './waiting.ts';
import { readTimeline } from './timeline.ts';

/** Each reads the database that it gets first. */
const reads = {
  listOrders,
  showOrder,
  showEntry,
  findOrder,
  timeline: readTimeline,
  keptAnswers: readKeptAnswers,
  lastAnswer: readLastAnswer,
  findForBulk,

  attention: readAttention,
  someAttention: readSomeAttention,
  attentionGroups: readAttentionGroups,
  attentionPage: readAttentionPage,
  attentionCounts: readAttentionCounts,
  auditLog: readAuditLog,

  resultFile: resultFileOf,
  deliveries: readDeliveries,
  redeliveryCount: countRedelivery,
  dueResults: readDueResults,
  sinkPauses: readSinkPauses,

  isAnyLookupProven,

  counts: readCounts,
  countsBySource: readCountsBySource,
  sources: readSources,
  backlog: readBacklog,
  openPauses: readPauses,
  pauses: readPauseEffects,
  affected: readAffected,
  queuedEntry: readQueuedEntry,
  hourStatistics: readHourStatistics,
  latency: readLatency,
  waiting: readWaiting,
  numbers: readNumbers,
  spending: readSpending,
  balances: readBalances,

  skuSightings: readSkuSightings,
  mappedBefore,
  mappedLine: readMappedLine,
  sealUsage: readSealUsage,
};
type Reads = typeof reads;
type Bound<Read> = Read extends (database: Sqlite, ...given: infer Given) => infer Found
  ? (...given: Given) => Found
  : never;

/**
 * Reads the outbox for people. Writes nothing, so it may read a database that another process is
 * writing to.
 */
export interface OutboxReader extends ReturnType<typeof readerOf> {}

export function readerOf(source: ResultSource) {
  const { database } = source;
  const all = Object.entries<(database: Sqlite, ...given: never[]) => unknown>(reads);
  const bound = all.map(([name, read]) => [name, read.bind(null, database)]);
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each is bound to its first parameter
    ...(Object.fromEntries(bound) as { [Name in keyof Reads]: Bound<Reads[Name]> }),
    resultDocument: (
      requestId: number,
    ): Pick<ReturnType<typeof readResult>, 'version' | 'document'> => readResult(source, requestId),
    queueFacts: () => readQueueFacts(database, freeBytesOf(dirname(database.name))),
  };
}

/**
 * Opens the outbox for reading, also while a worker runs.
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER, DATABASE_OLDER
 */
export function openReader(path: string): OutboxReader & { close(): void } {
  const database = openReadOnly(path);
  try {
    refuseOlder(database);
    // A reader has no key: no code leaves the outbox without an audit entry.
    const units = new SealedUnits(new SealKeys([]));
    const sandbox = readMeta(database, 'upstream') === 'sandbox';
    return { ...readerOf({ database, units, sandbox }), close: () => void database.close() };
  } catch (error) {
    database.close();
    throw error;
  }
}
