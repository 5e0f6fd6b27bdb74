import type { Family } from '../order/operation.ts';

/** One row of the error table of the specification (Spec 7). */
export interface WholesaleErrorRow {
  readonly http: number;
  /** Null only for 429, which is given no code. */
  readonly code: string | null;
  readonly families: readonly Family[];
  readonly meaning: string;
  /** What the specification tells the client to do; shown to people word for word. */
  readonly action: string;
}

const both: readonly Family[] = ['gift_card', 'esim'];
const giftCards: readonly Family[] = ['gift_card'];
const esims: readonly Family[] = ['esim'];

/** The 19 rows of Spec 7, as data. Nothing else in the program repeats them. */
export const wholesaleErrors: readonly WholesaleErrorRow[] = [
  {
    http: 401,
    code: 'invalid_key',
    families: both,
    meaning: 'Missing, wrong or revoked key.',
    action: 'Check the header; create a new key if needed.',
  },
  {
    http: 403,
    code: 'account_not_allowed',
    families: both,
    meaning: 'Account is not wholesale (any more) or is blocked.',
    action: 'Contact the operator.',
  },
  {
    http: 403,
    code: 'ip_not_allowed',
    families: both,
    meaning: 'Key is restricted to other IP addresses.',
    action: "Add the server's address to the key or call from an allowed server.",
  },
  {
    http: 404,
    code: 'not_found',
    families: both,
    meaning:
      'No order with that number or reference in this family. On eSIM endpoints also: no such destination, or no eSIM with that ICCID on the account.',
    action: 'Check the value and the family.',
  },
  {
    http: 402,
    code: 'insufficient_balance',
    families: both,
    meaning: 'The named balance does not cover the order.',
    action: 'Add balance or charge the other balance.',
  },
  {
    http: 409,
    code: 'reference_in_use',
    families: both,
    meaning: "The reference already belongs to one of the caller's orders in the other family.",
    action: 'Use a new reference.',
  },
  {
    http: 422,
    code: 'currency_unavailable',
    families: both,
    meaning: 'The product or plan has no price in that currency.',
    action: 'Charge the other balance.',
  },
  {
    http: 422,
    code: 'invalid_request',
    families: both,
    meaning: 'A field is missing or malformed.',
    action: 'Read `message`.',
  },
  {
    http: 422,
    code: 'order_refused',
    families: both,
    meaning: 'The order could not be placed.',
    action: 'Read `message`.',
  },
  { http: 429, code: null, families: both, meaning: 'Rate limit reached.', action: 'Wait a few seconds, retry.' },
  {
    http: 503,
    code: 'api_disabled',
    families: both,
    meaning: 'API switched off for maintenance.',
    action: 'Retry later.',
  },
  {
    http: 404,
    code: 'invalid_variant',
    families: giftCards,
    meaning: 'No such product in the API catalogue.',
    action: 'Refresh the copy of `/products`.',
  },
  {
    http: 409,
    code: 'out_of_stock',
    families: giftCards,
    meaning: 'Fewer than `quantity` are available.',
    action: 'Order fewer or try later.',
  },
  {
    http: 422,
    code: 'limit_exceeded',
    families: giftCards,
    meaning: 'Quantity above the per-order limit.',
    action: 'Split into several orders, each with its own reference.',
  },
  {
    http: 422,
    code: 'not_api_sellable',
    families: giftCards,
    meaning: 'A website-only product.',
    action: 'Order it on the website.',
  },
  {
    http: 404,
    code: 'invalid_plan',
    families: esims,
    meaning: 'No such plan in the API catalogue.',
    action: "Read `message`; refresh the destination's plans; order again with a new reference.",
  },
  {
    http: 422,
    code: 'invalid_plan',
    families: esims,
    meaning:
      'The plan cannot be ordered as asked: it went off sale, `quantity` is not 1 to 30, or `days` is missing or outside the range of a daily plan.',
    action: "Read `message`; refresh the destination's plans; order again with a new reference.",
  },
  {
    http: 422,
    code: 'topup_not_allowed',
    families: esims,
    meaning: "The plan is not one of the eSIM's top-up plans, or the eSIM is cancelled or expired.",
    action: 'Choose a plan from `GET /esim/esims/{iccid}/topups`.',
  },
  {
    http: 409,
    code: 'not_cancellable',
    families: esims,
    meaning:
      'The eSIM was installed, topped up or already cancelled, or its state could not be checked at that moment.',
    action: 'Read `message`. Only the "could not check" case is worth a retry, after about a minute.',
  },
];

/** What the specification tells a client to do about a code; null for a code that it does not list. */
export function clientActionFor(code: string): string | null {
  return wholesaleErrors.find((row) => row.code === code)?.action ?? null;
}

/** True when Spec 7 has the code at all, whatever its status and family. */
export function isListedCode(code: string): boolean {
  return wholesaleErrors.some((row) => row.code === code);
}

/** The row for an answer with an error body, or null when status, code and family do not stand together in Spec 7. */
export function findErrorRow(http: number, code: string, family: Family): WholesaleErrorRow | null {
  return wholesaleErrors.find((row) => row.http === http && row.code === code && row.families.includes(family)) ?? null;
}
