/**
 * The error table of Spec 7, row by row. An error answer of the API carries one of these pairs of
 * status and code.
 */
export const errorRows = [
  row(401, 'invalid_key', 'both', 'Missing, wrong or revoked key.'),
  row(403, 'account_not_allowed', 'both', 'Account is not wholesale (any more) or is blocked.'),
  row(403, 'ip_not_allowed', 'both', 'Key is restricted to other IP addresses.'),
  row(
    404,
    'not_found',
    'both',
    'No order with that number or reference in this family; no such destination; no eSIM with that ICCID on the account.',
  ),
  row(402, 'insufficient_balance', 'both', 'The named balance does not cover the order.'),
  row(
    409,
    'reference_in_use',
    'both',
    "The reference already belongs to one of the caller's orders in the other family.",
  ),
  row(422, 'currency_unavailable', 'both', 'The product or plan has no price in that currency.'),
  row(422, 'invalid_request', 'both', 'A field is missing or malformed.'),
  row(422, 'order_refused', 'both', 'The order could not be placed.'),
  // Spec 7 gives no code for 429, but the error body needs one. The setting limits.code can replace
  // this one.
  row(429, 'rate_limited', 'both', 'Rate limit reached.'),
  row(503, 'api_disabled', 'both', 'API switched off for maintenance.'),
  row(404, 'invalid_variant', 'gift_card', 'No such product in the API catalogue.'),
  row(409, 'out_of_stock', 'gift_card', 'Fewer than `quantity` are available.'),
  row(422, 'limit_exceeded', 'gift_card', 'Quantity above the per-order limit.'),
  row(422, 'not_api_sellable', 'gift_card', 'A website-only product.'),
  row(404, 'invalid_plan', 'esim', 'No such plan in the API catalogue.'),
  row(
    422,
    'invalid_plan',
    'esim',
    'The plan cannot be ordered as asked: it went off sale, `quantity` is not 1 to 30, or `days` is missing or outside the range of a daily plan.',
  ),
  row(
    422,
    'topup_not_allowed',
    'esim',
    "The plan is not one of the eSIM's top-up plans, or the eSIM is cancelled or expired.",
  ),
  row(
    409,
    'not_cancellable',
    'esim',
    'The eSIM was installed, topped up or already cancelled, or its state could not be checked at that moment.',
  ),
] as const;

/** One row: status, code, where it can occur, and its meaning. */
function row<const Status extends number, const Code extends string>(
  status: Status,
  code: Code,
  family: 'gift_card' | 'esim' | 'both',
  meaning: string,
) {
  return { status, code, family, meaning };
}

export type ErrorCode = (typeof errorRows)[number]['code'];
