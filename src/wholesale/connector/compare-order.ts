import { familyOf, type Operation } from '../../core/order/operation.ts';
import type { Expectation } from '../../core/order/purchase.ts';
import type { OrderAnswer } from '../../core/decision/order-answer.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { firstAt, iccidIn, textIn } from './answer-values.ts';
import { foreignReference, orderObjectsIn } from './read-answer.ts';
import { quoted } from '../../core/message-text.ts';
import type { Wire } from './wire.ts';

function echoedFields(
  operation: Operation,
  expect: Expectation,
  wire: Wire,
): readonly (readonly [string, string | null])[] {
  const quantity = expect.quantity === null ? null : String(expect.quantity);
  switch (operation) {
    case 'gift_card_order':
      return [
        ['quantity', quantity],
        [wire.gift_card_order.fields.variant, expect.variant],
      ];
    case 'esim_order':
      return [
        ['quantity', quantity],
        [wire.esim_order.fields.plan, expect.plan],
      ];
    case 'esim_topup':
      return [[wire.esim_topup.fields.plan, expect.plan]];
    case 'esim_cancel':
      return [];
  }
}

/** The same text, or the same whole number: some APIs write 2 as 2.0. */
function isSame(echoed: string, expected: string): boolean {
  return echoed === expected || (/^\d+$/.test(expected) && echoed.replace(/\.0+$/, '') === expected);
}

/**
 * Finds out whether an answer speaks of another order than ours. Nothing is required to be repeated, since the
 * specification shows no payload; but what is repeated must be right. Null when nothing speaks against it, else what
 * does, for a person.
 */
export function findMismatch(
  answer: ExactJson,
  read: OrderAnswer,
  operation: Operation,
  expect: Expectation,
  wire: Wire,
): string | null {
  const family = familyOf(operation);
  const foreign = foreignReference(answer, family, expect.reference, wire.answer);
  if (foreign !== null) {
    return `the answer is for the reference ${quoted(foreign)}, not ${quoted(expect.reference ?? '')}`;
  }
  const order = orderObjectsIn(answer, family, wire.answer)[0] ?? answer;
  for (const [name, expected] of echoedFields(operation, expect, wire)) {
    if (expected === null) continue;
    const echoed = firstAt(order, [name], textIn);
    if (echoed !== null && !isSame(echoed, expected)) {
      return `the answer says ${name} ${quoted(echoed)}, asked was ${quoted(expected)}`;
    }
  }
  if (operation === 'esim_topup' || operation === 'esim_cancel') {
    const echoed = firstAt(order, wire.answer.esims.iccid, iccidIn);
    const iccids = [...(echoed === null ? [] : [echoed]), ...read.units.flatMap((unit) => unit.iccid ?? [])];
    if (expect.iccid !== null && iccids.length > 0 && !iccids.includes(expect.iccid)) {
      return `the answer is for the eSIM ${quoted(iccids[0] ?? '')}, not ${quoted(expect.iccid)}`;
    }
  }
  return null;
}
