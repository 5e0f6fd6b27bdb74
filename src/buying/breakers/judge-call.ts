import type { NewPause } from '../../store/entries/pauses.ts';
import { decisionTable } from '../decision/decision-table.ts';
import { type OutcomeRow, verdictRows } from '../../core/answers/outcome.ts';
import {
  evidenceReasons,
  evidenceRule,
  evidenceRules,
  neverLeftRows,
  unansweredRows,
  type ClearedBy,
  type EvidenceReason,
} from './evidence.ts';
import type { EntryScopes } from '../../core/order/scope.ts';

/** One call that is over, as far as it says something about a scope. */
export interface EndedCall {
  readonly entryId: number;
  readonly purpose: 'submit' | 'lookup';
  readonly scopes: EntryScopes;
  /** Whether it names an eSIM that the customer has: a top-up or a cancel. */
  readonly namesEsim: boolean;
  readonly row: OutcomeRow;
  readonly message: string;
  /** Whether an HTTP answer came, from whomever. */
  readonly isAnswered: boolean;
  /** It showed that the API has accepted the order. */
  readonly isAccepted: boolean;
  /** It was denied, as an order of the product was before, and others were accepted between. */
  readonly isDeniedAlone: boolean;
  /** It was accepted, and not delivered because of fields that were not read. */
  readonly isUnread: boolean;
  /** It was the last of the lookups that prove that the order did not arrive. */
  readonly isProvenAbsent: boolean;
  /** The refusal that this lookup has confirmed; null: none. */
  readonly confirmed: OutcomeRow | null;
  /** The paused scopes whose trial order this was. */
  readonly trialOf: readonly string[];
  /** When the call ended, on the monotonic clock. */
  readonly endedMs: number;
}

export interface Evidence {
  readonly scope: string;
  readonly reason: EvidenceReason;
  readonly entryId: number;
  readonly product: string | null;
}

/** A paused scope, as far as its end depends on calls. */
export interface JudgedPause {
  readonly scope: string;
  readonly reason: string;
  readonly openedBy: string;
  readonly probes: number;
  /** When it is tried next, in ms. */
  readonly probeAtMs: number | null;
}

export interface JudgeInput {
  readonly call: EndedCall;
  /** The evidence against the scopes of the call until now. */
  readonly evidence: readonly Evidence[];
  readonly pauses: readonly JudgedPause[];
  readonly products: {
    isProven(product: string): boolean;
    boughtLately(steadyMs: number): boolean;
  };
  /** How often a scope was probed before its last pause ended; 0 where that was long ago. */
  readonly probesBefore: (scope: string) => number;
}

/** The changes after one call. The store writes it in the transaction that closes the call. */
export interface ScopeChanges {
  readonly forget: readonly Pick<Evidence, 'scope' | 'reason'>[];
  readonly remember: readonly Evidence[];
  readonly open: readonly {
    scope: string;
    reason: EvidenceReason;
    message: string;
    probes: number;
  }[];
  /** Pauses of which this call was a trial that failed. */
  readonly postpone: readonly JudgedPause[];
  readonly end: readonly { scope: string; why: string }[];
}

/** The evidence and pauses of the scopes of a call that is over. */
export interface ScopeFindings {
  readonly evidence: readonly Evidence[];
  readonly pauses: readonly JudgedPause[];
}

/** The same, as they are recorded. */
export interface ScopeChange extends Pick<ScopeChanges, 'forget' | 'remember' | 'end'> {
  readonly open: readonly Omit<NewPause, 'nowMs'>[];
  readonly postpone: readonly { scope: string; probeAtMs: number }[];
}

/** The reason that a call is a sign of, if any. */
function evidenceOf(call: EndedCall): EvidenceReason | null {
  if (call.isProvenAbsent) return 'order_absent';
  if (call.isUnread) return 'unread_fields';
  if (call.isDeniedAlone) return 'product_denied';
  const isLookup = call.purpose === 'lookup';
  if (isLookup && neverLeftRows.has(call.row)) return 'api_unreachable';
  const row = isLookup ? call.confirmed : call.row;
  const reason = evidenceReasons.find((it) => evidenceRule(it)?.rows.some((one) => one === row));
  // The eSIM that an order names may be why it is refused.
  const isSignOf = reason === 'product_refused' ? !call.namesEsim : !isLookup;
  return isSignOf ? (reason ?? null) : null;
}

function hasCleared({ call, evidence }: JudgeInput, reason: EvidenceReason): boolean {
  const by: ClearedBy = evidenceRules[reason].clearedBy;
  // An order that is found says nothing about the goods of another one.
  const isOther =
    reason === 'answer_mismatch' &&
    call.purpose === 'lookup' &&
    evidence.some((it) => it.reason === reason && it.entryId !== call.entryId);
  if (call.isAccepted) return !isOther;
  switch (by) {
    case 'accepted':
      return false;
    case 'verdict':
      return call.purpose === 'submit' && verdictRows.has(call.row);
    case 'answer':
      return call.isAnswered && !unansweredRows.has(call.row);
  }
}

function scopesCounted(
  reason: EvidenceReason,
  { product, family, balance }: EntryScopes,
): readonly string[] {
  const { scope, familyEntries } = evidenceRules[reason];
  const own = scope === 'account' ? 'account' : scope === 'balance' ? balance : product;
  return [...(own === null ? [] : [own]), ...(familyEntries === null ? [] : [family])];
}

/**
 * Judges what one call shows about its scopes. Pure. Evidence counts for the narrowest scope that
 * explains it; the family is paused only when the evidence comes from two products at least.
 */
