import { type Answer, success } from '../http/answers.ts';
import { type Call, found, type Progress } from './call.ts';
import { familyOf, type PurchaseOperation } from './operations.ts';
import type { Order } from './orders.ts';
import { renderEsim, renderGiftCardOrder } from '../http/rendering.ts';
import { renderOrder } from './repeats.ts';
import { toDecimal } from '../account/money.ts';
import type { Shelf } from './sandbox-state.ts';

/** Carries out a purchase that passed every check: the order, the charge and the units in one transaction. */
export function purchase(operation: PurchaseOperation, call: Call, progress: Progress, shelf: Shelf): Answer {
  const { reference, item, quantity, days, currency, fingerprint } = found(progress.purchase, 'purchase');
  const sold = progress.product ?? found(progress.plan, 'plan');
  const order = shelf.orders.place(
    {
      account: found(progress.account, 'account').id,
      channel: 'api',
      family: familyOf(operation),
      kind: operation,
      reference,
      fingerprint,
      item,
      quantity,
      days: days ?? null,
      iccid: progress.esim?.iccid ?? null,
      currency,
      unit_minor: found(progress.unitMinor, 'price'),
      dueAt: dueAt(sold.delivery, call.arrivedAt, shelf),
      outcome: sold.outcome,
    },
    call.arrivedAt,
  );
  if (progress.product !== undefined) shelf.stock.take(progress.product, quantity);
  if (sold.outcome === 'completed') deliver(order, call, progress, shelf);
  const answer = JSON.stringify(renderOrder(order, shelf, call.arrivedAt));
  shelf.orders.keepAnswer(order.number, answer);
  return { status: 201, body: answer, orderNumber: order.number, committed: true };
}

function dueAt(delivery: 'immediate' | 'delayed' | undefined, now: number, shelf: Shelf): number | null {
  const { mode, delay_ms: delay } = shelf.settings.fulfilment;
  return (delivery ?? mode) === 'delayed' ? now + Math.round(shelf.delays.between(delay)) : null;
}

/** Units are made with the order and shown once it is completed. */
function deliver(order: Order, call: Call, progress: Progress, shelf: Shelf): void {
  const { product, plan, esim } = progress;
  if (product !== undefined) return shelf.codes.deliver(order, product.category);
  const bought = found(plan, 'plan');
  if (esim === undefined) return shelf.esims.deliver(order, bought);
  shelf.esims.topUp(esim, order.days ?? bought.validity_days ?? 1, call.arrivedAt);
}

/** Cancels an eSIM that passed every check and gives its price back (Spec 3: once). */
export function cancel(call: Call, progress: Progress, shelf: Shelf): Answer {
  const esim = found(progress.esim, 'eSIM');
  const order = shelf.orders.require(esim.order_number);
  shelf.esims.cancel(esim, call.arrivedAt);
  const refunded = shelf.orders.refundEsim(order, esim.iccid, call.arrivedAt);
  const cancelled = { ...esim, cancelled_at: call.arrivedAt };
  return success(
    200,
    {
      ...renderEsim(cancelled, call.arrivedAt),
      number: order.number,
      status: 'refunded',
      currency: order.currency,
      refund: { amount: toDecimal(refunded, order.currency), currency: order.currency },
    },
    { orderNumber: order.number, committed: true },
  );
}

/** A product bought on the website by the account holder: an order that no key can read (Spec 5.9). */
export function buyOnWebsite(
  account: string,
  variant: string,
  currency: string,
  now: number,
  shelf: Shelf,
): { order: Order; units: ReturnType<typeof renderGiftCardOrder> } | { problem: string } {
  const product = shelf.catalogue.products.get(variant);
  const unitMinor = product?.prices.get(currency);
  if (product === undefined || unitMinor === undefined) return { problem: 'There is no such product at that price.' };
  if (shelf.stock.available(product) < 1) return { problem: 'The product is out of stock.' };
  if (shelf.accounts.balance(account, currency) < unitMinor) return { problem: 'The balance does not cover it.' };
  const order = shelf.orders.place(
    {
      account,
      channel: 'website',
      family: 'gift_card',
      kind: 'gift_card_order',
      reference: null,
      fingerprint: '',
      item: variant,
      quantity: 1,
      days: null,
      iccid: null,
      currency,
      unit_minor: unitMinor,
      dueAt: null,
      outcome: 'completed',
    },
    now,
  );
  shelf.stock.take(product, 1);
  shelf.codes.deliver(order, product.category);
  return { order, units: renderGiftCardOrder(order, shelf.codes.of(order)) };
}
