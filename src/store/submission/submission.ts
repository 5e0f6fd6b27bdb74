import type { Unit } from '../../core/answers/order-answer.ts';
import type { ResendVerdict } from '../../core/decision/resend.ts';
import type { Settlement } from '../../core/decision/settlement.ts';
import type { EntryState, RecoveryStage } from '../../core/entry/states.ts';
import type { LookedUp, Operation } from '../../core/order/operation.ts';
import type { OrderRules } from '../../core/order/order-request.ts';
import type { ReferencedPurchase } from '../../core/order/purchase.ts';
import type { Evidence, JudgedPause, ScopeChanges } from '../../core/scopes/judge-call.ts';

/** Claims due entries and records what their calls led to. */
export interface Submission {
  readonly budget: StoredBudget;
  readonly pauses: StoredPauses;
  readonly lookups: LookupProofs;
  /** Claims the next due entry and opens its attempt, with the slots of its budget, in one transaction. */
  openAttempt(claim: AttemptClaim): Promise<OpenAttempt | null>;
  /**
   * Closes an attempt with its outcome, settles its slots, moves its entry and changes the paused scopes, in one
   * transaction. Returns whether a pause was opened, postponed or ended.
   */
  closeAttempt(close: AttemptClose): Promise<{ pausesChanged: boolean }>;
  /** The connector of this run, by its hash: until an order was fulfilled under it, few orders of a family are open. */
  adoptConnector(connector: string): Promise<void>;
  /** Attempts that another run of the worker left open. */
  openAttemptsOfOthers(incarnationId: number): Promise<readonly OpenAttempt[]>;
  /**
   * Lets the settlement delays that were stamped in another run of the machine end at `untilMono`. Without a boot id
   * every stamp may be of another run, and all of them end then.
   */
  restartSettlementDelays(restart: { untilMono: number; bootId: string | null }): Promise<void>;
  /** When the next entry is due: a time, or null when none is waiting for one. */
  nextDueAt(step: 'send' | 'lookup', nowMs: number): Promise<number | null>;
  /**
   * Ends entries whose deadline had passed at `nowMs` while nothing was charged. Returns how many. An entry that an outbox which was
   * lost may have bought becomes `unknown` instead, while fewer than `maxUnknownOutcomes` are.
   */
  expireOverdue(nowMs: number, maxUnknownOutcomes: number): Promise<number>;
  /**
   * An entry that would be among the next to be sent and for which no call was ever made, with an id of `upToEntry` at most.
   * Null if there is none, or if it is looked up before it is sent anyway.
   */
  oldestUnsent(upToEntry: number): Promise<{ reference: string; operation: Operation } | null>;
}

/** The slots that calls hold, and the back-off of each key. */
export interface StoredBudget {
  /**
   * The slots that earlier processes used. Those that were still open, or that were stamped in another run of the
   * machine, whose monotonic clock means nothing now, count as settled at `settledMono`.
   */
  restoreSlots(restart: { settledMono: number; bootId: string | null }): Promise<readonly BudgetSlot[]>;
  /** A slot for a call that belongs to no entry, such as the catalogue; returns its id. */
  takeSlot(slot: { keyName: string; nowMono: number; bootId: string | null }): Promise<number>;
  settleSlot(id: number, settledMono: number): Promise<void>;
  forgetSlots(freeBeforeMono: number, bootId: string | null): Promise<void>;
  /** The back-off of each key after a 429; in another run of the machine, for its full length again from now on. */
  restoreBackOffs(restart: { nowMono: number; bootId: string | null }): Promise<readonly KeyBackOff[]>;
  /** A call without an entry was rate-limited; the back-off after an attempt is recorded when the attempt is closed. */
  recordBackOff(backOff: KeyBackOff, at: { nowMono: number; bootId: string | null; nowMs: number }): Promise<void>;
  /**
   * Records the keys of the configuration, at the start and when they change. Pauses that a changed value may end are
   * probed at once.
   * @throws OrderSyncError CONFIG_INVALID while running, when a value comes under another name
   */
  adoptKeys(keys: KeysInUse): Promise<KeysAdopted>;
}

/** The pauses that the worker opens and ends; people do so by `Operator`. */
export interface StoredPauses {
  all(): Promise<readonly Pause[]>;
  open(pause: NewPause): Promise<void>;
  postponeProbe(scope: string, probeAtMs: number): Promise<void>;
  /** The API answered a call that belongs to no attempt: earlier calls without an answer count no more. */
  answered(): Promise<void>;
  /** Ends a pause that no person opened. Returns whether it did. */
  end(scope: string, reason: string, nowMs: number): Promise<boolean>;
}

/** Which lookup paths have found an order before: only then is "not found" believed. */
export interface LookupProofs {
  proven(): Promise<readonly LookupProof[]>;
  prove(proof: LookupProof): Promise<void>;
  /** The reference of an order that was surely bought, to try a lookup with; null while there is none. */
  boughtReference(kind: LookedUp): Promise<string | null>;
}

/** A lookup has found an order of this kind under this path. */
export interface LookupProof {
  readonly kind: LookedUp;
  readonly path: string;
}

/** An entry as the submission sees it. */
export interface Entry extends ReferencedPurchase {
  readonly id: number;
  readonly generation: number;
  readonly part: number;
  readonly rules: OrderRules;
  /** The most of its variant that one order may hold, as far as a rejection has shown. Null: not known. */
  readonly knownLimit: number | null;
  readonly notAfterMs: number | null;
  readonly state: EntryState;
  readonly nextStep: 'send' | 'lookup';
  readonly outcomeUnknown: boolean;
  readonly settlementDelayEndMs: number | null;
  /** The same end, on the monotonic clock of this run of the machine. */
  readonly settlementDelayEndMono: number | null;
  readonly recoveryStage: RecoveryStage;
  readonly attempts: number;
  readonly tries: number;
  readonly absences: number;
  readonly firstSentAtMs: number | null;
  readonly keyName: string | null;
  readonly orderNumber: string | null;
  /** The units that its answers delivered so far. */
  readonly units: readonly Unit[];
  readonly outcomeRow: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly errorBuffered: boolean;
  readonly createdAtMs: number;
}