export function judgeCall(input: JudgeInput): ScopeChanges {
  const { call, pauses } = input;
  const sign = evidenceOf(call);
  // A refusal counts when a lookup has confirmed it.
  const reason = sign === 'product_refused' && call.purpose === 'submit' ? null : sign;
  const cleared = evidenceReasons.filter((it) => it !== reason && hasCleared(input, it));
  const clears = (pause: JudgedPause): boolean =>
    pause.openedBy === 'worker' &&
    (cleared.some((it) => it === pause.reason) || isPassedTrial(call, pause));
  const end = pauses.filter(clears).map(({ scope }) => ({ scope, why: whyItEnds(call) }));
  const forget = cleared.flatMap((it) =>
    scopesCounted(it, call.scopes).map((scope) => ({ scope, reason: it })),
  );
  const remember = reason === null ? [] : newEvidence(input, reason);
  return {
    forget,
    remember,
    open: reason === null ? [] : opened(input, reason, remember),
    postpone: pauses.filter(
      (it) => call.trialOf.includes(it.scope) && !clears(it) && hasFailed(input, it),
    ),
    end,
  };
}

const whyItEnds = ({ isAccepted, row }: EndedCall): string =>
  isAccepted ? 'an order was accepted' : `the API answered (${row})`;

/**
 * Whether a trial has failed: it brought the same evidence again, or nobody knows yet what became
 * of it. After anything else, such as an order that is out of stock, nothing was bought and the
 * next order is the trial.
 */
function hasFailed(input: JudgeInput, { scope, reason }: JudgedPause): boolean {
  const { call } = input;
  if (scope === 'account' || decisionTable[call.row].clean.verdict === 'unknown') return true;
  return evidenceOf(call) === reason && !isOnlyOfEsim(input);
}

/**
 * Whether a 404 says nothing against a product: the eSIM that the order names may be unknown, and
 * the product was bought. Otherwise mistyped ICCIDs of some customers would pause a plan for all.
 */
function isOnlyOfEsim({ call, products }: JudgeInput): boolean {
  const { product } = call.scopes;
  return (
    call.row === 'not_found_unexpected' &&
    call.namesEsim &&
    product !== null &&
    products.isProven(product)
  );
}

/** Whether the call was the trial of a scope that the API denied, and the API judged it. */
function isPassedTrial(call: EndedCall, pause: JudgedPause): boolean {
  if (!call.trialOf.includes(pause.scope) || evidenceRule(pause.reason) !== null) return false;
  return call.isAccepted || verdictRows.has(call.row);
}

/**
 * Whether a call says anything about a scope. A product that was never bought says nothing against
 * the account while others are.
 */
function isSign(input: JudgeInput, scope: string): boolean {
  const { call, products } = input;
  const { product } = call.scopes;
  if (isOnlyOfEsim(input)) return false;
  if (scope !== 'account' || product === null || neverLeftRows.has(call.row)) return true;
  return products.isProven(product) || !products.boughtLately(call.endedMs);
}

function newEvidence(input: JudgeInput, reason: EvidenceReason): readonly Evidence[] {
  const { call, evidence } = input;
  const { entryId } = call;
  return scopesCounted(reason, call.scopes)
    .filter((scope) => isSign(input, scope))
    .filter(
      (scope) =>
        !evidence.some(
          (it) => it.scope === scope && it.reason === reason && it.entryId === entryId,
        ),
    )
    .map((scope) => ({ scope, reason, entryId, product: call.scopes.product }));
}

/**
 * Whether an entry has failed again, and nothing of it left this time. It cannot be the cause of
 * that, so nobody waits for other entries to fail: there may be no others for days.
 */
function failedAgain({ row, entryId }: EndedCall, evidence: readonly Evidence[]): boolean {
  return (
    neverLeftRows.has(row) &&
    evidence.some((it) => it.reason === 'api_unreachable' && it.entryId === entryId)
  );
}

function opened(
  input: JudgeInput,
  reason: EvidenceReason,
  remember: readonly Evidence[],
): ScopeChanges['open'] {
  const { call, evidence, pauses, probesBefore } = input;
  const { entries, familyEntries } = evidenceRules[reason];
  return scopesCounted(reason, call.scopes).flatMap((scope) => {
    const counted = [...evidence, ...remember].filter(
      (it) => it.scope === scope && it.reason === reason,
    );
    const products = new Set(counted.flatMap((it) => it.product ?? [])).size;
    const isFamily = scope === call.scopes.family;
    const needed = isFamily ? (familyEntries ?? Number.POSITIVE_INFINITY) : entries;
    const isEnough =
      counted.length >= needed || (reason === 'api_unreachable' && failedAgain(call, evidence));
    if (!isEnough || (isFamily && products < 2) || !isSign(input, scope)) return [];
    if (pauses.some((pause) => pause.scope === scope)) return [];
    const of = isFamily ? ` of ${products} products` : '';
    const message = `${counted.length} ${counted.length === 1 ? 'entry' : 'entries in a row'}${of}: ${call.message}`;
    // A balance resumes when it has paid an order, or by an operator: it is tried soon again.
    const probes = scope === call.scopes.balance ? 0 : probesBefore(scope);
    return [{ scope, reason, message, probes }];
  });
}

/**
 * How long until a paused scope is tried, in ms, before jitter and scale.
 * @param probes how often it was tried
 */
export function trialDelayMs(rule: { firstMs: number; maxMs: number }, probes: number): number {
  return Math.min(rule.maxMs, rule.firstMs * 2 ** Math.min(probes, 20));
}
