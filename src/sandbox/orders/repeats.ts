import { type Answer, refusal } from '../http/answers.ts';
import { renderOrder } from '../http/rendering.ts';
import { type Call, found, type Progress } from './call.ts';
import { familyOf, isPurchase } from './operations.ts';
import type { SandboxState } from './sandbox-state.ts';

/**
 * Spec 1: a reference identifies one order, whatever it bought. A call with a known reference gets that order, or 409
 * `reference_in_use` when the order belongs to the other family (Spec 7).
 */
export function answerRepeat(call: Call, progress: Progress, state: SandboxState): Answer | null {
  if (!isPurchase(call.operation)) return null;
  const { reference, fingerprint } = found(progress.purchase, 'purchase');
  const account = found(progress.account, 'account').id;
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
  const { purchase, account } = progress;
  if (purchase === undefined || account === undefined) return;
  state.database
    .prepare('INSERT OR IGNORE INTO refusals VALUES (?, ?, ?, ?, ?)')
    .run(account.id, purchase.reference, familyOf(call.operation), answer.status, JSON.stringify(answer.body));
}
