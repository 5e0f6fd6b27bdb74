import { dirname } from 'node:path';
import { SealKeys } from '../../core/sealing/seal-keys.ts';
import { countRedelivery } from '../results/redelivery.ts';
import { readResult, type ResultSource, resultFileOf } from '../results/result-reader.ts';
import { readSealUsage } from '../sealing/sealing.ts';
import { SealedUnits } from '../sqlite/sealed-units.ts';
import { openReadOnly, type Sqlite } from '../sqlite/database.ts';
import { freeBytesOf } from '../sqlite/disk-errors.ts';
import { readMeta } from '../sqlite/meta.ts';
import { refuseOlder } from '../sqlite/schema.ts';
import { mappedBefore, readSkuSightings } from '../storefronts/storefront-skus.ts';
import { readKeptAnswers, readLastAnswer } from '../submission/kept-answers.ts';
import { readAttention, readAttentionCounts, readAttentionGroups, readAttentionPage } from './attention.ts';
import { readAuditLog } from './audit-log.ts';
import { findForBulk } from './bulk-entries.ts';
import { readDeliveries, readDueResults, readSinkPauses } from './delivery-list.ts';
import { readBacklog, readCounts, readSources } from './entries-by-source.ts';
import { listOrders } from './list-orders.ts';
import { findOrder, showEntry, showOrder } from './order-detail.ts';
import { readPauseEffects } from './pause-effects.ts';
import { readQueuedEntry, readQueueFacts } from './queue-facts.ts';
import { readMappedLine } from './mapped-lines.ts';
import { readHourStatistics, readSpending } from './statistics.ts';
import { readTimeline } from './timeline.ts';

/** Reads the outbox for people. Writes nothing, so it may read a database that another process is writing to. */
export class OutboxReader {
  readonly #source: ResultSource;

  readonly listOrders = this.#bind(listOrders);
  readonly showOrder = this.#bind(showOrder);
  readonly showEntry = this.#bind(showEntry);
  readonly findOrder = this.#bind(findOrder);
  readonly timeline = this.#bind(readTimeline);
  readonly keptAnswers = this.#bind(readKeptAnswers);
  readonly lastAnswer = this.#bind(readLastAnswer);
  readonly findForBulk = this.#bind(findForBulk);

  readonly attention = this.#bind(readAttention);
  readonly attentionGroups = this.#bind(readAttentionGroups);
  readonly attentionPage = this.#bind(readAttentionPage);
  readonly attentionCounts = this.#bind(readAttentionCounts);
  readonly auditLog = this.#bind(readAuditLog);

  readonly resultFile = this.#bind(resultFileOf);
  readonly deliveries = this.#bind(readDeliveries);
  readonly redeliveryCount = this.#bind(countRedelivery);
  readonly dueResults = this.#bind(readDueResults);
  readonly sinkPauses = this.#bind(readSinkPauses);

  readonly counts = this.#bind(readCounts);
  readonly sources = this.#bind(readSources);
  readonly backlog = this.#bind(readBacklog);
  readonly pauses = this.#bind(readPauseEffects);
  readonly queuedEntry = this.#bind(readQueuedEntry);
  readonly hourStatistics = this.#bind(readHourStatistics);
  readonly spending = this.#bind(readSpending);

  readonly skuSightings = this.#bind(readSkuSightings);
  readonly mappedBefore = this.#bind(mappedBefore);
  readonly mappedLine = this.#bind(readMappedLine);
  readonly sealUsage = this.#bind(readSealUsage);

  constructor(source: ResultSource) {
    this.#source = source;
  }

  resultDocument(requestId: number): Pick<ReturnType<typeof readResult>, 'version' | 'document'> {
    return readResult(this.#source, requestId);
  }

  queueFacts(): ReturnType<typeof readQueueFacts> {
    return readQueueFacts(this.#source.database, freeBytesOf(dirname(this.#source.database.name)));
  }

  #bind<Given extends unknown[], Found>(
    read: (database: Sqlite, ...given: Given) => Found,
  ): (...given: Given) => Found {
    return (...given) => read(this.#source.database, ...given);
  }
}

/**
 * Opens the outbox for reading, also while a worker runs.
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER, DATABASE_OLDER
 */
export function openReader(path: string): OutboxReader & { close(): void } {
  const database = openReadOnly(path);
  try {
    refuseOlder(database);
    // Who only reads has no key: no code leaves the outbox without an audit entry.
    const units = new SealedUnits(new SealKeys([]));
    const sandbox = readMeta(database, 'upstream') === 'sandbox';
    return Object.assign(new OutboxReader({ database, units, sandbox }), { close: () => void database.close() });
  } catch (error) {
    database.close();
    throw error;
  }
}
