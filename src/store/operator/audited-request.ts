import type { EntryState } from '../../core/entry/states.ts';
import type { Family } from '../../core/order/operation.ts';
import type { EntryAction } from '../../core/entry/operator-decision.ts';

/** Who wants something, and why: both are kept for ever. */
export interface AuditedRequest {
  readonly actor: string;
  /** At least 3 characters. */
  readonly reason: string;
  readonly nowMs: number;
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
  /** The reference that takes its place, when it was ordered anew. */
  readonly newReference: string | null;
}
