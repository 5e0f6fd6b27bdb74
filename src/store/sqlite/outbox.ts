import type { Clock, TimeMark } from '../../core/clock.ts';
import type { ReferenceNamespace } from '../../core/order/reference.ts';
import { inTransaction, type Sqlite } from './database.ts';
import type { SealedUnits } from './sealed-units.ts';

export interface ResultSink {
  /** Deliveries are recorded under this name: it must not change. */
  readonly name: string;
  /** Only results of these sources are due there; null: those of every source. */
  readonly sources: readonly string[] | null;
}

/** What an outbox counts time by; `mark` is null where there is none to write. */
export interface OutboxClock extends Pick<Clock, 'wallMs' | 'steadyMs'> {
  mark(): TimeMark | null;
}

/** No steady time passes before `Store.continueTime`. */
export const noClock: OutboxClock = { wallMs: Date.now, steadyMs: () => 0, mark: () => null };

/** An outbox that is open for writing, for the steps of every role. */
export interface Outbox {
  readonly database: Sqlite;
  readonly namespace: ReferenceNamespace;
  readonly units: SealedUnits;
  readonly sandbox: boolean;
  /**
   * @throws OrderSyncError DISK_FULL when there is no space for a new order: see `requireReserve`
   */
  readonly requireSpace: () => void;
  /** Where results are delivered now; changed by a reload. */
  sinks: readonly ResultSink[];
  clock: OutboxClock;
}

type Prepared<Member> = (database: Sqlite) => Member;

/**
 * The business steps of one role, for callers that await them. A function that takes the outbox
 * itself is a part of a step.
 */
export class OutboxSteps {
  readonly outbox: Outbox;
  protected readonly database: Sqlite;

  constructor(outbox: Outbox) {
    this.outbox = outbox;
    this.database = outbox.database;
  }

  protected step<Given extends unknown[], Done>(
    step: (outbox: Outbox, ...given: Given) => Done,
  ): (...given: Given) => Promise<Done> {
    return async (...given) => inTransaction(this.database, () => step(this.outbox, ...given));
  }

  protected write<Given extends unknown[]>(
    statement: Prepared<{ run(...given: Given): unknown }>,
  ): (...given: Given) => Promise<void> {
    return async (...given) =>
      void inTransaction(this.database, () => statement(this.database).run(...given));
  }

  /** The first row or value that a statement finds; null: there is none. */
  protected first<Given extends unknown[], Row>(
    statement: Prepared<{ get(...given: Given): Row | undefined }>,
  ): (...given: Given) => Promise<Row | null> {
    return async (...given) => statement(this.database).get(...given) ?? null;
  }
}
