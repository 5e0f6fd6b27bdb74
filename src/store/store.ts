import type { AcceptableLine, OrderRules } from '../core/order/order-request.ts';
import type { ReferencedPurchase } from '../core/order/purchase.ts';
import type { EntryState } from '../core/entry/states.ts';
import type { Family, LookedUp, Operation } from '../core/order/operation.ts';
import type { OrderAnswer, Unit } from '../core/decision/order-answer.ts';
import type { Outcome } from '../core/decision/outcome.ts';
import type { RecentVerdict } from '../core/decision/consecutive-rejections.ts';
import type { ResendVerdict } from '../core/decision/resend.ts';
import type { ResultDocument } from '../core/result/result-document.ts';
import type { ShopIdentity } from '../core/shop-identity.ts';
import type {
  RequestOutcome,
  StorefrontOrder,
  StorefrontTaken,
  CancelUnsentResult,
  WholeRequest,
} from './intake/intake-steps.ts';
import type { RecoveryStage } from '../core/decision/recovery-stage.ts';
import type { Settlement } from '../core/decision/settlement.ts';
import type { EntryCommand, EntryCommandResult, AuditedRequest } from './operator/audited-request.ts';
import type { OutboxReader } from './read/outbox-reader.ts';

/**
 * The outbox as whole business steps. Each is one transaction that is on disk when its promise resolves; a step that
 * fails leaves nothing behind. The interface is asynchronous so that a store on a server can take its place.
 */
export interface Store {
  // --- intake -------------------------------------------------------------------------------------------------
  /** Accepts lines with their references, and records what could not be accepted. One transaction. */
  acceptBatch(batch: IntakeBatch): Promise<readonly AcceptedLine[]>;
  /**
   * Accepts requests that arrived together, in one commit. Each request is accepted whole or not at all, and a failure
   * of one leaves the others as they are. Rejects only when the commit itself failed: then nothing was accepted.
   */
  acceptRequests(requests: readonly WholeRequest[]): Promise<readonly RequestOutcome[]>;
  /**
   * Takes an order back of which nothing was ever sent: all of it, or nothing when something was. Taking it back again
   * changes nothing.
   */
  cancelUnsent(order: {
    source: string;
    orderId: string;
    actor: string;
    reason: string;
    nowMs: number;
  }): Promise<CancelUnsentResult>;
  /** Takes in the state of a storefront's order as it was delivered: see `StorefrontOrder`. One transaction. */
  takeStorefrontOrder(order: StorefrontOrder): Promise<StorefrontTaken>;
  /**
   * The shops that are configured now. Called before any of their orders is taken in.
   * @throws OrderSyncError CONFIG_INVALID when a shop comes under another source than before; then nothing is remembered
   */
  adoptShops(shops: { shops: readonly ShopIdentity[]; nowMs: number }): Promise<void>;
  /**
   * Tells a person of orders that wait for being read back and were delivered before that time: what was read since did
   * not bring them. Returns how many.
   */
  flagUnreadOrders(step: { source: string; seenBeforeMs: number; nowMs: number }): Promise<number>;
  /** Tells a person of orders that wait for being read back from a shop that is not among these. */
  flagStrandedOrders(step: { sources: readonly string[]; nowMs: number }): Promise<void>;
  /** How far a storefront has been read back, by the shop's clock; null before the first time. */
  storefrontWatermark(source: string): Promise<number | null>;
  /** Everything of a storefront that was changed before that time is on disk. It never moves back by this. */
  advanceStorefrontWatermark(step: { source: string; modifiedMs: number; nowMs: number }): Promise<void>;
  /**
   * A time that is later than the present, by any clock, was told by one that was ahead when reading back began. Returns
   * whether it was.
   */
  lowerStorefrontWatermark(step: { source: string; presentMs: number; nowMs: number }): Promise<boolean>;
  /** Counts a start of a file before it is read, so that a file which kills the worker is noticed. */
  beginFile(file: { id: string; name: string; sizeBytes: number; nowMs: number }): Promise<FileRow>;
  /** The file has been read to its end: its counts, and its content hash. */
  finishFile(file: { id: string; sha256: string; nowMs: number }): Promise<FileRow>;
  /** The worker stopped in good order while it read the file: that start does not count. */
  postponeFile(id: string): Promise<void>;
  /** Nothing of the file is accepted: why. */
  rejectFile(file: { id: string; sha256: string | null; code: string; message: string; nowMs: number }): Promise<void>;
  /** The file is out of the way, in the archive. */
  archiveFile(id: string, nowMs: number): Promise<void>;
  findFile(id: string): Promise<FileRow | null>;
  rejectionsOfFile(id: string): Promise<readonly Rejection[]>;

