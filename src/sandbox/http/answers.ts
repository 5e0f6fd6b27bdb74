/** The error table of Spec 7, row by row: the only statuses and codes that an answer of the API may carry. */
export const errorRows = [
  {
    status: 401,
    code: 'invalid_key',
    family: 'both',
    meaning: 'Missing, wrong or revoked key.',
    action: 'Check the header; create a new key if needed.',
  },
  {
    status: 403,
    code: 'account_not_allowed',
    family: 'both',
    meaning: 'Account is not wholesale (any more) or is blocked.',
    action: 'Contact the operator.',
  },
  {
    status: 403,
    code: 'ip_not_allowed',
    family: 'both',
    meaning: 'Key is restricted to other IP addresses.',
    action: "Add the server's address to the key or call from an allowed server.",
  },
  {
    status: 404,
    code: 'not_found',
    family: 'both',
    meaning:
      'No order with that number or reference in this family; no such destination; no eSIM with that ICCID on the account.',
    action: 'Check the value and the family.',
  },
  {
    status: 402,
    code: 'insufficient_balance',
    family: 'both',
    meaning: 'The named balance does not cover the order.',
    action: 'Add balance or charge the other balance.',
  },
  {
    status: 409,
    code: 'reference_in_use',
    family: 'both',
    meaning: "The reference already belongs to one of the caller's orders in the other family.",
    action: 'Use a new reference.',
  },
  {
    status: 422,
    code: 'currency_unavailable',
    family: 'both',
    meaning: 'The product or plan has no price in that currency.',
    action: 'Charge the other balance.',
  },
  {
    status: 422,
    code: 'invalid_request',
    family: 'both',
    meaning: 'A field is missing or malformed.',
    action: 'Read `message`.',
  },
  {
    status: 422,
    code: 'order_refused',
    family: 'both',
    meaning: 'The order could not be placed.',
    action: 'Read `message`.',
  },
  // Spec 7 gives no code for 429. The body's shape needs one; which text it is, is a setting (limits.code).
  {
    status: 429,
    code: 'rate_limited',
    family: 'both',
    meaning: 'Rate limit reached.',
    action: 'Wait a few seconds, retry.',
  },
  {
    status: 503,
    code: 'api_disabled',
    family: 'both',
    meaning: 'API switched off for maintenance.',
    action: 'Retry later.',
  },
  {
    status: 404,
    code: 'invalid_variant',
    family: 'gift_card',
    meaning: 'No such product in the API catalogue.',
    action: 'Refresh the copy of `/products`.',
  },
  {
    status: 409,
    code: 'out_of_stock',
    family: 'gift_card',
    meaning: 'Fewer than `quantity` are available.',
    action: 'Order fewer or try later.',
  },
  {
    status: 422,
    code: 'limit_exceeded',
    family: 'gift_card',
    meaning: 'Quantity above the per-order limit.',
    action: 'Split into several orders, each with its own reference.',
  },
  {
    status: 422,
    code: 'not_api_sellable',
    family: 'gift_card',
    meaning: 'A website-only product.',
    action: 'Order it on the website.',
  },
  {
    status: 404,
    code: 'invalid_plan',
    family: 'esim',
    meaning: 'No such plan in the API catalogue.',
    action: "Read `message`; refresh the destination's plans; order again with a new reference.",
  },
  {
    status: 422,
    code: 'invalid_plan',
    family: 'esim',
    meaning:
      'The plan cannot be ordered as asked: it went off sale, `quantity` is not 1 to 30, or `days` is missing or outside the range of a daily plan.',
    action: "Read `message`; refresh the destination's plans; order again with a new reference.",
  },
  {
    status: 422,
    code: 'topup_not_allowed',
    family: 'esim',
    meaning: "The plan is not one of the eSIM's top-up plans, or the eSIM is cancelled or expired.",
    action: 'Choose a plan from `GET /esim/esims/{iccid}/topups`.',
  },
  {
    status: 409,
    code: 'not_cancellable',
    family: 'esim',
    meaning:
      'The eSIM was installed, topped up or already cancelled, or its state could not be checked at that moment.',
    action: 'Read `message`. Only the "could not check" case is worth a retry, after about a minute.',
  },
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
