import { decisionTable } from '../decision/decision-table.ts';
import type { OutcomeRow } from '../answers/outcome.ts';
import {
  evidenceReasons,
  evidenceRule,
  evidenceRules,
  neverLeftRows,
  unansweredRows,
  verdictRows,
  type ClearedBy,
  type EvidenceReason,
} from './evidence.ts';
import type { EntryScopes } from './scope.ts';

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
  /** It was accepted, and not delivered because of fields that were not read. */
  readonly isUnread: boolean;
  /** It was the last of the lookups that prove that the order did not arrive. */
  readonly isProvenAbsent: boolean;
  /** The paused scopes whose trial order this was. */
  readonly trialOf: readonly string[];
  /** When the order that is looked up was sent last, and when the call ended. */
  readonly sentMono: number;
  readonly endedMono: number;
}

/** One entry that counts against a scope. */
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

/** What the orders of products have shown. Products are named by their scopes; times are monotonic, in ms. */
export interface ProductRecord {
  /** Whether an order of the product was ever accepted, as far as it is remembered. */
  wasBought(product: string): boolean;
  /** The same of any product of a family. */
  hasBought(family: string): boolean;
  /** Whether its last order was bought, by this worker. */
  isProven(product: string): boolean;
  /** Whether it was bought, and has not failed since. */
  isSound(product: string): boolean;
  /** Higher for a sound product that was bought later, 1 if an order was refused since; 0 for one that is not sound. */
  lastPurchase(product: string): number;
  /** Whether it is not sound, and several products like that failed in a row. */
  isSuspect(product: string): boolean;
  /** Whether an order of the family, or of `account`, was accepted since. */
  acceptedSince(scope: string, sinceMono: number): boolean;
  boughtLately(scope: string, nowMono: number): boolean;
}

export interface JudgeInput {
  readonly call: EndedCall;
  /** The evidence against the scopes of the call until now. */
  readonly evidence: readonly Evidence[];
  /** The pauses of these scopes. */
  readonly pauses: readonly JudgedPause[];
  readonly products: Pick<ProductRecord, 'wasBought' | 'hasBought' | 'acceptedSince' | 'boughtLately'>;
  /** How often a scope was probed before its last pause ended; 0 where that was long ago. */
  readonly probesBefore: (scope: string) => number;
}

/** The changes after one call. The store writes it in the transaction that closes the call. */
export interface ScopeChanges {
  readonly forget: readonly Pick<Evidence, 'scope' | 'reason'>[];
  readonly remember: readonly Evidence[];
  readonly open: readonly { scope: string; reason: EvidenceReason; message: string; probes: number }[];
  /** Pauses of which this call was a trial that failed. */
  readonly postpone: readonly JudgedPause[];
  readonly end: readonly { scope: string; why: string }[];
}

/** The reason that a call counts for, if any, and the scopes on which it counts. */
function evidenceOf(call: EndedCall): EvidenceReason | null {
  if (call.isProvenAbsent) return 'order_absent';
  if (call.isUnread) return 'unread_fields';
  if (call.purpose === 'lookup') return neverLeftRows.has(call.row) ? 'api_unreachable' : null;
  return evidenceReasons.find((reason) => evidenceRule(reason)?.rows.includes(call.row)) ?? null;
}

function hasCleared(call: EndedCall, by: ClearedBy): boolean {
  if (call.isAccepted) return true;
  switch (by) {
    case 'accepted':
      return false;
    case 'verdict':
      return call.purpose === 'submit' && verdictRows.has(call.row);
    case 'answer':
      return call.isAnswered && !unansweredRows.has(call.row);
  }
}

function scopesCounted(reason: EvidenceReason, { product, family, balance }: EntryScopes): readonly string[] {
  const { scope, familyEntries } = evidenceRules[reason];
  const own = scope === 'account' ? 'account' : scope === 'balance' ? balance : product;
  return [...(own === null ? [] : [own]), ...(familyEntries === null ? [] : [family])];
}

/** Every scope that a call can say something about. */
export function scopesJudged({ product, family, balance }: EntryScopes): readonly string[] {
  return [...(product === null ? [] : [product]), family, ...(balance === null ? [] : [balance]), 'account'];
}

/**
 * Judges what one call shows about its scopes. Pure. Evidence counts for the narrowest scope that explains it; the family
 * is paused only when the evidence comes from two products at least.
 */
export function judgeCall(input: JudgeInput): ScopeChanges {
  const { call, pauses } = input;
  const reason = evidenceOf(call);
  const cleared = evidenceReasons.filter((it) => it !== reason && hasCleared(call, evidenceRules[it].clearedBy));
  const clears = (pause: JudgedPause): boolean =>
    pause.openedBy === 'worker' && (cleared.some((it) => it === pause.reason) || isPassedTrial(call, pause));
  const end = pauses.filter(clears).map(({ scope }) => ({ scope, why: whyItEnds(call) }));
  const forget = cleared.flatMap((it) => scopesCounted(it, call.scopes).map((scope) => ({ scope, reason: it })));
  const remember = reason === null ? [] : newEvidence(input, reason);
  return {
    forget,
    remember,
    open: reason === null ? [] : opened(input, reason, remember),
    postpone: pauses.filter((it) => call.trialOf.includes(it.scope) && !clears(it) && hasFailed(input, it)),
    end,
  };
}

