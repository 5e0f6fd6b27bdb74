import type { Operation } from '../order/operation.ts';
import type { OutcomeRow } from './outcome.ts';
import type { ScheduleName } from './retry-schedule.ts';

/** What an attempt knew before it: `outcomeUnknown` = an earlier attempt of the same entry is unresolved. */
export type Column = 'clean' | 'outcomeUnknown' | 'cancelClean' | 'cancelOutcomeUnknown';

export function columnFor(facts: { readonly operation: Operation; readonly outcomeUnknown: boolean }): Column {
  if (facts.operation === 'esim_cancel') return facts.outcomeUnknown ? 'cancelOutcomeUnknown' : 'cancelClean';
  return facts.outcomeUnknown ? 'outcomeUnknown' : 'clean';
}

/**
 * What to do about an outcome:
 *   settle    the answer is believed: fulfilled, refunded or placed, by the units delivered
 *   reject    a definite refusal, final
 *   wait      a definite refusal that time may change; nothing was charged
 *   again     surely not processed (never sent, or turned away at the door): back to where it was, free
 *   doubt     perhaps processed: reconcile
 *   resolve   a refusal that our own earlier attempt may have caused: only a lookup after the quiet time settles it
 *   review    a person decides
 */
export type Verdict = 'settle' | 'reject' | 'wait' | 'again' | 'doubt' | 'resolve' | 'review';

/** The scope that stands still because of an outcome; `account` is everything that is sent. */
export type PauseKind = 'account' | 'key' | 'balance';

export interface Cell {
  readonly verdict: Verdict;
  readonly schedule?: ScheduleName;
  readonly pause?: PauseKind;
}

const settle: Cell = { verdict: 'settle' };
const reject: Cell = { verdict: 'reject' };
const review: Cell = { verdict: 'review' };
const resolve: Cell = { verdict: 'resolve', schedule: 'standard' };
const doubt: Cell = { verdict: 'doubt', schedule: 'standard' };
const doubtCancel: Cell = { verdict: 'doubt', schedule: 'cancel' };
const again: Cell = { verdict: 'again', schedule: 'standard' };

const everywhere = (cell: Cell): Record<Column, Cell> => ({
  clean: cell,
  outcomeUnknown: cell,
  cancelClean: cell,
  cancelOutcomeUnknown: cell,
});
/** Perhaps processed, whatever went before. */
const ambiguous: Record<Column, Cell> = {
  clean: doubt,
  outcomeUnknown: doubt,
  cancelClean: doubtCancel,
  cancelOutcomeUnknown: doubtCancel,
};
/** A refusal of a buying call that a cancel should never get. */
const refusalOfPurchase: Record<Column, Cell> = {
  clean: reject,
  outcomeUnknown: resolve,
  cancelClean: review,
  cancelOutcomeUnknown: review,
};
/** A refusal that both a purchase and a cancel may get; after an ambiguous cancel it proves nothing. */
const refusalOfAny: Record<Column, Cell> = {
  clean: reject,
  outcomeUnknown: resolve,
  cancelClean: reject,
  cancelOutcomeUnknown: review,
};

/**
 * What each outcome does: the one place that says so. After an ambiguous attempt no 4xx proves absence, because our
 * own first success may have caused it. There is no default that leads to `reject`.
 */
export const decisionTable: Readonly<Record<OutcomeRow, Readonly<Record<Column, Cell>>>> = {
  accepted: everywhere(settle),
  answer_mismatch: {
    clean: { verdict: 'review', pause: 'account' },
    outcomeUnknown: { verdict: 'review', pause: 'account' },
    cancelClean: review,
    cancelOutcomeUnknown: review,
  },
  unreadable_success: ambiguous,
  redirect: {
    clean: { ...doubt, pause: 'account' },
    outcomeUnknown: { ...doubt, pause: 'account' },
    cancelClean: { ...doubtCancel, pause: 'account' },
    cancelOutcomeUnknown: { ...doubtCancel, pause: 'account' },
  },
  invalid_key: everywhere({ ...again, pause: 'key' }),
  account_not_allowed: everywhere({ ...again, pause: 'account' }),
  ip_not_allowed: everywhere({ ...again, pause: 'key' }),
  not_found: refusalOfAny,
  not_found_unexpected: { clean: review, outcomeUnknown: resolve, cancelClean: review, cancelOutcomeUnknown: review },
  insufficient_balance: {
    clean: { verdict: 'wait', schedule: 'balance', pause: 'balance' },
    outcomeUnknown: resolve,
    cancelClean: review,
    cancelOutcomeUnknown: review,
  },
  reference_in_use: everywhere(review),
  currency_unavailable: refusalOfPurchase,
  invalid_request: refusalOfAny,
  order_refused: refusalOfAny,
  rate_limited: everywhere({ verdict: 'again', schedule: 'rate_limit' }),
  api_disabled: everywhere({ ...again, pause: 'account' }),
  invalid_variant: refusalOfPurchase,
  out_of_stock: {
    clean: { verdict: 'wait', schedule: 'stock' },
    outcomeUnknown: resolve,
    cancelClean: review,
    cancelOutcomeUnknown: review,
  },
  limit_exceeded: refusalOfPurchase,
  not_api_sellable: refusalOfPurchase,
  plan_unknown: refusalOfPurchase,
  plan_unorderable: refusalOfPurchase,
  topup_not_allowed: refusalOfPurchase,
  not_cancellable: {
    clean: review,
    outcomeUnknown: review,
    cancelClean: { verdict: 'wait', schedule: 'cancel' },
    cancelOutcomeUnknown: { verdict: 'resolve', schedule: 'cancel' },
  },
  unlisted_code: { clean: review, outcomeUnknown: resolve, cancelClean: review, cancelOutcomeUnknown: review },
  code_out_of_place: { clean: review, outcomeUnknown: resolve, cancelClean: review, cancelOutcomeUnknown: review },
  foreign_refusal: ambiguous,
  server_error: ambiguous,
  foreign_server_error: ambiguous,
  foreign_unavailable: ambiguous,
  unreachable: everywhere(again),
  tls_refused: everywhere({ ...again, pause: 'account' }),
  proxy_refused: everywhere(again),
  local_resource: everywhere(again),
  local_defect: everywhere(again),
  dropped: ambiguous,
  headers_timeout: {
    clean: { verdict: 'doubt', schedule: 'slow' },
    outcomeUnknown: { verdict: 'doubt', schedule: 'slow' },
    cancelClean: doubtCancel,
    cancelOutcomeUnknown: doubtCancel,
  },
  cut_answer: ambiguous,
  deadline: ambiguous,
  shutdown: {
    clean: { verdict: 'doubt', schedule: 'now' },
    outcomeUnknown: { verdict: 'doubt', schedule: 'now' },
    cancelClean: doubtCancel,
    cancelOutcomeUnknown: doubtCancel,
  },
  crashed: {
    clean: { verdict: 'doubt', schedule: 'now' },
    outcomeUnknown: { verdict: 'doubt', schedule: 'now' },
    cancelClean: doubtCancel,
    cancelOutcomeUnknown: doubtCancel,
  },
};
