import { toDecimal } from '../account/money.ts';
import type { Answer } from '../http/answers.ts';
import { renderEsim, renderOrder } from '../http/rendering.ts';
import { type Call, found, type Progress } from './call.ts';
import { familyOf, type PurchaseOperation } from './operations.ts';
import type { Order } from './orders.ts';
import type { SandboxState } from './sandbox-state.ts';

/** Carries out a purchase that passed every check: stores the order, charges the balance and makes the units. */
export function purchase(operation: PurchaseOperation, call: Call, progress: Progress, state: SandboxState): Answer {
  const { purchase: wanted, product, plan } = progress;
  const sold = product ?? found(plan, 'plan');
  const { days, ...ordered } = found(wanted, 'purchase');
  const order = state.orders.place(
    {
      ...ordered,
      account: found(progress.account, 'account').id,
      family: familyOf(operation),
      kind: operation,
      days: days ?? null,
      iccid: progress.esim?.iccid ?? null,
      unit_minor: found(progress.unitMinor, 'price'),
      dueAt: dueAt(sold.delivery, call.arrivedAt, state),
      outcome: sold.outcome,
    },
    call.arrivedAt,
  );
  if (product !== undefined) state.stock.take(product, order.quantity);
  if (sold.outcome === 'completed') makeUnits(order, call, progress, state);
  const body = JSON.stringify(renderOrder(order, state, call.arrivedAt));
  state.orders.keepAnswer(order.number, body);
  return { status: 201, body, orderNumber: order.number, committed: true };
}

function dueAt(delivery: 'immediate' | 'delayed' | undefined, now: number, state: SandboxState): number | null {
  const { mode, delay_ms: delay } = state.settings.fulfilment;
  return (delivery ?? mode) === 'delayed' ? now + Math.round(state.delays.between(delay)) : null;
}

/** Makes the units together with the order. The API shows them once the order is completed. */
function makeUnits(order: Order, call: Call, { product, plan, esim }: Progress, state: SandboxState): void {
  if (product !== undefined) return state.codes.deliver(order, product.category);
  const bought = found(plan, 'plan');
  if (esim === undefined) return state.esims.deliver(order, bought);
  state.esims.topUp(esim, order.days ?? bought.validity_days ?? 1, call.arrivedAt);
}

/** Cancels an eSIM that passed every check and refunds its price (Spec 3: once). */
export function cancel(call: Call, progress: Progress, state: SandboxState): Answer {
  const esim = found(progress.esim, 'eSIM');
  const order = state.orders.require(esim.order_number);
  const { number, currency } = order;
  state.esims.cancel(esim, call.arrivedAt);
  const refunded = state.orders.refundEsim(order, esim.iccid, call.arrivedAt);
  const body = {
    ...renderEsim({ ...esim, cancelled_at: call.arrivedAt }, call.arrivedAt),
    number,
    status: 'refunded',
    currency,
    refund: { amount: toDecimal(refunded, currency), currency },
  };
  return { status: 200, body, orderNumber: number, committed: true };
}