  // --- submission ---------------------------------------------------------------------------------------------
  /** Claims the next due entry and opens its attempt, with the slots of its budget, in one transaction. */
  openAttempt(claim: AttemptClaim): Promise<OpenAttempt | null>;
  /** Closes an attempt with what it brought, settles its slots and moves its entry, in one transaction. */
  closeAttempt(close: AttemptClose): Promise<void>;
  /** Attempts that another run of the worker left open. */
  openAttemptsOfOthers(incarnationId: number): Promise<readonly OpenAttempt[]>;
  /**
   * Lets the quiet times that were stamped in another run of the machine end at `untilMono`. Without a boot id nobody
   * can tell, and all of them do.
   */
  restartSettlementDelays(restart: { untilMono: number; bootId: string | null }): Promise<void>;
  /** When something is due: a time, or null when nothing waits for one. */
  nextDueAt(step: 'send' | 'lookup'): Promise<number | null>;
  /**
   * Ends entries whose deadline passed while nothing was charged. Returns how many. What an outbox that was lost may have
   * bought is put in doubt instead, as long as there is less than `maxUnknownOutcomes` of that.
   */
  expireOverdue(nowMs: number, maxUnknownOutcomes: number): Promise<number>;
  /**
   * Makes due now what is due later than anything is ever put off: it was stamped by a wall clock that was set back since.
   * Returns how many entries and pauses.
   */
  bringForward(at: { nowMs: number; furthestMs: number }): Promise<number>;
  countUnknownOutcomes(): Promise<number>;
  /** What a lookup has found before, so that "not found" can be believed of it. */
  provenLookups(): Promise<readonly LookupProof[]>;
  proveLookup(proof: LookupProof): Promise<void>;
  /** The reference of an order that was surely bought, to try a lookup with; null while there is none. */
  boughtReference(kind: LookedUp): Promise<string | null>;
  /**
   * The slots that earlier processes used. Those that were still open, or that were stamped in another run of the
   * machine, whose monotonic clock means nothing now, count as settled at `settledMono`.
   */
  restoreSlots(restart: { settledMono: number; bootId: string | null }): Promise<readonly BudgetSlot[]>;
  /** What the server asked of each key with a 429; in another run of the machine, for as long again from now on. */
  restoreBackOffs(restart: { nowMono: number; bootId: string | null }): Promise<readonly KeyBackOff[]>;
  /** A call without an entry was turned away; that of an attempt is recorded when it is closed. */
  recordBackOff(rest: KeyBackOff, at: { nowMono: number; bootId: string | null; nowMs: number }): Promise<void>;
  /**
   * Takes up the keys of the configuration, at the start and when they change. What stands still because of a key whose
   * value changed is probed at once.
   * @throws OrderSyncError CONFIG_INVALID while running, when a value comes under another name
   */
  adoptKeys(keys: KeysInUse): Promise<KeysAdopted>;
  /** A slot for a call that belongs to no entry, such as the catalogue; returns its id. */
  takeSlot(slot: { keyName: string; nowMono: number; bootId: string | null }): Promise<number>;
  settleSlot(id: number, settledMono: number): Promise<void>;
  forgetSlots(freeBeforeMono: number, bootId: string | null): Promise<void>;

