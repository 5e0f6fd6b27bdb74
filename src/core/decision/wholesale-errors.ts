import type { Family } from '../order/purchase.ts';

/** One row of the error table of the specification (Spec 7). */
interface WholesaleErrorRow {
  readonly http: number;
  /** Null only for 429, which is given no code. */
  readonly code: string | null;
  readonly families: readonly Family[];
  /** The specification's advice to the client; shown to people verbatim. */
  readonly action: string;
}

const both: readonly Family[] = ['gift_card', 'esim'];
const giftCards: readonly Family[] = ['gift_card'];
const esims: readonly Family[] = ['esim'];

/** The 19 rows of Spec 7. */
export const wholesaleErrors: readonly WholesaleErrorRow[] = [
  { http: 401, code: 'invalid_key', families: both, action: 'Check the header; create a new key if needed.' },
  { http: 403, code: 'account_not_allowed', families: both, action: 'Contact the operator.' },
  {
    http: 403,
    code: 'ip_not_allowed',
    families: both,
    action: "Add the server's address to the key or call from an allowed server.",
  },
  { http: 404, code: 'not_found', families: both, action: 'Check the value and the family.' },
  { http: 402, code: 'insufficient_balance', families: both, action: 'Add balance or charge the other balance.' },
  { http: 409, code: 'reference_in_use', families: both, action: 'Use a new reference.' },
  { http: 422, code: 'currency_unavailable', families: both, action: 'Charge the other balance.' },
  { http: 422, code: 'invalid_request', families: both, action: 'Read `message`.' },
  { http: 422, code: 'order_refused', families: both, action: 'Read `message`.' },
  { http: 429, code: null, families: both, action: 'Wait a few seconds, retry.' },
  { http: 503, code: 'api_disabled', families: both, action: 'Retry later.' },
  { http: 404, code: 'invalid_variant', families: giftCards, action: 'Refresh the copy of `/products`.' },
  { http: 409, code: 'out_of_stock', families: giftCards, action: 'Order fewer or try later.' },
  {
    http: 422,
    code: 'limit_exceeded',
    families: giftCards,
    action: 'Split into several orders, each with its own reference.',
  },
  { http: 422, code: 'not_api_sellable', families: giftCards, action: 'Order it on the website.' },
  {
    http: 404,
    code: 'invalid_plan',
    families: esims,
    action: "Read `message`; refresh the destination's plans; order again with a new reference.",
  },
  {
    http: 422,
    code: 'invalid_plan',
    families: esims,
    action: "Read `message`; refresh the destination's plans; order again with a new reference.",
  },
  {
    http: 422,
    code: 'topup_not_allowed',
    families: esims,
    action: 'Choose a plan from `GET /esim/esims/{iccid}/topups`.',
  },
  {
    http: 409,
    code: 'not_cancellable',
    families: esims,
    action: 'Read `message`. Only the "could not check" case is worth a retry, after about a minute.',
  },
];

/** The specification's advice about a code; null for a code that it does not list. */
export function clientActionFor(code: string): string | null {
  return wholesaleErrors.find((row) => row.code === code)?.action ?? null;
}

/** Whether Spec 7 lists the code, with any status and family. */
export function isListedCode(code: string): boolean {
  return wholesaleErrors.some((row) => row.code === code);
}

/** The row with this status, code and family; null when Spec 7 has none. */
export function findErrorRow(http: number, code: string, family: Family): WholesaleErrorRow | null {
  return wholesaleErrors.find((row) => row.http === http && row.code === code && row.families.includes(family)) ?? null;
}
