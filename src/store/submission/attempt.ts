import type { ResendVerdict } from '../../core/decision/resend.ts';
import type { Settlement } from '../../core/decision/settlement.ts';
import type { Evidence, JudgedPause, ProductRecord, ScopeChanges } from '../../core/scopes/judge-call.ts';
import type { Entry } from '../sqlite/rows.ts';
import type { NewPause } from './pauses.ts';

export interface RenderedRequest {
  readonly method: string;
  readonly path: string;
  /** The exact body bytes as text, or null for none. */
  readonly body: string | null;
  /** Those of the mapping. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AttemptClaim {
  readonly step: 'send' | 'lookup';
  readonly keyName: string;
  /** The value of the key. Absent: nobody asks which account it is of. */
  readonly keyValue?: string;
  readonly incarnationId: number;
  readonly nowMs: number;
  /** The latest time that it may be now: nothing is sent whose deadline may have passed. Default: `nowMs`. */
  readonly latestMs?: number;
  readonly nowMono: number;
  readonly bootId: string | null;
  /** Unknown outcomes and spending calls under way, in all: nothing new is opened while there are so many. */
  readonly maxUnknownOutcomes: number;
  /** What is known about products. Absent: all were bought, and none failed. */
  readonly products?: Pick<ProductRecord, 'wasBought' | 'isProven' | 'isSound' | 'isSuspect' | 'lastPurchase'>;
  /** The paused scopes whose trial order may be sent now. */
  readonly trials: readonly string[];
  /** Paused families and balances whose trial may be sent before its time if it is of a product that has not failed there. */
  readonly openToOtherProducts?: readonly string[];
  /** Which orders of shops are read again before they are bought. Absent: none. */
  readonly rechecks?: RecheckRule;
  /** Renders the request of an entry that was never sent; stored with the attempt. */
  readonly render: (entry: Entry) => RenderedRequest;
  /** Judges whether the reference of an entry of unknown outcome may be sent again now. Called within the claim. */
  readonly judgeResend: (
    entry: Entry,
    originReference: string | null,
    isPaused: boolean,
    /** Its key buys nothing any more, and still looks up what was sent with it. */
    isSenderAsked: boolean,
  ) => ClaimVerdict;
}

/** Which orders of shops are read again before a line of them is sent. Called within the claim. */
export interface RecheckRule {
  /**
   * How old the known state of an order of this source may be, in ms; null: it is not read again. -Infinity: nothing of the
   * source is sent yet.
   */
  readonly maxAgeMs: (source: string) => number | null;
  /** An entry of this source waits until its order was read again. */
  readonly onDelayed: (source: string) => void;
}

/** The step of a claim for an entry of unknown outcome; `wait`: its scope is paused, and no lookup can settle it. */
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
  /** The key may be of another account than the one that sent the entry: "not found" proves nothing. */
  readonly mayBeOtherAccount?: boolean;
  /** The paused scopes whose trial order this is. */
  readonly trialOf: readonly string[];
}

/** The evidence and pauses of the scopes of a call that is over. */
export interface ScopeFindings {
  readonly evidence: readonly Evidence[];
  readonly pauses: readonly JudgedPause[];
}

/** The changes of scopes after a call. */
export interface ScopeChange extends Pick<ScopeChanges, 'forget' | 'remember' | 'end'> {
  readonly open: readonly Omit<NewPause, 'nowMs'>[];
  readonly postpone: readonly { scope: string; probeAtMs: number }[];
}

/** After a 429: until when a key backs off, and until when its calls are throttled. On the monotonic clock. */
export interface KeyBackOff {
  readonly keyName: string;
  readonly blockedUntilMono: number;
  readonly throttledUntilMono: number;
  readonly throttleLengthMs: number;
  /** For how long 429s have come although the budget allowed the calls; unexplained: somebody else uses the key. */
  readonly surprise?: { readonly forMs: number; readonly isUnexplained: boolean };
}

export interface AttemptClose {
  readonly attemptId: number;
  readonly entryId: number;
  readonly nowMs: number;
  readonly nowMono: number;
  readonly durationMs: number | null;
  readonly outcome: {
    row: string;
    sent: boolean;
    http: number | null;
    code: string | null;
    message: string;
    kept?: string | null;
  };
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