  /** The newest calls of a family that the API judged on their own merits, newest first; as many as make a row. */
  recentVerdicts(family: Family): Promise<readonly RecentVerdict[]>;

  // --- pauses -------------------------------------------------------------------------------------------------
  pauses(): Promise<readonly Pause[]>;
  openPause(pause: Omit<Pause, 'sinceMs' | 'probes'> & { nowMs: number }): Promise<void>;
  postponeProbe(scope: string, probeAtMs: number): Promise<void>;
  /** Ends a pause; the worker ends only those that have a probe. Returns whether it did. */
  endPause(scope: string, actor: string, reason: string, nowMs: number): Promise<boolean>;

  // --- people -------------------------------------------------------------------------------------------------
  /**
   * Does to one entry what a person decided, with its audit row.
   * @throws OrderSyncError NOT_FOUND, INVALID_INPUT, REFUSED (naming the state and what is allowed)
   */
  actOnEntry(action: EntryCommand): Promise<EntryCommandResult>;
  /**
   * Stops a scope until a person lets it go on; takes over a pause of the worker, and its probe with it.
   * @throws OrderSyncError INVALID_INPUT, REFUSED when a person stopped it already
   */
  pauseScope(pause: AuditedRequest & { scope: string }): Promise<void>;
  /** @throws OrderSyncError INVALID_INPUT, REFUSED when it does not stand still */
  resumeScope(resume: AuditedRequest & { scope: string }): Promise<void>;

  // --- results ------------------------------------------------------------------------------------------------
  dueDeliveries(sink: string, nowMs: number, limit: number): Promise<readonly DueDelivery[]>;
  nextDeliveryAt(sink: string): Promise<number | null>;
  closeDelivery(done: { requestId: number; sink: string; version: number; nowMs: number }): Promise<void>;
  failDelivery(failed: {
    requestId: number;
    sink: string;
    version: number;
    error: string;
    retryAtMs: number;
  }): Promise<void>;
  /** This version is not tried again by itself; a person is told. A newer version is tried from the start. */
  giveUpDelivery(given: {
    requestId: number;
    sink: string;
    version: number;
    error: string;
    nowMs: number;
  }): Promise<void>;
  /** Gives up what is due at sinks that are not configured any more. Returns how many. */
  retireSinks(nowMs: number): Promise<number>;
  /** Marks the results of an order, or of all, as due again. Returns how many. */
  redeliver(filter: { source?: string; orderId?: string }, nowMs: number): Promise<number>;

  // --- reading ------------------------------------------------------------------------------------------------
  readonly read: OutboxReader;

  // --- life ---------------------------------------------------------------------------------------------------
  beginIncarnation(run: { bootId: string | null; version: string; nowMs: number }): Promise<number>;
  endIncarnation(id: number, nowMs: number): Promise<void>;
  /** Room on the disk of the database, in bytes: an outcome that cannot be recorded must not be created. */
  freeBytes(): Promise<number>;
  /**
   * This outbox follows one that was lost, or is an older copy: what comes in until `untilMs`, and what is in it, is
   * looked up before it is sent.
   */
  beginAfterLoss(wish: AuditedRequest & { untilMs: number }): Promise<void>;
  /** Throws when the file on disk is not the one that was opened, or when it cannot be written any more. */
  checkHealth(): Promise<void>;
  close(): Promise<void>;
}

/** A lookup has found something of this kind under this path; another path has yet to. */
export interface LookupProof {
  readonly kind: LookedUp;
  readonly path: string;
}

export interface IntakeBatch {
  readonly nowMs: number;
  readonly fileId: string | null;
  readonly lines: readonly (AcceptableLine & { readonly lineNumber: number | null })[];
  readonly rejections: readonly Omit<Rejection, 'createdAtMs'>[];
}

