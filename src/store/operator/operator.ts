import type { EntryState } from '../../core/entry/states.ts';
import type { Family } from '../../core/order/purchase.ts';
import type { AfterLossRequest } from '../submission/after-loss.ts';
import type { AuditedRequest } from '../sqlite/audit.ts';
import type { AcceptableLine } from '../../core/order/order-request.ts';
import type { AcceptedLine } from '../intake/accept-batch.ts';
import type { Redelivery } from '../results/redelivery.ts';
import type { AttentionFilter } from '../read/attention.ts';
import type { BulkAction, BulkFilter } from '../../core/operator/operator-command.ts';
import type { EntryAction } from '../../core/operator/operator-decision.ts';

/** The decisions of people. Each decision leaves an audit entry in the same transaction. */
export interface Operator {
  /**
   * Performs a command for one entry.
   * @throws OrderSyncError NOT_FOUND, INVALID_INPUT, REFUSED (naming the state and what is allowed)
   */
  actOnEntry(command: EntryCommand): Promise<EntryCommandResult>;
  /**
   * Performs a command for some entries in one step, each as `actOnEntry` does, with its own audit entry. An entry that does
   * not fit the filter any more, or that refuses the command, is left as it is and reported.
   * @throws OrderSyncError INVALID_INPUT
   */
  actInBulk(command: BulkCommand): Promise<BulkResult>;
  /**
   * Orders a line of a shop that was flagged because of its SKU, and of which nothing was bought.
   * @throws OrderSyncError INVALID_INPUT, NOT_FOUND, REFUSED when the shop's order has another line there now
   */
  takeFlagged(request: TakeFlaggedRequest): Promise<AcceptedLine>;
  /**
   * Ends rows of the attention list in which nothing is open any more: those with these ids, or the next ones that a
   * filter finds. All in one step, each with its audit entry.
   * @throws OrderSyncError INVALID_INPUT
   */
  acknowledge(request: AcknowledgeRequest): Promise<Acknowledged>;
  /**
   * Has results delivered again, some in one step. Nothing is bought.
   * @returns how many are due now, and where the next step continues; null: there is none
   * @throws OrderSyncError INVALID_INPUT
   */
  redeliver(
    request: AuditedRequest & { which: Redelivery; afterId: number },
  ): Promise<{ readonly due: number; readonly nextId: number | null }>;
  /**
   * Pauses a scope until a person resumes it. Takes over a pause of the worker, which no probe ends then.
   * @throws OrderSyncError INVALID_INPUT, REFUSED when a person paused it already
   */
  pauseScope(pause: AuditedRequest & { scope: string }): Promise<void>;
  /** @throws OrderSyncError INVALID_INPUT, REFUSED when it is not paused */
  resumeScope(resume: AuditedRequest & { scope: string }): Promise<void>;
  /**
   * This outbox replaces one that was lost, or is an older copy of it: the worker looks up every open entry, and every
   * entry that arrives until `untilMs`, before it sends it.
   */
  beginAfterLoss(request: AfterLossRequest): Promise<void>;
}

/** At most this many rows are acknowledged in one step. */
export const acknowledgedAtOnce = 1000;

export interface TakeFlaggedRequest extends AuditedRequest {
  /** Names the flag in the attention list. */
  readonly id: string;
  readonly line: AcceptableLine;
}

export interface AcknowledgeRequest extends AuditedRequest {
  readonly which: Pick<AttentionFilter, 'ids' | 'code' | 'source' | 'beforeMs'>;
}

export interface Acknowledged {
  /** The ids of the rows that left the list. */
  readonly acknowledged: readonly string[];
  /** The named ids that cannot be acknowledged. */
  readonly refused: readonly {
    readonly id: string;
    readonly code: 'REFUSED' | 'NOT_FOUND';
    readonly message: string;
    /** The next step of the person. */
    readonly hint: string;
  }[];
}

export interface EntryCommand extends AuditedRequest {
  readonly reference: string;
  readonly order: EntryAction;
  /** The clock of the machine, and the run of it in which that means something. */
  readonly nowMono: number;
  readonly bootId: string | null;
  /** After this long since the first send a reference is not sent again, in ms. */
  readonly referenceExpiryMs: number;
  /** Families whose orders the API can be asked for. */
  readonly lookupFamilies: readonly Family[];
}

/** The same action for at most `mostInStep` entries that a filter found. */
export interface BulkCommand extends Omit<EntryCommand, 'reference' | 'order'> {
  readonly references: readonly string[];
  readonly order: BulkAction;
  readonly which: BulkFilter;
}

export interface BulkResult {
  readonly changed: readonly string[];
  readonly refused: readonly {
    readonly reference: string;
    readonly message: string;
    /** The next step of the person. */
    readonly hint: string;
  }[];
}

export interface EntryCommandResult {
  readonly reference: string;
  readonly before: EntryState;
  readonly after: EntryState;
  /** The reference of the replacement, when the entry was re-ordered. */
  readonly newReference: string | null;
}
