import type { OrderedEntries } from '../../core/result/delivered-lines.ts';
import type { CsvFiles } from './csv-files.ts';
import type { ResultSink } from '../sqlite/outbox.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';

/** The sink of the folder of results. */
export const folderSinkName = 'folder';

/** The results that are written back, each to every sink of its source. */
export interface Results {
  /** The CSV order files that are written back as files. */
  readonly csvFiles: CsvFiles;
  /** @param without requests that are left out. Default: none */
  dueDeliveries(
    sink: string,
    nowMs: number,
    limit: number,
    without?: Iterable<number>,
  ): Promise<readonly DueDelivery[]>;
  /** Whether something of an order is open, or was not delivered everywhere before a time; also of an unknown order. */
  isNeeded(order: { source: string; orderId: string; beforeMs: number }): Promise<boolean>;
  nextDeliveryAt(sink: string): Promise<number | null>;
  closeDelivery(done: { requestId: number; sink: string; version: number; nowMs: number }): Promise<void>;
  failDelivery(failed: {
    requestId: number;
    sink: string;
    version: number;
    error: string;
    retryAtMs: number;
    /** False: it does not count towards giving the delivery up. */
    countsTry?: boolean;
  }): Promise<void>;
  /** Keeps what a sink has confirmed about an order, unless a person asked for its results again meanwhile. */
  confirmEvents(confirmed: { requestId: number; sink: string; events: string }): Promise<void>;
  /** This version is not tried again by itself, and is flagged for review. A newer version is tried from the start. */
  giveUpDelivery(given: {
    requestId: number;
    sink: string;
    version: number;
    error: string;
    nowMs: number;
  }): Promise<void>;
  /** The stored pause of a sink; null: it is not paused. */
  sinkPause(
    sink: string,
  ): Promise<{ readonly reason: string; sinceMs: number; probeAtMs: number; probes: number } | null>;
  /** Pauses a sink, or keeps it paused since when it is: it takes no results at the moment. */
  pauseSink(pause: NewSinkPause): Promise<void>;
  /** @param resume `wasOutage`: what failed meanwhile is due at once, and does not wait for its own retry */
  resumeSink(resume: { sink: string; nowMs: number; wasOutage: boolean }): Promise<void>;
  /** Gives up what is due at sinks that are not configured any more, also for its source. Returns how many. */
  retireSinks(nowMs: number): Promise<number>;
  /** Results that change from now on are due at these sinks; what is due at others is given up. Returns how many. */
  useSinks(sinks: readonly ResultSink[], nowMs: number): Promise<number>;
}

/** Which results a person wants delivered again: those that fit everything that is given. */
export interface Redelivery {
  readonly sink?: string | undefined;
  readonly source?: string | undefined;
  readonly orderId?: string | undefined;
  /** Results that changed last in this time, in ms; the end is not included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Only where the delivery was given up. */
  readonly givenUp?: boolean | undefined;
}

export interface SinkPauseRow {
  /** A stable name, for example `http_503` or `ECONNREFUSED`. */
  readonly reason: string;
  readonly sinceMs: number;
  readonly probeAtMs: number;
  /** How many probes have failed. */
  readonly probes: number;
}

export interface NewSinkPause extends Omit<SinkPauseRow, 'sinceMs'> {
  readonly sink: string;
  readonly message: string;
  readonly nowMs: number;
}

export interface DueDelivery {
  readonly requestId: number;
  readonly version: number;
  readonly tries: number;
  /** What `confirmEvents` has kept; null: nothing. */
  readonly confirmed: string | null;
  readonly document: ResultDocument;
  readonly ordered: OrderedEntries;
  /** The line that was bought in the place of another one, as a person said: its id by that of the other. */
  readonly boughtAs: ReadonlyMap<string, string>;
  /** Whether an earlier order has the same source and order id but for capital letters. */
  readonly sharesName: boolean;
}
