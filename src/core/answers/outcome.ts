import type { OrderAnswer } from './order-answer.ts';

/** Every way in which an attempt can end, as a row of the decision table. */
export const outcomeRows = [
  'accepted', // 2xx, a complete JSON object without `error`, something of an order is recognised, echoes match
  'answer_mismatch', // 2xx, but the echoed reference or product is another one, or the quantity is larger
  'unreadable_success', // 2xx that is empty, HTML, cut JSON, not an object, or in which nothing of an order is recognised
  'redirect', // 3xx; never followed
  'invalid_key', // 6
  'account_not_allowed', // 7
  'ip_not_allowed', // 8
  'not_found', // top-up and cancel: the ICCID; eSIM order: its plan's destination
  'not_found_unexpected', // on POST /orders, where the spec gives it no meaning, and on a path that accepted nothing yet
  'insufficient_balance', // 10
  'reference_in_use', // 11
  'currency_unavailable', // 12
  'invalid_request', // 13
  'order_refused', // 14
  'rate_limited', // 429, with or without a body
  'api_disabled', // 16
  'invalid_variant', // 17
  'out_of_stock', // 18
  'limit_exceeded', // 19
  'not_api_sellable', // 20
  'plan_unknown', // 404 invalid_plan
  'plan_unorderable', // 422 invalid_plan
  'topup_not_allowed', // 23
  'not_cancellable', // 24
  'unlisted_code', // 4xx of the right shape, with a code that Spec 7 does not list
  'code_out_of_place', // a listed code with another status or in the other family
  'foreign_refusal', // 4xx without the spec's error body: the answer of a proxy or a firewall
  'server_error', // 5xx with the error body and another code
  'foreign_server_error', // 5xx without the error body
  'foreign_unavailable', // 503 without the error body
  'unreachable', // no byte left: DNS, refused, no route, connect timeout
  'tls_refused', // no byte left: the certificate or the version
  'proxy_refused', // no byte left: the proxy would not connect
  'local_resource', // no byte left: files, memory, ports
  'local_defect', // no byte left: a defect of the worker
  'dropped', // sent, then FIN, RST, EPIPE
  'headers_timeout', // 36
  'cut_answer', // the body ended early, or was not HTTP
  'deadline', // our own total deadline; the connection was destroyed first
  'shutdown', // the worker stopped while the call was in flight
  'crashed', // found open at start
] as const;
export type OutcomeRow = (typeof outcomeRows)[number];

/** Outcomes that deny the key: the API processed nothing, whatever was sent with it. */
export const keyDenials: readonly OutcomeRow[] = ['invalid_key', 'ip_not_allowed'];

/** Outcomes in which the API judged the order itself, not the account, the key or the rate. */
export const verdictRows: ReadonlySet<OutcomeRow> = new Set<OutcomeRow>([
  'accepted',
  'answer_mismatch',
  'not_found',
  'not_found_unexpected',
  'insufficient_balance',
  'reference_in_use',
  'currency_unavailable',
  'invalid_request',
  'order_refused',
  'invalid_variant',
  'out_of_stock',
  'limit_exceeded',
  'not_api_sellable',
  'plan_unknown',
  'plan_unorderable',
  'topup_not_allowed',
  'not_cancellable',
  'unlisted_code',
  'code_out_of_place',
]);

/**
 * Refusals because of the product, not of what one order asks for or how it is paid; for an order
 * that names an eSIM perhaps because of that.
 */
export const productRefusals = [
  'order_refused',
  'invalid_variant',
  'not_api_sellable',
  'plan_unknown',
  'not_found',
] as const satisfies readonly OutcomeRow[];

export function isOutcomeRow(value: string): value is OutcomeRow {
  return outcomeRows.some((row) => row === value);
}

/** Reads a stored outcome row back; null for a value that this version does not know. */
export function outcomeRowFrom(value: string | null): OutcomeRow | null {
  return value !== null && isOutcomeRow(value) ? value : null;
}

/** How one attempt ended: the row, and the evidence for an operator. */
export interface Outcome {
  readonly row: OutcomeRow;
  /** Whether any byte may have left. False only when surely none did. */
  readonly sent: boolean;
  readonly http: number | null;
  readonly code: string | null;
  /**
   * The API's `message` or the network error, verbatim, cut to a limit, without delivered codes.
   */
  readonly message: string;
  /** How long the server asked to wait; null when it did not. */
  readonly retryAfterMs: number | null;
  /**
   * Set for `accepted` and `answer_mismatch`; the latter has a `reference` only if it is another
   * one.
   */
  readonly answer: OrderAnswer | null;
  /**
   * How the answer broke the contract, although it could be understood; for example 2xx with an
   * `error` object.
   */
  readonly breach: string | null;
  /**
   * The answer with the form of its values instead of them, as JSON, to compare it with the
   * mapping.
   */
  readonly kept?: string | null;
}

/** An outcome without an HTTP answer. */
export function withoutAnswer(row: OutcomeRow, sent: boolean, message: string): Outcome {
  return {
    row,
    sent,
    http: null,
    code: null,
    message,
    retryAfterMs: null,
    answer: null,
    breach: null,
  };
}

/** The end of a lookup. `absent`: the API itself says so, with its own error body. */
export type LookupOutcome =
  | {
      readonly kind: 'found';
      readonly answer: OrderAnswer;
      /**
       * How the found order differs from what was ordered, with both values; absent when it does
       * not.
       */
      readonly differs?: string;
      /** Whether it repeats the product and the quantity, and the eSIM of a top-up, as ordered. */
      readonly repeatsGoods?: boolean;
      readonly kept?: Outcome['kept'];
    }
  | { readonly kind: 'absent'; readonly kept?: Outcome['kept'] }
  | { readonly kind: 'failed'; readonly outcome: Outcome };
