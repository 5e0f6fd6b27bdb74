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

const listed = (
  http: number,
  code: string | null,
  families: readonly Family[],
  action: string,
): WholesaleErrorRow => ({
  http,
  code,
  families,
  action,
});
const otherPlan =
  "Read `message`; refresh the destination's plans; order again with a new reference.";
const otherServer = "Add the server's address to the key or call from an allowed server.";
const notCancelled =
  'Read `message`. Only the "could not check" case is worth a retry, after about a minute.';

/** The 19 rows of Spec 7. */
export const wholesaleErrors: readonly WholesaleErrorRow[] = [
  listed(401, 'invalid_key', both, 'Check the header; create a new key if needed.'),
  listed(403, 'account_not_allowed', both, 'Contact the operator.'),
  listed(403, 'ip_not_allowed', both, otherServer),
  listed(404, 'not_found', both, 'Check the value and the family.'),
  listed(402, 'insufficient_balance', both, 'Add balance or charge the other balance.'),
  listed(409, 'reference_in_use', both, 'Use a new reference.'),
  listed(422, 'currency_unavailable', both, 'Charge the other balance.'),
  listed(422, 'invalid_request', both, 'Read `message`.'),
  listed(422, 'order_refused', both, 'Read `message`.'),
  listed(429, null, both, 'Wait a few seconds, retry.'),
  listed(503, 'api_disabled', both, 'Retry later.'),
  listed(404, 'invalid_variant', giftCards, 'Refresh the copy of `/products`.'),
  listed(409, 'out_of_stock', giftCards, 'Order fewer or try later.'),
  listed(
    422,
    'limit_exceeded',
    giftCards,
    'Split into several orders, each with its own reference.',
  ),
  listed(422, 'not_api_sellable', giftCards, 'Order it on the website.'),
  listed(404, 'invalid_plan', esims, otherPlan),
  listed(422, 'invalid_plan', esims, otherPlan),
  listed(422, 'topup_not_allowed', esims, 'Choose a plan from `GET /esim/esims/{iccid}/topups`.'),
  listed(409, 'not_cancellable', esims, notCancelled),
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
  return (
    wholesaleErrors.find(
      (row) => row.http === http && row.code === code && row.families.includes(family),
    ) ?? null
  );
}
