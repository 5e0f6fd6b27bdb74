import type { EntryState } from '../../core/entry/states.ts';
import type { Family } from '../../core/order/operation.ts';
import type { OutboxProgress } from '../../core/outbox-progress.ts';
import type { EntryAction } from '../../core/entry/operator-decision.ts';

/** What people decide. Each decision leaves an audit entry in the same transaction. */
export interface Operator {
  /**
   * Performs a command for one entry.
   * @throws OrderSyncError NOT_FOUND, INVALID_INPUT, REFUSED (naming the state and what is allowed)
   */
  actOnEntry(command: EntryCommand): Promise<EntryCommandResult>;
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

/** Who wants something, and why: both are kept for ever. */
export interface AuditedRequest {
  readonly actor: string;
  /** At least 3 characters. */
  readonly reason: string;
  readonly nowMs: number;
}

export interface AfterLossRequest extends AuditedRequest {
  readonly untilMs: number;
  /** How far the lost outbox had come, if that is known. */
  readonly replaced?: OutboxProgress | null;
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

export interface EntryCommandResult {
  readonly reference: string;
  readonly before: EntryState;
  readonly after: EntryState;
  /** The reference of the replacement, when the entry was re-ordered. */
  readonly newReference: string | null;
}
