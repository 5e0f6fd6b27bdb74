import type { ReferencedPurchase } from '../../core/order/purchase.ts';
import { assert } from '../../core/order-sync-error.ts';
import { fillPath, givenPaths } from './wire-path.ts';
import type { Wire } from './wire.ts';

/** A request as it will be sent, byte for byte; it is stored and never rendered again. */
export interface RenderedCall {
  readonly method: string;
  /** Below the base address, percent-encoded. */
  readonly path: string;
  /** The exact body, or null for none. */
  readonly body: string | null;
}

function needed<T>(value: T | null, name: string, purchase: ReferencedPurchase): T {
  assert(value !== null && value !== '', `an ${purchase.operation} has a ${name}`);
  return value;
}

/** The body of a buying call. The order of its keys is fixed, so that equal facts are equal bytes. */
function buyingBody(fields: readonly (readonly [string, unknown])[], extra: Readonly<Record<string, unknown>>): string {
  const present = fields.filter(([name, value]) => name !== 'off' && value !== null);
  return JSON.stringify(Object.fromEntries([...present, ...Object.entries(extra)]));
}

/**
 * Writes the request of a spending call. Pure: the same facts and the same mapping give the same bytes. `reference`,
 * `quantity` and `days` are named by the specification (Spec 2, 4); the other names come from the mapping. A cancel
 * carries no reference (Spec 7, retry rule 3). Fails with INVARIANT when a fact that the operation needs is missing.
 */
export function renderRequest(purchase: ReferencedPurchase, wire: Wire): RenderedCall {
  const reference = needed(purchase.reference, 'reference', purchase);
  switch (purchase.operation) {
    case 'gift_card_order': {
      const { fields, extra } = wire.gift_card_order;
      const body = buyingBody(
        [
          ['reference', reference],
          [fields.variant, needed(purchase.variant, 'variant', purchase)],
          ['quantity', needed(purchase.quantity, 'quantity', purchase)],
          [fields.currency, needed(purchase.currency, 'currency', purchase)],
        ],
        extra,
      );
      return { method: 'POST', path: givenPaths.giftCardOrder, body };
    }
    case 'esim_order': {
      const { fields, extra } = wire.esim_order;
      const body = buyingBody(
        [
          ['reference', reference],
          [fields.plan, needed(purchase.plan, 'plan', purchase)],
          ['quantity', needed(purchase.quantity, 'quantity', purchase)],
          [fields.currency, needed(purchase.currency, 'currency', purchase)],
          ['days', purchase.days],
        ],
        extra,
      );
      return { method: 'POST', path: givenPaths.esimOrder, body };
    }
    case 'esim_topup': {
      const { method, path, fields, extra } = wire.esim_topup;
      const iccid = needed(purchase.iccid, 'iccid', purchase);
      const body = buyingBody(
        [
          ['reference', reference],
          [fields.iccid, iccid],
          [fields.plan, needed(purchase.plan, 'plan', purchase)],
          [fields.currency, needed(purchase.currency, 'currency', purchase)],
          ['days', purchase.days],
        ],
        extra,
      );
      return { method, path: fillPath(path, { iccid }), body };
    }
    case 'esim_cancel': {
      const { method, path, body, fields, extra } = wire.esim_cancel;
      const iccid = needed(purchase.iccid, 'iccid', purchase);
      const text = body === 'none' ? null : buyingBody([[fields.iccid, iccid]], extra);
      return { method, path: fillPath(path, { iccid }), body: text };
    }
  }
}
