import type { ReferenceNamespace } from '../../core/order/reference.ts';
import type { Sqlite } from './database.ts';
import type { SealedUnits } from './sealed-units.ts';

/** A receiver of results, as the outbox knows it. */
export interface ResultSink {
  /** Deliveries are recorded under this name: it must not change. */
  readonly name: string;
  /** Only results of these sources are due there; null: those of every source. */
  readonly sources: readonly string[] | null;
}

/** An outbox that is open for writing, for the steps of every role. */
export interface Outbox {
  readonly database: Sqlite;
  readonly namespace: ReferenceNamespace;
  readonly units: SealedUnits;
  /** Whether the upstream is a sandbox. */
  readonly sandbox: boolean;
  /** @throws OrderSyncError DISK_FULL when there is no space for a new order: see `requireReserve` */
  readonly requireSpace: () => void;
  /** Where results are delivered now; changed by a reload. */
  sinks: readonly ResultSink[];
  /** Once a worker has started, every settlement delay is of its own run of the machine, also where that has no boot id. */
  delaysAreOfThisRun: boolean;
}