export interface RenderedRequest {
  readonly method: string;
  readonly path: string;
  /** The exact body bytes as text, or null for none. */
  readonly body: string | null;
}

export interface AttemptClaim {
  readonly step: 'send' | 'lookup';
  readonly keyName: string;
  readonly incarnationId: number;
  readonly nowMs: number;
  /** The latest time that it may be now: nothing is sent whose deadline may have passed. Default: `nowMs`. */
  readonly latestMs?: number;
  readonly nowMono: number;
  readonly bootId: string | null;
  /** Unknown outcomes and spending calls under way, in all: nothing new is opened while there are so many. */
  readonly maxUnknownOutcomes: number;
  /** Whether the last order of a product was bought, by its scope. */
  readonly isProvenProduct: (product: string) => boolean;
  /** The paused scopes whose trial order may be sent now. */
  readonly trials: readonly string[];
  /** Paused families and balances whose trial may be sent before its time if it is of a product that has not failed there. */
  readonly earlyTrials?: readonly string[];
  /** Which orders of shops are read again before they are bought. Absent: none. */
  readonly rechecks?: RecheckRule;
  /** Renders the request of an entry that was never sent; stored with the attempt. */
  readonly render: (entry: Entry) => RenderedRequest;
  /** Judges whether the reference of an entry of unknown outcome may be sent again now. Called within the claim. */
  readonly judgeResend: (entry: Entry, originReference: string | null, isPaused: boolean) => ClaimVerdict;
}

/** Which orders of shops are read again before a line of them is sent. Called within the claim. */
export interface RecheckRule {
  /** How old the known state of an order of this source may be, in ms; null: it is not read again. */
  readonly maxAgeMs: (source: string) => number | null;
  /** An entry of this source waits until its order was read again. */
  readonly onDelayed: (source: string) => void;
}

/** What a claim does with an entry of unknown outcome; `wait`: its scope is paused, and no lookup can settle it. */
export type ClaimVerdict = ResendVerdict | { readonly step: 'wait' };

export interface OpenAttempt {
  readonly attemptId: number;
  readonly purpose: 'submit' | 'lookup';
  readonly openedAtMs: number;
  /** On the clock that nobody sets; null: it was opened by an earlier process. */
  readonly openedMono: number | null;
  /** The entry as it was before the attempt. */
  readonly entry: Entry;
  readonly request: RenderedRequest | null;
  /** The order that an eSIM came from, for a lookup of a cancel. */
  readonly originReference: string | null;
  /** The reference of the entry's replacement, where that is what is looked up. */
  readonly successorReference: string | null;
  /** The paused scopes whose trial order this is. */
  readonly trialOf: readonly string[];
}

/** What is known about the scopes of a call that is over. */
export interface ScopeFindings {
  readonly evidence: readonly Evidence[];
  readonly pauses: readonly JudgedPause[];
}

/** What a call that is over changes about its scopes. */
export interface ScopeChange extends Pick<ScopeChanges, 'forget' | 'remember' | 'end'> {
  readonly open: readonly Omit<NewPause, 'nowMs'>[];
  readonly postpone: readonly { scope: string; probeAtMs: number }[];
}

export interface AttemptClose {
  readonly attemptId: number;
  readonly entryId: number;
  readonly nowMs: number;
  readonly nowMono: number;
  readonly durationMs: number | null;
  readonly outcome: { row: string; sent: boolean; http: number | null; code: string | null; message: string };
  readonly settlement: Settlement;
  /** When the window of the slots began; null when the call surely never left, and they are free again. */
  readonly slotsSettledMono: number | null;
  readonly bootId: string | null;
  /** A key or the account, paused from now on because this outcome denies it. */
  readonly pause: Omit<NewPause, 'nowMs'> | null;
  /** Judges the scopes of the call. Called inside the transaction. Absent: they are not judged. */
  readonly scopes?: { readonly judged: readonly string[]; readonly judge: (found: ScopeFindings) => ScopeChange };
  /** The back-off of the key, when the call was rate-limited. */
  readonly backOff?: KeyBackOff | null;
}

/** After a 429: until when a key backs off, and until when its calls are throttled. On the monotonic clock. */
export interface KeyBackOff {
  readonly keyName: string;
  readonly blockedUntilMono: number;
  readonly throttledUntilMono: number;
  readonly throttleLengthMs: number;
}

export interface KeysInUse {
  readonly keys: readonly { readonly name: string; readonly value: string }[];
  readonly nowMs: number;
  /** Calls may be open: a value must keep its name. */
  readonly whileRunning: boolean;
}

export interface KeysAdopted {
  /** Names that have another value than before. */
  readonly replaced: readonly string[];
}

export interface BudgetSlot {
  readonly keyName: string;
  readonly limitName: 'requests' | 'orders';
  readonly settledMono: number;
}

export interface Pause {
  /** The text of a scope; see `core/scopes/scope.ts`. */
  readonly scope: string;
  readonly reason: string;
  readonly message: string;
  readonly openedBy: string;
  readonly sinceMs: number;
  readonly probeAtMs: number | null;
  readonly probes: number;
}

/** A pause that is opened now. */
export type NewPause = Omit<Pause, 'sinceMs' | 'probes'> & {
  readonly nowMs: number;
  /** How often it was probed before it ended the last time; the delays continue from there. Absent: never. */
  readonly probes?: number;
};
