import type { Operation } from '../order/purchase.ts';
import type { OutcomeRow } from '../answers/outcome.ts';
import type { ScheduleName } from './retry-schedule.ts';

/** The knowledge before the attempt. `outcomeUnknown`: an earlier attempt of the same entry may have been processed. */
export type Column = 'clean' | 'outcomeUnknown' | 'cancelClean' | 'cancelOutcomeUnknown';

export function columnFor(facts: { readonly operation: Operation; readonly outcomeUnknown: boolean }): Column {
  if (facts.operation === 'esim_cancel') return facts.outcomeUnknown ? 'cancelOutcomeUnknown' : 'cancelClean';
  return facts.outcomeUnknown ? 'outcomeUnknown' : 'clean';
}

/**
 * The consequence of an outcome:
 *   settle    the answer is believed: fulfilled, refunded or placed, by the units that were delivered
 *   reject    a definite rejection, final
 *   wait      a definite rejection that may change with time; nothing was charged
 *   again     surely not processed: back to where it was, and the attempt does not count
 *   unknown   perhaps processed: looked up, then the same reference again
 *   resolve   a rejection that an earlier attempt of the entry may have caused: only a lookup after the settlement delay
 *             settles it
 *   review    a person decides
 */
export type Verdict = 'settle' | 'reject' | 'wait' | 'again' | 'unknown' | 'resolve' | 'review';

/**
 * The scope that an outcome denies at once; `account` is everything that is sent. The rules about several calls, after which a
 * scope is paused, are in `core/scopes/evidence.ts`.
 */
export type PauseKind = 'account' | 'key';

export interface Cell {
  readonly verdict: Verdict;
  readonly schedule?: ScheduleName;
  readonly pause?: PauseKind;
}

const settle: Cell = { verdict: 'settle' };
const reject: Cell = { verdict: 'reject' };
const review: Cell = { verdict: 'review' };
const resolve: Cell = { verdict: 'resolve', schedule: 'standard' };
const unknown: Cell = { verdict: 'unknown', schedule: 'standard' };
const unknownCancel: Cell = { verdict: 'unknown', schedule: 'cancel' };
const again: Cell = { verdict: 'again', schedule: 'standard' };

const everywhere = (cell: Cell): Record<Column, Cell> => ({
  clean: cell,
  outcomeUnknown: cell,
  cancelClean: cell,
  cancelOutcomeUnknown: cell,
});
/** Perhaps processed, whatever was known before. */
const ambiguous: Record<Column, Cell> = {
  clean: unknown,
  outcomeUnknown: unknown,
  cancelClean: unknownCancel,
  cancelOutcomeUnknown: unknownCancel,
};
/** A rejection of a buying call that a cancel should never get. */
const rejectionOfPurchase: Record<Column, Cell> = {
  clean: reject,
  outcomeUnknown: resolve,
  cancelClean: review,
  cancelOutcomeUnknown: review,
};
/** A rejection that both a purchase and a cancel may get; after an ambiguous cancel it proves nothing. */
const rejectionOfAny: Record<Column, Cell> = {
  clean: reject,
  outcomeUnknown: resolve,
  cancelClean: reject,
  cancelOutcomeUnknown: review,
};

/**
 * The consequence of each outcome. After an ambiguous attempt no 4xx proves absence, because the success of that attempt may
 * have caused it. There is no default that leads to `reject`.
 */
export const decisionTable: Readonly<Record<OutcomeRow, Readonly<Record<Column, Cell>>>> = {
  accepted: everywhere(settle),
  answer_mismatch: everywhere(review),
  unreadable_success: ambiguous,
  redirect: {
    clean: { ...unknown, pause: 'account' },
    outcomeUnknown: { ...unknown, pause: 'account' },
    cancelClean: { ...unknownCancel, pause: 'account' },
    cancelOutcomeUnknown: { ...unknownCancel, pause: 'account' },
  },
  invalid_key: everywhere({ ...again, pause: 'key' }),
  account_not_allowed: everywhere({ ...again, pause: 'account' }),
  ip_not_allowed: everywhere({ ...again, pause: 'key' }),
  not_found: rejectionOfAny,
  not_found_unexpected: { clean: review, outcomeUnknown: resolve, cancelClean: review, cancelOutcomeUnknown: review },
  insufficient_balance: {
    clean: { verdict: 'wait', schedule: 'balance' },
    outcomeUnknown: resolve,
    cancelClean: review,
    cancelOutcomeUnknown: review,
  },
  reference_in_use: everywhere(review),
  currency_unavailable: rejectionOfPurchase,
  invalid_request: rejectionOfAny,
  order_refused: rejectionOfAny,
  rate_limited: everywhere({ verdict: 'again', schedule: 'rate_limit' }),
  api_disabled: everywhere({ ...again, pause: 'account' }),
  invalid_variant: rejectionOfPurchase,
  out_of_stock: {
    clean: { verdict: 'wait', schedule: 'stock' },
    outcomeUnknown: resolve,
    cancelClean: review,
    cancelOutcomeUnknown: review,
  },
  limit_exceeded: rejectionOfPurchase,
  not_api_sellable: rejectionOfPurchase,
  plan_unknown: rejectionOfPurchase,
  plan_unorderable: rejectionOfPurchase,
  topup_not_allowed: rejectionOfPurchase,
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
    clean: { verdict: 'unknown', schedule: 'slow' },
    outcomeUnknown: { verdict: 'unknown', schedule: 'slow' },
    cancelClean: unknownCancel,
    cancelOutcomeUnknown: unknownCancel,
  },
  cut_answer: ambiguous,
  deadline: ambiguous,
  shutdown: {
    clean: { verdict: 'unknown', schedule: 'now' },
    outcomeUnknown: { verdict: 'unknown', schedule: 'now' },
    cancelClean: unknownCancel,
    cancelOutcomeUnknown: unknownCancel,
  },
  crashed: {
    clean: { verdict: 'unknown', schedule: 'now' },
    outcomeUnknown: { verdict: 'unknown', schedule: 'now' },
    cancelClean: unknownCancel,
    cancelOutcomeUnknown: unknownCancel,
  },
};
