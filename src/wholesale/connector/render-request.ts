import type { ReferencedPurchase } from '../../core/order/purchase.ts';
import { assert } from '../../core/order-sync-error.ts';
import { fillPath, givenPaths } from './wire-parts.ts';
import type { Wire } from './wire.ts';

/** A request byte for byte. It is stored with its reference and never rendered again. */
export interface RenderedCall {
  readonly method: string;
  /** Below the base address, percent-encoded. */
  readonly path: string;
  /** The exact body, or null for none. */
  readonly body: string | null;
}

/** `off` as a name, and null as a value, omit a field. The order of the fields is fixed: the bytes must not vary. */
function bodyOf(fields: Readonly<Record<string, unknown>>, extra: Readonly<Record<string, unknown>>): string {
  const present = Object.entries(fields).filter(([name, value]) => name !== 'off' && value !== null);
  return JSON.stringify(Object.fromEntries([...present, ...Object.entries(extra)]));
}

/**
 * Renders the request of a spending call. Pure: the same purchase and mapping give the same bytes. The specification
 * names `reference`, `quantity` and `days` (Spec 2, 4); the other names come from the mapping. A cancel carries no
 * reference (Spec 7, retry rule 3). Fails with INVARIANT when the operation needs a field that is null.
 */
export function renderRequest(purchase: ReferencedPurchase, wire: Wire): RenderedCall {
  const { operation, days } = purchase;
  const need = <Name extends keyof ReferencedPurchase>(name: Name): NonNullable<ReferencedPurchase[Name]> => {
    const value = purchase[name];
    assert(value !== null && value !== '', `an ${operation} has a ${name}`);
    return value;
  };
  const reference = need('reference');
  switch (operation) {
    case 'gift_card_order': {
      const { fields, extra } = wire[operation];
      const product = { [fields.variant]: need('variant'), quantity: need('quantity') };
      const body = bodyOf({ reference, ...product, [fields.currency]: need('currency') }, extra);
      return { method: 'POST', path: givenPaths.giftCardOrder, body };
    }
    case 'esim_order': {
      const { fields, extra } = wire[operation];
      const product = { [fields.plan]: need('plan'), quantity: need('quantity') };
      const body = bodyOf({ reference, ...product, [fields.currency]: need('currency'), days }, extra);
      return { method: 'POST', path: givenPaths.esimOrder, body };
    }
    case 'esim_topup': {
      const { method, path, fields, extra } = wire[operation];
      const iccid = need('iccid');
      const product = { [fields.iccid]: iccid, [fields.plan]: need('plan') };
      const body = bodyOf({ reference, ...product, [fields.currency]: need('currency'), days }, extra);
      return { method, path: fillPath(path, { iccid }), body };
    }
    case 'esim_cancel': {
      const { method, path, body, fields, extra } = wire[operation];
      const iccid = need('iccid');
      const text = body === 'none' ? null : bodyOf({ [fields.iccid]: iccid }, extra);
      return { method, path: fillPath(path, { iccid }), body: text };
    }
  }
}
