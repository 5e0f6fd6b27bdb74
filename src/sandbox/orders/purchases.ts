import { toDecimal } from '../values/money.ts';
import { type Answer, refusal } from './answers.ts';
import { renderEsim, renderOrder } from './rendering.ts';
import { type Call, required, type Progress } from './call.ts';
import { familyOf, isPurchase, type PurchaseOperation } from '../values/operations.ts';
import type { Order } from './orders.ts';
import type { SandboxState } from './sandbox-state.ts';

/** Carries out a purchase that passed every check: stores the order, charges the balance and makes the units. */
export function purchase(operation: PurchaseOperation, call: Call, progress: Progress, state: SandboxState): Answer {
  const { purchase: wanted, product, plan } = progress;
  const sold = product ?? required(plan, 'plan');
  const { days, ...ordered } = required(wanted, 'purchase');
  const order = state.orders.place(
    {
      ...ordered,
      account: required(progress.account, 'account').id,
      family: familyOf(operation),
      kind: operation,
      days: days ?? null,
      iccid: progress.esim?.iccid ?? null,
      unit_minor: required(progress.unitMinor, 'price'),
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
  const bought = required(plan, 'plan');
  if (esim === undefined) return state.esims.deliver(order, bought);
  state.esims.topUp(esim, order.days ?? bought.validity_days ?? 1, call.arrivedAt);
}

/** Cancels an eSIM that passed every check and refunds its price (Spec 3: once). */
export function cancel(call: Call, progress: Progress, state: SandboxState): Answer {
  const esim = required(progress.esim, 'eSIM');
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

/**
 * Spec 1: a reference identifies one order, whatever it bought. A call with a known reference gets that order, or 409
 * `reference_in_use` when the order belongs to the other family (Spec 7).
 */
export function answerRepeat(call: Call, progress: Progress, state: SandboxState): Answer | null {
  if (!isPurchase(call.operation)) return null;
  const { reference, fingerprint } = required(progress.purchase, 'purchase');
  const account = required(progress.account, 'account').id;
  const family = familyOf(call.operation);
  const order = state.orders.byReference(account, reference);
  if (order === undefined) return rememberedRefusal(state, account, reference, family);
  if (order.family !== family) {
    return refusal(
      409,
      'reference_in_use',
      `The reference "${reference}" already belongs to an order of the other family.`,
    );
  }
  const { different_body: differentBody, replay } = state.settings.references;
  if (order.fingerprint !== fingerprint && differentBody === 'refuse') {
    return refusal(422, 'invalid_request', `reference: "${reference}" was used with a different order.`);
  }
  const body = replay === 'stored' && order.answer !== '' ? order.answer : renderOrder(order, state, call.arrivedAt);
  return { status: 200, body, orderNumber: order.number };
}

type Refused = { family: string; status: number; body: string };

/** The refusal that this reference met before, if the config says that refusals are remembered. */
function rememberedRefusal(state: SandboxState, account: string, reference: string, family: string): Answer | null {
  if (state.settings.references.after_refusal !== 'remembered') return null;
  const refused = state.database
    .prepare<[string, string], Refused>('SELECT family, status, body FROM refusals WHERE account = ? AND reference = ?')
    .get(account, reference);
  // There is no order, so the other family can still use the reference.
  return refused?.family === family ? { status: refused.status, body: refused.body } : null;
}

/** Stores the refusal of an order under its reference, if the config says that refusals are remembered. */
export function rememberRefusal(call: Call, progress: Progress, state: SandboxState, answer: Answer): void {
  if (state.settings.references.after_refusal !== 'remembered' || !isPurchase(call.operation)) return;
  const { purchase: ordered, account } = progress;
  if (ordered === undefined || account === undefined) return;
  state.database
    .prepare('INSERT OR IGNORE INTO refusals VALUES (?, ?, ?, ?, ?)')
    .run(account.id, ordered.reference, familyOf(call.operation), answer.status, JSON.stringify(answer.body));
}