const whyItEnds = ({ isAccepted, row }: EndedCall): string =>
  isAccepted ? 'an order was accepted' : `the API answered (${row})`;

/**
 * Whether a trial has failed: it brought the same evidence again, or nobody knows yet what became of it. After anything
 * else, such as an order that is out of stock, nothing was bought and the next order is the trial.
 */
function hasFailed(input: JudgeInput, { scope, reason }: JudgedPause): boolean {
  const { call } = input;
  if (scope === 'account' || decisionTable[call.row].clean.verdict === 'unknown') return true;
  return evidenceOf(call) === reason && !isOnlyOfEsim(input, scope);
}

/**
 * Whether a 404 says nothing against a scope: the eSIM that the order names may be unknown, and products of the scope were
 * bought. Otherwise mistyped ICCIDs of some customers would pause the eSIMs of all.
 */
function isOnlyOfEsim({ call, products }: JudgeInput, scope: string): boolean {
  if (call.row !== 'not_found_unexpected' || !call.namesEsim) return false;
  return scope === call.scopes.family ? products.hasBought(scope) : products.wasBought(scope);
}

/** Whether the call was the trial of a scope that the API denied, and the API judged it. */
function isPassedTrial(call: EndedCall, pause: JudgedPause): boolean {
  if (!call.trialOf.includes(pause.scope) || evidenceRule(pause.reason) !== null) return false;
  return call.isAccepted || verdictRows.has(call.row);
}

/**
 * Whether a call says anything about a scope that has other products. A product that was never bought says nothing against
 * those that were bought lately, and an absence says nothing where another order was accepted since this one was sent. What
 * may be money for the wrong goods always counts.
 */
function isSign(input: JudgeInput, reason: EvidenceReason, scope: string): boolean {
  const { call, products } = input;
  const { product, family } = call.scopes;
  if (isOnlyOfEsim(input, scope)) return false;
  if (product === null || (scope !== family && scope !== 'account') || neverLeftRows.has(call.row)) return true;
  if (reason === 'answer_mismatch' || reason === 'unreadable_success' || reason === 'unread_fields') return true;
  if (reason === 'order_absent' && products.acceptedSince(scope, call.sentMono)) return false;
  return products.wasBought(product) || !products.boughtLately(scope, call.endedMono);
}

function newEvidence(input: JudgeInput, reason: EvidenceReason): readonly Evidence[] {
  const { call, evidence } = input;
  const { entryId } = call;
  return scopesCounted(reason, call.scopes)
    .filter((scope) => isSign(input, reason, scope))
    .filter((scope) => !evidence.some((it) => it.scope === scope && it.reason === reason && it.entryId === entryId))
    .map((scope) => ({ scope, reason, entryId, product: call.scopes.product }));
}

/**
 * Whether an entry has failed again, and nothing of it left this time. It cannot be the cause of that, so nobody waits for
 * other entries to fail: there may be no others for days.
 */
function failedAgain({ row, entryId }: EndedCall, evidence: readonly Evidence[]): boolean {
  return neverLeftRows.has(row) && evidence.some((it) => it.reason === 'api_unreachable' && it.entryId === entryId);
}

function opened(input: JudgeInput, reason: EvidenceReason, remember: readonly Evidence[]): ScopeChanges['open'] {
  const { call, evidence, pauses, probesBefore } = input;
  const { entries, familyEntries } = evidenceRules[reason];
  return scopesCounted(reason, call.scopes).flatMap((scope) => {
    const counted = [...evidence, ...remember].filter((it) => it.scope === scope && it.reason === reason);
    const products = new Set(counted.flatMap((it) => it.product ?? [])).size;
    const isFamily = scope === call.scopes.family;
    const needed = isFamily ? (familyEntries ?? Number.POSITIVE_INFINITY) : entries;
    const isEnough = counted.length >= needed || (reason === 'api_unreachable' && failedAgain(call, evidence));
    if (!isEnough || (isFamily && products < 2) || !isSign(input, reason, scope)) return [];
    if (pauses.some((pause) => pause.scope === scope)) return [];
    const of = isFamily ? ` of ${products} products` : '';
    const message = `${counted.length} ${counted.length === 1 ? 'entry' : 'entries in a row'}${of}: ${call.message}`;
    return [{ scope, reason, message, probes: probesBefore(scope) }];
  });
}

/**
 * How long until a paused scope is tried, in ms, before jitter and scale.
 * @param probes how often it was tried
 */
export function trialDelayMs(rule: { firstMs: number; maxMs: number }, probes: number): number {
  return Math.min(rule.maxMs, rule.firstMs * 2 ** Math.min(probes, 20));
}
