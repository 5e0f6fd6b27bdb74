import type { EntryState } from '../../core/entry/states.ts';
import type { AcceptableLine } from '../../core/order/order-request.ts';

/** Takes in orders that arrive by file or over HTTP. */
export interface Intake {
  readonly files: OrderFiles;
  /** Accepts lines with their references, and records the lines that could not be accepted. One transaction. */
  acceptBatch(batch: IntakeBatch): Promise<readonly AcceptedLine[]>;
  /**
   * Accepts requests that arrived together, in one commit. Each request is accepted whole or not at all, and a failure
   * of one leaves the others as they are. Rejects only when the commit itself failed: then nothing was accepted.
   */
  acceptRequests(requests: readonly WholeRequest[]): Promise<readonly RequestOutcome[]>;
  /**
   * Cancels an order of which nothing was ever sent: all of it, or nothing when something was sent. Cancelling it again
   * changes nothing.
   */
  cancelUnsent(order: CancelUnsentRequest): Promise<CancelUnsentResult>;
}

/** The order files that were taken in. */
export interface OrderFiles {
  /** Counts a start of a file before it is read, so that a file which kills the worker is noticed. */
  begin(file: { id: string; name: string; sizeBytes: number; nowMs: number }): Promise<FileRow>;
  /** The file was read to its end: records its content hash and returns its counts. */
  finish(file: { id: string; sha256: string; nowMs: number }): Promise<FileRow>;
  /** The worker stopped in good order while it read the file: that start does not count. */
  postpone(id: string): Promise<void>;
  /** Nothing of the file is accepted, and this is why. */
  reject(file: { id: string; sha256: string | null; code: string; message: string; nowMs: number }): Promise<void>;
  /** The file was moved to the archive. */
  archive(id: string): Promise<void>;
  /** Another file has taken its place, with all of its rows: nothing is written back for this one. */
  replaced(id: string): Promise<void>;
  find(id: string): Promise<FileRow | null>;
  rejections(id: string): Promise<readonly Rejection[]>;
}

export interface IntakeBatch {
  readonly nowMs: number;
  readonly fileId: string | null;
  /** The separator of a CSV file: its rows are written back. Absent or null: there is no such file. */
  readonly delimiter?: string | null;
  readonly lines: readonly (AcceptableLine & { readonly lineNumber: number | null })[];
  readonly rejections: readonly Omit<Rejection, 'createdAtMs'>[];
}

export interface AcceptedLine {
  readonly status: 'accepted' | 'known' | 'conflict';
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  /** The reference of the line; in a conflict, that of the content that was accepted first. */
  readonly reference: string;
  /** In a conflict: what differs. */
  readonly differences: readonly { field: string; was: unknown; is: unknown }[];
}

/** How many lines were accepted for the first time, by source. */
export type AcceptedLines = ReadonlyMap<string, number>;

export interface Rejection {
  readonly lineNumber: number | null;
  readonly source: string | null;
  readonly orderId: string | null;
  readonly lineId: string | null;
  /** What the line names to buy, where that can be read: by it a line whose id was wrong is found again. */
  readonly product?: string | null;
  /** A stable name of the rule's kind, for example `invalid_field`, `unknown_field`, `conflict`. */
  readonly code: string;
  readonly field: string | null;
  readonly rule: string;
  /** The value that was found, cut to a limit; null when there is none. */
  readonly value: string | null;
  readonly createdAtMs: number;
}

export interface FileRow {
  readonly id: string;
  readonly name: string;
  readonly state: 'claimed' | 'ingesting' | 'ingested' | 'archived' | 'rejected';
  readonly sha256: string | null;
  readonly starts: number;
  readonly acceptedCount: number;
  readonly knownCount: number;
  readonly conflictCount: number;
  readonly rejectedCount: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/** One request as it was sent: all of its orders are accepted, or none. */
export interface WholeRequest {
  readonly nowMs: number;
  readonly lines: IntakeBatch['lines'];
}

export type RequestOutcome =
  | { readonly kind: 'accepted'; readonly orders: readonly AcceptedOrder[] }
  | { readonly kind: 'conflict'; readonly conflicts: readonly OrderConflict[] }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface AcceptedOrder {
  /** `known`: the whole order was accepted before, with the same content. */
  readonly status: 'accepted' | 'known';
  readonly requestId: number;
  readonly source: string;
  readonly orderId: string;
  readonly lines: readonly { readonly lineId: string; readonly reference: string }[];
}

/** The differences between an order that was accepted before and the one that was sent now. */
export interface OrderConflict {
  readonly source: string;
  readonly orderId: string;
  readonly lines: readonly {
    readonly lineId: string;
    /** The reference that the line was accepted under; null for a line that was not part of the order. */
    readonly reference: string | null;
    readonly differences: AcceptedLine['differences'];
  }[];
}

export interface CancelUnsentRequest {
  readonly source: string;
  readonly orderId: string;
  readonly actor: string;
  readonly reason: string;
  readonly nowMs: number;
}

export type CancelUnsentResult =
  | { readonly kind: 'not_found' }
  /** `cancelled` counts the entries that this call cancelled. */
  | { readonly kind: 'cancelled'; readonly requestId: number; readonly cancelled: number }
  | {
      readonly kind: 'refused';
      readonly requestId: number;
      readonly lines: readonly { readonly lineId: string; readonly reference: string; readonly state: EntryState }[];
    };
