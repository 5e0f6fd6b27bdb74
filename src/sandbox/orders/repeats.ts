import { type Answer, refusal, success } from '../http/answers.ts';
import { type Call, found, type Progress } from './call.ts';
import { familyOf, isPurchase } from './operations.ts';
import type { Order } from './orders.ts';
import { renderEsimOrder, renderGiftCardOrder } from '../http/rendering.ts';
import type { Shelf } from './sandbox-state.ts';

/**
 * Spec 1: a reference identifies one order, whatever it bought. A call whose reference is known is answered with that
 * order, or with 409 `reference_in_use` when it belongs to the other family (Spec 7).
 */
export function repeatOf(call: Call, progress: Progress, shelf: Shelf): Answer | null {
  if (!isPurchase(call.operation)) return null;
  const { reference, fingerprint } = found(progress.purchase, 'purchase');
  const account = found(progress.account, 'account').id;
  const family = familyOf(call.operation);
  const order = shelf.orders.byReference(account, reference);
  if (order === undefined) return rememberedRefusal(shelf, account, reference, family);
  if (order.family !== family) {
    return refusal(
      409,
      'reference_in_use',
      `The reference "${reference}" already belongs to an order of the other family.`,
    );
  }
  if (order.fingerprint !== fingerprint && shelf.settings.references.different_body === 'refuse') {
    return refusal(422, 'invalid_request', `reference: "${reference}" was used with a different order.`);
  }
  if (shelf.settings.references.replay === 'stored' && order.answer !== '') {
    return { status: 200, body: order.answer, orderNumber: order.number };
  }
  return success(200, renderOrder(order, shelf, call.arrivedAt), { orderNumber: order.number });
}

export function renderOrder(order: Order, shelf: Shelf, now: number): object {
  if (order.family === 'gift_card') return renderGiftCardOrder(order, shelf.codes.of(order));
  const esims =
    order.iccid === null
      ? shelf.esims.ofOrder(order.number)
      : [shelf.esims.byIccid(order.account, order.iccid)].filter((esim) => esim !== undefined);
  return renderEsimOrder(order, esims, now);
}

type Refused = { family: string; status: number; body: string };

/** Only when the config says that a 4xx burns its reference: the same answer as the first time. */
function rememberedRefusal(shelf: Shelf, account: string, reference: string, family: string): Answer | null {
  if (shelf.settings.references.after_refusal !== 'remembered') return null;
  const refused = shelf.database
    .prepare<[string, string], Refused>('SELECT family, status, body FROM refusals WHERE account = ? AND reference = ?')
    .get(account, reference);
  if (refused === undefined) return null;
  // No order exists, so the other family may still use the reference; only its own repeat is answered alike.
  return refused.family === family ? { status: refused.status, body: refused.body } : null;
}

/** Keeps a refusal that speaks about the order itself, for as long as the database lives. */
export function rememberRefusal(call: Call, progress: Progress, shelf: Shelf, answer: Answer): void {
  if (shelf.settings.references.after_refusal !== 'remembered' || !isPurchase(call.operation)) return;
  const { purchase, account } = progress;
  if (purchase === undefined || account === undefined) return;
  shelf.database
    .prepare('INSERT OR IGNORE INTO refusals VALUES (?, ?, ?, ?, ?)')
    .run(account.id, purchase.reference, familyOf(call.operation), answer.status, JSON.stringify(answer.body));
}
