import type { Family } from '../order/purchase.ts';

/** One row of the error table of the specification (Spec 7). */
interface WholesaleErrorRow {
  readonly http: number;
  /** Null only for 429, which is given no code. */
  readonly code: string | null;
  readonly families: readonly Family[];
  /** Our advice to somebody in a shop. */
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
  'Choose another plan, or correct the quantity (1 to 30) or the days: the message says what is wrong.';
const nothing = 'Nothing: the worker tries again by itself.';
const notCancelled =
  'The eSIM was installed, topped up or cancelled before, so it stays as it is. Try again later only if the message says that this could not be checked.';
const otherReference =
  "Do not order the line again: the supplier has an order with its reference. Look for this order in the supplier's lists.";
const topup =
  'Choose a plan that this eSIM can be topped up with. A cancelled or expired eSIM has none.';

/** The 19 rows of Spec 7. */
export const wholesaleErrors: readonly WholesaleErrorRow[] = [
  listed(
    401,
    'invalid_key',
    both,
    'Ask for a new key for the worker: the supplier refuses the present key.',
  ),
  listed(403, 'account_not_allowed', both, 'Ask the supplier why the account is refused.'),
  listed(
    403,
    'ip_not_allowed',
    both,
    'Ask the supplier to allow the address of the worker for the key.',
  ),
  listed(
    404,
    'not_found',
    both,
    'Check the ICCID or destination: the supplier does not know this value.',
  ),
  listed(402, 'insufficient_balance', both, 'Add money to this balance at the supplier.'),
  listed(409, 'reference_in_use', both, otherReference),
  listed(
    422,
    'currency_unavailable',
    both,
    'Order the product from the balance of another currency.',
  ),
  listed(422, 'invalid_request', both, 'Correct what the message names.'),
  listed(
    422,
    'order_refused',
    both,
    'See whether the message says why the supplier refused the order. If not, ask the supplier.',
  ),
  listed(429, null, both, nothing),
  listed(503, 'api_disabled', both, nothing),
  listed(404, 'invalid_variant', giftCards, 'Correct the product: the supplier does not sell it.'),
  listed(409, 'out_of_stock', giftCards, 'Order fewer, or try later.'),
  listed(422, 'limit_exceeded', giftCards, 'Order fewer pieces at once, in several lines.'),
  listed(422, 'not_api_sellable', giftCards, "Buy the product by hand in the supplier's web shop."),
  listed(404, 'invalid_plan', esims, otherPlan),
  listed(422, 'invalid_plan', esims, otherPlan),
  listed(422, 'topup_not_allowed', esims, topup),
  listed(409, 'not_cancellable', esims, notCancelled),
];

/** What somebody in a shop can do about a code; null for a code that Spec 7 does not list. */
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
