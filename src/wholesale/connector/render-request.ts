import type { ReferencedPurchase } from '../../core/order/purchase.ts';
import { assert } from '../../core/order-sync-error.ts';
import { fillPath, givenPaths } from './wire-parts.ts';
import { renderBody } from './request-body.ts';
import type { Wire } from './wire.ts';

/** A request byte for byte. It is stored with its reference and never rendered again. */
export interface RenderedCall {
  readonly method: string;
  /** Below the base address, percent-encoded. */
  readonly path: string;
  /** The exact body, or null for none. */
  readonly body: string | null;
  /** Beside those that every call has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Renders the request of a spending call. Pure: the same purchase and mapping give the same bytes.
 * The specification names `reference`, `quantity` and `days` (Spec 2, 4); the other names come from
 * the mapping. A cancel carries no reference (Spec 7, retry rule 3). Fails with INVARIANT when the
 * operation needs a field that is null.
 */
export function renderRequest(purchase: ReferencedPurchase, wire: Wire): RenderedCall {
  const { operation, currency } = purchase;
  const { operation: _, ...values } = {
    ...purchase,
    balance: currency === null ? null : (wire.balances[currency] ?? null),
  };
  const reference = operation === 'esim_cancel' ? null : purchase.reference;
  const call = { headers: headersOf(wire, reference) };
  if (operation === 'gift_card_order' || operation === 'esim_order') {
    const path = operation === 'esim_order' ? givenPaths.esimOrder : givenPaths.giftCardOrder;
    return { ...call, method: 'POST', path, body: renderBody(wire[operation].body, values) };
  }
  const { method, path, body } = wire[operation];
  assert(purchase.iccid !== null, `an ${operation} has an iccid`);
  const text = body === 'none' ? null : renderBody(body, values);
  return { ...call, method, path: fillPath(path, { iccid: purchase.iccid }), body: text };
}

/** The configured headers; without a reference, those that need one are left out. */
export function headersOf(
  { headers }: Pick<Wire, 'headers'>,
  reference: string | null,
): Readonly<Record<string, string>> {
  const filled = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    value === '{reference}' ? reference : value,
  ]);
  return Object.fromEntries(filled.filter(([, value]) => value !== null));
}
