import { toDecimal } from '../values/money.ts';
import { renderEsim, renderOrder } from './rendering.ts';
import { type Answer, type Call, type Progress, refusal, required } from './call.ts';
import { familyOf, isPurchase, type PurchaseOperation } from '../values/operations.ts';
import type { Order } from './orders.ts';
import type { SandboxState } from './sandbox-state.ts';
import { makeCodes } from './units.ts';

/**
 * Carries out a purchase that passed every check: stores the order, charges the balance and makes
 * the units.
 */
export function purchase(
  operation: PurchaseOperation,
  call: Call,
  progress: Progress,
  state: SandboxState,
): Answer {
  const { purchase: wanted, product, plan, esim } = progress;
  const sold = product ?? required(plan, 'plan');
  const { days, ...ordered } = required(wanted, 'purchase');
  const { mode, delay_ms: delay } = state.settings.fulfilment;
  const isDelayed = (sold.delivery ?? mode) === 'delayed';
  const { number } = state.orders.place(
    {
      ...ordered,
      account: required(progress.account, 'account').id,
      family: familyOf(operation),
      kind: operation,
      days: days ?? null,
      iccid: esim?.iccid ?? null,
      unit_minor: required(progress.unitMinor, 'price'),
      due_at: isDelayed ? call.arrivedAt + Math.round(state.delays.between(delay)) : null,
      outcome: sold.outcome,
    },
    call.arrivedAt,
  );
  if (product !== undefined) state.stock.take(product, ordered.quantity);
  if (sold.outcome === 'completed') makeUnits(state.orders.require(number), call, progress, state);
  const body = renderOrder(state.orders.require(number), state, call.arrivedAt);
  return { status: 201, body, orderNumber: number, committed: true };
}

/** Makes the units together with the order. The API shows them once the order is completed. */
function makeUnits(
  order: Order,
  call: Call,
  { product, plan, esim }: Progress,
  state: SandboxState,
): void {
  if (product !== undefined) {
    return state.orders.keepCodes(order.number, makeCodes(order, product.category, state.seed));
  }
  const bought = required(plan, 'plan');
  if (esim === undefined) return state.esims.deliver(order, bought);
  state.esims.topUp(esim, order.days ?? bought.validity_days ?? 1, call.arrivedAt);
}

/** Cancels an eSIM that passed every check and refunds its price (Spec 3: once). */
export function cancel({ arrivedAt: now }: Call, progress: Progress, state: SandboxState): Answer {
  const esim = required(progress.esim, 'eSIM');
  const order = state.orders.require(esim.order_number);
  const { number, currency } = order;
  const cancelled = { ...esim, cancelled_at: now };
  state.esims.update(cancelled);
  const refund = {
    amount: toDecimal(state.orders.refundEsim(order, esim.iccid, now), currency),
    currency,
  };
  const body = { ...renderEsim(cancelled, now), number, status: 'refunded', currency, refund };
  return { status: 200, body, orderNumber: number, committed: true };
}

/**
 * Spec 1: a reference identifies one order, whatever it bought. A call with a known reference gets
 * that order as it is now, or 409 `reference_in_use` when the order belongs to the other family
 * (Spec 7).
 */
export function answerRepeat(call: Call, progress: Progress, state: SandboxState): Answer | null {
  if (!isPurchase(call.operation)) return null;
  const { reference } = required(progress.purchase, 'purchase');
  const account = required(progress.account, 'account').id;
  const family = familyOf(call.operation);
  const order = state.orders.byReference(account, reference);
  if (order === undefined) return null;
  if (order.family !== family) {
    const message = `The reference "${reference}" already belongs to an order of the other family.`;
    return refusal(409, 'reference_in_use', message);
  }
  return {
    status: 200,
    body: renderOrder(order, state, call.arrivedAt),
    orderNumber: order.number,
  };
}
