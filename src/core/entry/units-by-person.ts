import { judgeUnits, type OrderOfUnits } from '../decision/believable-units.ts';
import type { Unit } from '../decision/order-answer.ts';
import { withDelivered } from '../result/delivered-units.ts';
import { missingUnits } from '../result/missing-units.ts';
import type { EntryState } from './states.ts';

interface Resolved extends OrderOfUnits {
  /** What the API delivered so far. */
  readonly units: readonly Unit[];
}

type Entered =
  | { readonly ok: true; readonly units: readonly Unit[] }
  | { readonly ok: false; readonly why: string; readonly hint: string };

const refuse = (why: string, hint: string): Entered => ({ ok: false, why, hint });

/**
 * The units of an entry that a person resolves: those that they entered, and those that the API delivered. `entered` is
 * undefined where the person said nothing, and empty where they know of none. No sentence has a code in it.
 */
export function unitsByPerson(order: Resolved, as: EntryState, entered: readonly Unit[] | undefined): Entered {
  const { reference, units: before } = order;
  if (as !== 'fulfilled') {
    if (entered === undefined || entered.length === 0) return { ok: true, units: before };
    return refuse(`${reference} brought no units as ${as}`, 'only an order that was bought has units');
  }
  const ordered = order.quantity ?? 1;
  if (entered === undefined) {
    const missing = missingUnits(order, before);
    if (missing === 0) return { ok: true, units: before };
    return refuse(
      `${missing} of the ${ordered} units of ${reference} are not in the outbox`,
      'enter them with --units FILE, where - is standard input, or say --no-units: the result then asks for delivery by hand',
    );
  }
  if (entered.length === 0) return { ok: true, units: before };
  if (order.operation !== 'gift_card_order' && order.operation !== 'esim_order') {
    return refuse(`${reference} delivers no units`, 'a top-up and a cancel change an eSIM that the customer has');
  }
  const judged = judgeUnits(entered, order);
  if (judged.shown < entered.length) {
    const what = order.operation === 'esim_order' ? 'an ICCID or an activation code' : 'a code, a pin or a link';
    const unlike = `${entered.length - judged.shown} of the ${entered.length} units do not look like units of this order`;
    return refuse(unlike, `each needs ${what}, which is no placeholder and does not repeat the order`);
  }
  if (judged.kind === 'repeated') return refuse('one of the units is entered twice', 'enter each unit once');
  const units = withDelivered(entered, before);
  if (units.length > ordered) {
    const others = units.length - entered.length;
    const and = others === 0 ? '' : ` and ${others} that the API delivered`;
    return refuse(
      `${entered.length} units${and} are more than the ${ordered} that were ordered`,
      'enter the units of this order only',
    );
  }
  return { ok: true, units };
}
