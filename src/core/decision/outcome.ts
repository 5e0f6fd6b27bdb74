import type { OrderAnswer } from './order-answer.ts';

/**
 * Every end that an attempt can have. The numbers are those of the table in docs/decision-table.md.
 * A row says what is known, not how it felt: `never sent`, `definitely refused`, or `perhaps processed`.
 */
export const outcomeRows = [
  'accepted', // 1  2xx, a complete JSON object without `error`, echoes match
  'answer_mismatch', // 2  2xx, but the echoed reference is another one
  'unreadable_success', // 3  2xx that is empty, HTML, cut JSON, not an object
  'redirect', // 5  3xx; never followed
  'invalid_key', // 6
  'account_not_allowed', // 7
  'ip_not_allowed', // 8
  'not_found', // 9  top-up and cancel: the ICCID; eSIM order: its plan's destination
  'not_found_unexpected', // 9  on POST /orders, where the spec gives it no meaning
  'insufficient_balance', // 10
  'reference_in_use', // 11
  'currency_unavailable', // 12
  'invalid_request', // 13
  'order_refused', // 14
  'rate_limited', // 15 429, with or without a body
  'api_disabled', // 16
  'invalid_variant', // 17
  'out_of_stock', // 18
  'limit_exceeded', // 19
  'not_api_sellable', // 20
  'plan_unknown', // 21 404 invalid_plan
  'plan_unorderable', // 22 422 invalid_plan
  'topup_not_allowed', // 23
  'not_cancellable', // 24
  'unlisted_code', // 25 4xx of the right shape, with a code that Spec 7 does not list
  'code_out_of_place', // 26 a listed code with another status or in the other family
  'foreign_refusal', // 27 4xx without the spec's error body: a proxy or a firewall speaks
  'server_error', // 28 5xx with the error body and another code
  'foreign_server_error', // 29 5xx without the error body
  'foreign_unavailable', // 30 503 without the error body
  'unreachable', // 31 no byte left: DNS, refused, no route, connect timeout
  'tls_refused', // 32 no byte left: the certificate or the version
  'proxy_refused', // 33 no byte left: the proxy would not connect
  'local_resource', // 34 no byte left: files, memory, ports
  'local_defect', // 34 no byte left: our own mistake
  'dropped', // 35 sent, then FIN, RST, EPIPE
  'headers_timeout', // 36
  'cut_answer', // 37 the body ended early, or was not HTTP
  'deadline', // 38 our own total deadline; the connection was destroyed first
  'shutdown', // 39 the worker stopped while the call was open
  'crashed', // 40 found open at start
] as const;
export type OutcomeRow = (typeof outcomeRows)[number];

export function isOutcomeRow(value: string): value is OutcomeRow {
  return outcomeRows.some((row) => row === value);
}

/** Reads a stored outcome row back; null for a value that this version does not know. */
export function outcomeRowFrom(value: string | null): OutcomeRow | null {
  return value !== null && isOutcomeRow(value) ? value : null;
}

/** The classified end of one attempt: the row, and the evidence for a person. */
export interface Outcome {
  readonly row: OutcomeRow;
  /** Whether the first byte may have left. False only when it surely did not. */
  readonly sent: boolean;
  readonly http: number | null;
  readonly code: string | null;
  /** The API's `message`, or what the network said; verbatim, cut to a limit, without delivered codes. */
  readonly message: string;
  /** How long the server asked to wait; null when it did not. */
  readonly retryAfterMs: number | null;
  /** Set for `accepted` and `answer_mismatch`. */
  readonly answer: OrderAnswer | null;
  /** The answer broke the contract but could be understood, for example 2xx with an `error` object. */
  readonly breach: string | null;
}

/** An outcome without an HTTP answer. */
export function withoutAnswer(row: OutcomeRow, sent: boolean, message: string): Outcome {
  return { row, sent, http: null, code: null, message, retryAfterMs: null, answer: null, breach: null };
}

/** What a lookup of a reference brought. Only `absent` is the API saying so, with its own error body. */
export type LookupOutcome =
  | {
      readonly kind: 'found';
      readonly answer: OrderAnswer;
      /** What the found order says otherwise than what was ordered, with both; absent when nothing does. */
      readonly differs?: string;
    }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly outcome: Outcome };
