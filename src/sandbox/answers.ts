/** The error table of Spec 7, row by row: the only statuses and codes that an answer of the API may carry. */
export const errorRows = [
  { status: 401, code: 'invalid_key', family: 'both' },
  { status: 403, code: 'account_not_allowed', family: 'both' },
  { status: 403, code: 'ip_not_allowed', family: 'both' },
  { status: 404, code: 'not_found', family: 'both' },
  { status: 402, code: 'insufficient_balance', family: 'both' },
  { status: 409, code: 'reference_in_use', family: 'both' },
  { status: 422, code: 'currency_unavailable', family: 'both' },
  { status: 422, code: 'invalid_request', family: 'both' },
  { status: 422, code: 'order_refused', family: 'both' },
  // Spec 7 gives no code for 429. The body's shape needs one; which text it is, is a setting (limits.code).
  { status: 429, code: 'rate_limited', family: 'both' },
  { status: 503, code: 'api_disabled', family: 'both' },
  { status: 404, code: 'invalid_variant', family: 'gift_card' },
  { status: 409, code: 'out_of_stock', family: 'gift_card' },
  { status: 422, code: 'limit_exceeded', family: 'gift_card' },
  { status: 422, code: 'not_api_sellable', family: 'gift_card' },
  { status: 404, code: 'invalid_plan', family: 'esim' },
  { status: 422, code: 'invalid_plan', family: 'esim' },
  { status: 422, code: 'topup_not_allowed', family: 'esim' },
  { status: 409, code: 'not_cancellable', family: 'esim' },
] as const;

export type ErrorRow = (typeof errorRows)[number];
export type ErrorCode = ErrorRow['code'];

/** What the service says to one call, before it is put on the wire. */
export type Answer = {
  status: number;
  /** Rendered as JSON; a string is sent as it is (a stored answer, or a body that is deliberately not JSON). */
  body: unknown;
  headers?: Record<string, string>;
  /** The order that this answer speaks of; kept for the request log. */
  orderNumber?: string;
  /** True when this very call bought, topped up or cancelled something (a replay did not). */
  committed?: boolean;
};

type StatusOf<Code extends ErrorCode> = Extract<ErrorRow, { code: Code }>['status'];

/** An error answer with the body of Spec 7. The pair of status and code is checked by the compiler. */
export function refusal<Code extends ErrorCode>(status: StatusOf<Code>, code: Code, message: string): Answer {
  return { status, body: { error: { code, message } } };
}

export function success(
  status: 200 | 201,
  body: object,
  extra: Pick<Answer, 'orderNumber' | 'committed'> = {},
): Answer {
  return { status, body, ...extra };
}

export function errorCodeOf(answer: Answer): string | null {
  const body = answer.body;
  if (typeof body !== 'object' || body === null || !('error' in body)) return null;
  const error = body.error;
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
