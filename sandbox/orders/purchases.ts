import { toDecimal } from '../values/money.ts';
import { renderEsim, renderOrder } from './rendering.ts';
import { type Answer, type Call, type Progress, refusal, required } from './call.ts';
import { familyOf, isPurchase, type PurchaseOperation } from '../values/operations.ts';
import type { Order } from './orders.ts';
import type { SandboxState } from './sandbox-state.ts';
import { makeCodes } from './units.ts';

/** Carries out a purchase that passed every check: stores the order, charges the balance and makes the units. */
export function purchase(operation: PurchaseOperation, call: Call, progress: Progress, state: SandboxState): Answer {
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
  const body = JSON.stringify(renderOrder(state.orders.require(number), state, call.arrivedAt));
  state.orders.keepAnswer(number, body);
  return { status: 201, body, orderNumber: number, committed: true };
}

/** Makes the units together with the order. The API shows them once the order is completed. */
function makeUnits(order: Order, call: Call, { product, plan, esim }: Progress, state: SandboxState): void {
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
  const refund = { amount: toDecimal(state.orders.refundEsim(order, esim.iccid, now), currency), currency };
  const body = { ...renderEsim(cancelled, now), number, status: 'refunded', currency, refund };
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
    const message = `The reference "${reference}" already belongs to an order of the other family.`;
    return refusal(409, 'reference_in_use', message);
  }
  const { different_body: differentBody, replay } = state.settings.references;
  if (order.fingerprint !== fingerprint && differentBody === 'refuse') {
    return refusal(422, 'invalid_request', `reference: "${reference}" was used with a different order.`);
  }
  const body = replay === 'stored' && order.answer !== '' ? order.answer : renderOrder(order, state, call.arrivedAt);
  return { status: 200, body, orderNumber: order.number };
}

/** The refusal that this reference met before, if the config says that refusals are remembered. */
function rememberedRefusal(state: SandboxState, account: string, reference: string, family: string): Answer | null {
  if (state.settings.references.after_refusal !== 'remembered') return null;
  const sql = 'SELECT family, status, body FROM refusals WHERE account = ? AND reference = ?';
  const [refused] = state.database.all<{ family: string; status: number; body: string }>(sql, account, reference);
  // There is no order, so the other family can still use the reference.
  return refused?.family === family ? { status: refused.status, body: refused.body } : null;
}

/** Stores the refusal of an order under its reference, if the config says that refusals are remembered. */
export function rememberRefusal(call: Call, progress: Progress, state: SandboxState, answer: Answer): void {
  if (state.settings.references.after_refusal !== 'remembered' || !isPurchase(call.operation)) return;
  const { purchase: ordered, account } = progress;
  if (ordered === undefined || account === undefined) return;
  const row = [account.id, ordered.reference, familyOf(call.operation), answer.status, JSON.stringify(answer.body)];
  state.database.run('INSERT OR IGNORE INTO refusals VALUES (?, ?, ?, ?, ?)', row);
}