export interface AcceptedLine {
  readonly status: 'accepted' | 'known' | 'conflict';
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  /** The reference that stands for the line now; in a conflict, that of the first content. */
  readonly reference: string;
  /** In a conflict: what differs. */
  readonly differences: readonly { field: string; was: unknown; is: unknown }[];
}

export interface Rejection {
  readonly lineNumber: number | null;
  readonly source: string | null;
  readonly orderId: string | null;
  readonly lineId: string | null;
  /** A stable name of the rule's kind, for example `invalid_field`, `unknown_field`, `conflict`. */
  readonly code: string;
  readonly field: string | null;
  readonly rule: string;
  /** The value met, cut to a limit; null when there is none. */
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

/** An entry as the submission sees it. */
export interface Entry extends ReferencedPurchase {
  readonly id: number;
  readonly generation: number;
  readonly part: number;
  readonly rules: OrderRules;
  /** The most of its variant that one order may hold, if a refusal has told. */
  readonly knownLimit: number | null;
  readonly notAfterMs: number | null;
  readonly state: EntryState;
  readonly nextStep: 'send' | 'lookup';
  readonly outcomeUnknown: boolean;
  readonly settlementDelayEndMs: number | null;
  /** The same on the monotonic clock of this run of the machine. */
  readonly settlementDelayEndMono: number | null;
  readonly recoveryStage: RecoveryStage;
  readonly attempts: number;
  readonly tries: number;
  readonly absences: number;
  readonly firstSentAtMs: number | null;
  readonly keyName: string | null;
  readonly orderNumber: string | null;
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
  readonly nowMono: number;
  readonly bootId: string | null;
  /** False while too many entries are in doubt: then only those are taken up. */
  readonly allowNew: boolean;
  /** Balances that stand still. */
  readonly pausedCurrencies: readonly string[];
  /** Operations of which nothing is sent at this moment. Absent: none. */
  readonly pausedOperations?: readonly Operation[];
  /** Renders the request of an entry that was never sent; stored with the attempt. */
  readonly render: (entry: Entry) => RenderedRequest;
  /** Judges whether the reference of an entry in doubt may be sent again now. Called within the claim. */
  readonly judgeResend: (entry: Entry, originReference: string | null) => ResendVerdict;
}

export interface OpenAttempt {
  readonly attemptId: number;
  readonly purpose: 'submit' | 'lookup';
  readonly openedAtMs: number;
  /** The entry as it was before the attempt. */
  readonly entry: Entry;
  readonly request: RenderedRequest | null;
  /** The order that an eSIM came from, for a lookup of a cancel. */
  readonly originReference: string | null;
  /** The reference of what would take the entry's place, where that is what is looked up. */
  readonly successorReference: string | null;
}

export interface AttemptClose {
  readonly attemptId: number;
  readonly entryId: number;
  readonly nowMs: number;
  readonly nowMono: number;
  readonly durationMs: number | null;
  readonly outcome: { row: string; sent: boolean; http: number | null; code: string | null; message: string };
  readonly settlement: Settlement;
  /** When the slots started to cool down; null when the call surely never left, and they are free again. */
  readonly slotsSettledMono: number | null;
  readonly bootId: string | null;
  /** A scope that stands still from now on because of this outcome, with its reason. */
  readonly pause: Omit<Pause, 'sinceMs' | 'probes'> | null;
  /** What the server asked of the key, when it turned the call away. */
  readonly rest?: KeyBackOff | null;
}

/** After a 429: how long a key is left alone, and how long its calls are spread out. On the monotonic clock. */
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
  /** `account`, `key:<name>`, `balance:<currency>` or `family:<family>`. */
  readonly scope: string;
  readonly reason: string;
  readonly message: string;
  readonly openedBy: string;
  readonly sinceMs: number;
  readonly probeAtMs: number | null;
  readonly probes: number;
}

export interface DueDelivery {
  readonly requestId: number;
  readonly version: number;
  readonly tries: number;
  readonly document: ResultDocument;
}

export type { OrderAnswer, Outcome, Unit };
