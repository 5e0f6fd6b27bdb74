import type { Operation } from '../../core/order/purchase.ts';
import type { OutcomeRow } from '../../core/answers/outcome.ts';
import type { ScheduleName } from './retry-schedule.ts';

/**
 * The knowledge before the attempt. `outcomeUnknown`: an earlier attempt of the same entry may have
 * been processed.
 */
export type Column = 'clean' | 'outcomeUnknown' | 'cancelClean' | 'cancelOutcomeUnknown';

export function columnFor(facts: {
  readonly operation: Operation;
  readonly outcomeUnknown: boolean;
}): Column {
  if (facts.operation === 'esim_cancel')
    return facts.outcomeUnknown ? 'cancelOutcomeUnknown' : 'cancelClean';
  return facts.outcomeUnknown ? 'outcomeUnknown' : 'clean';
}

/**
 * The consequence of an outcome:
 *   settle    the answer is believed: fulfilled, refunded or placed, by the units that were delivered
 *   reject    a definite rejection, final
 *   wait      a definite rejection that may change with time; nothing was charged
 *   again     surely not processed: back to where it was, and the attempt does not count
 *   unknown   perhaps processed: looked up, then the same reference again
 *   resolve   a rejection that an earlier attempt of the entry may have caused, or an answer about another order: only a
 *             lookup of its own reference after the in-flight window settles it
 *   unexplained  a rejection that has no meaning here: an operator decides
 *   review    an operator decides at once
 */
export type Verdict =
  | 'settle'
  | 'reject'
  | 'wait'
  | 'again'
  | 'unknown'
  | 'resolve'
  | 'unexplained'
  | 'review';

/**
 * The scope that an outcome denies at once; `account` is everything that is sent. The rules about
 * several calls, after which a scope is paused, are in `buying/breakers/evidence.ts`.
 */
export type PauseKind = 'account' | 'key';

export interface Cell {
  readonly verdict: Verdict;
  readonly schedule?: ScheduleName;
  readonly pause?: PauseKind;
}

/**
 * Verdicts by which nothing was bought. An earlier copy of the same call can have caused the answer:
 * something in between may repeat a call. One lookup comes before the verdict.
 */
export const rejections: ReadonlySet<Verdict> = new Set(['reject', 'wait', 'unexplained']);

const settle: Cell = { verdict: 'settle' };
const reject: Cell = { verdict: 'reject' };
const review: Cell = { verdict: 'review' };
const resolve: Cell = { verdict: 'resolve', schedule: 'standard' };
const unknown: Cell = { verdict: 'unknown', schedule: 'standard' };
const unknownCancel: Cell = { verdict: 'unknown', schedule: 'cancel' };
const again: Cell = { verdict: 'again', schedule: 'standard' };
const waitFor = (schedule: ScheduleName): Cell => ({ verdict: 'wait', schedule });
const unexplained: Cell = { verdict: 'unexplained' };

type Row = Readonly<Record<Column, Cell>>;
const row = (
  clean: Cell,
  outcomeUnknown: Cell,
  cancelClean: Cell,
  cancelOutcomeUnknown: Cell,
): Row => ({
  clean,
  outcomeUnknown,
  cancelClean,
  cancelOutcomeUnknown,
});
const everywhere = (cell: Cell): Row => row(cell, cell, cell, cell);
/** Perhaps processed, whatever was known before. */
const ambiguous = row(unknown, unknown, unknownCancel, unknownCancel);
const ambiguousThen = (schedule: ScheduleName): Row =>
  row({ ...unknown, schedule }, { ...unknown, schedule }, unknownCancel, unknownCancel);
/** A rejection of a buying call that a cancel should never get. */
const rejectionOfPurchase = row(reject, resolve, unexplained, review);
/**
 * A rejection that both a purchase and a cancel may get; after an ambiguous cancel it proves
 * nothing.
 */
const rejectionOfAny = row(reject, resolve, reject, review);
/** A refusal to which Spec 7 gives no meaning here. */
const unexpected = row(unexplained, resolve, unexplained, review);

/**
 * The consequence of each outcome. After an ambiguous attempt no 4xx proves absence, because the
 * success of that attempt may have caused it. There is no default that leads to `reject`.
 */
export const decisionTable: Readonly<Record<OutcomeRow, Row>> = {
  accepted: everywhere(settle),
  answer_mismatch: everywhere(resolve),
  unreadable_success: ambiguous,
  redirect: row(
    { ...unknown, pause: 'account' },
    { ...unknown, pause: 'account' },
    { ...unknownCancel, pause: 'account' },
    { ...unknownCancel, pause: 'account' },
  ),
  invalid_key: everywhere({ ...again, pause: 'key' }),
  account_not_allowed: everywhere({ ...again, pause: 'account' }),
  ip_not_allowed: everywhere({ ...again, pause: 'key' }),
  not_found: rejectionOfAny,
  not_found_unexpected: unexpected,
  insufficient_balance: row(waitFor('balance'), resolve, unexplained, review),
  reference_in_use: everywhere(review),
  currency_unavailable: rejectionOfPurchase,
  invalid_request: rejectionOfAny,
  order_refused: row(reject, resolve, reject, review),
  rate_limited: everywhere({ verdict: 'again', schedule: 'rate_limit' }),
  api_disabled: everywhere({ ...again, pause: 'account' }),
  invalid_variant: rejectionOfPurchase,
  out_of_stock: row(waitFor('stock'), resolve, unexplained, review),
  limit_exceeded: rejectionOfPurchase,
  not_api_sellable: rejectionOfPurchase,
  plan_unknown: rejectionOfPurchase,
  plan_unorderable: rejectionOfPurchase,
  topup_not_allowed: rejectionOfPurchase,
  not_cancellable: row(unexplained, resolve, waitFor('cancel'), { ...resolve, schedule: 'cancel' }),
  unlisted_code: unexpected,
  code_out_of_place: unexpected,
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
  headers_timeout: ambiguousThen('slow'),
  cut_answer: ambiguous,
  deadline: ambiguous,
  shutdown: ambiguousThen('now'),
  crashed: ambiguousThen('now'),
};
