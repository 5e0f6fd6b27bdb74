import type { OrderAnswer } from '../../core/decision/order-answer.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { quoted } from '../../core/message-text.ts';
import { familyOf, type Operation } from '../../core/order/operation.ts';
import type { Expectation, Purchase } from '../../core/order/purchase.ts';
import { currencyIn, firstAt, iccidIn, textIn } from './answer-values.ts';
import { foreignReference, orderObjectsIn } from './read-answer.ts';
import type { ComparedField, Wire } from './wire.ts';

/**
 * Compares the answer to a submission with the order that was sent. The specification shows no payload, so the answer
 * may repeat nothing; what it repeats must be right. Returns the first difference as a sentence, or null.
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
  for (const [name, ordered] of repeatedFields(operation, expect, wire)) {
    if (ordered === null) continue;
    const shown = firstAt(order, [name], textIn);
    if (shown !== null && !isSame(shown, ordered)) {
      return `the answer shows the ${name} ${quoted(shown)}, but ${quoted(ordered)} was ordered`;
    }
  }
  if (operation === 'esim_topup' || operation === 'esim_cancel') {
    const shown = firstAt(order, wire.answer.esims.iccid, iccidIn);
    const iccids = [...(shown === null ? [] : [shown]), ...read.units.flatMap((unit) => unit.iccid ?? [])];
    if (expect.iccid !== null && iccids.length > 0 && !iccids.includes(expect.iccid)) {
      return `the answer is for the eSIM ${quoted(iccids[0] ?? '')}, not ${quoted(expect.iccid)}`;
    }
  }
  return null;
}

/** What an answer may repeat, under the names of the request. */
function repeatedFields(
  operation: Operation,
  expect: Expectation,
  wire: Wire,
): readonly (readonly [string, string | null])[] {
  switch (operation) {
    case 'gift_card_order':
      return [
        ['quantity', numberText(expect.quantity)],
        [wire.gift_card_order.fields.variant, expect.variant],
      ];
    case 'esim_order':
      return [
        ['quantity', numberText(expect.quantity)],
        [wire.esim_order.fields.plan, expect.plan],
      ];
    case 'esim_topup':
      return [[wire.esim_topup.fields.plan, expect.plan]];
    case 'esim_cancel':
      return [];
  }
}

/** The same text, or the same whole number: some APIs write 2 as 2.0. */
function isSame(shown: string, ordered: string): boolean {
  return shown === ordered || (/^\d+$/.test(ordered) && shown.replace(/\.0+$/, '') === ordered);
}

/**
 * Compares the order that a lookup found with the purchase that its reference stands for. A found order may omit
 * fields and use other names and forms: only a field counts that has the name of the request and the form in which it
 * was ordered. Returns the first difference as a sentence, or null.
 */
export function findDifference(found: ExactJson, ordered: Purchase, wire: Wire): string | null {
  const order = orderObjectsIn(found, familyOf(ordered.operation), wire.answer)[0] ?? found;
  for (const { field, names, value, read } of comparisons(ordered, wire)) {
    if (value === null || !wire.lookup.compare.includes(field)) continue;
    const shown = firstAt(order, names, read);
    if (shown !== null && shown !== value) {
      return `the order found under this reference has the ${field} ${quoted(shown)}, but ${quoted(value)} was ordered`;
    }
  }
  return null;
}

interface Comparison {
  readonly field: ComparedField;
  readonly names: readonly string[];
  /** As it was ordered; null: not compared. */
  readonly value: string | null;
  /** The shown value in the form of `value`; null when it has another form. */
  readonly read: (shown: ExactJson) => string | null;
}

function comparisons(ordered: Purchase, wire: Wire): readonly Comparison[] {
  const { operation } = ordered;
  if (operation === 'esim_cancel') return [];
  const { fields } = wire[operation];
  const [productName, product] = 'variant' in fields ? [fields.variant, ordered.variant] : [fields.plan, ordered.plan];
  // The eSIMs of a new order are not known before; only a top-up names one.
  const iccid = operation === 'esim_topup' ? ordered.iccid : null;
  return [
    { field: 'product', names: [productName], value: product, read: textIn },
    { field: 'quantity', names: ['quantity'], value: numberText(ordered.quantity), read: wholeNumberIn },
    { field: 'days', names: ['days'], value: numberText(ordered.days), read: wholeNumberIn },
    { field: 'currency', names: [fields.currency], value: ordered.currency, read: currencyIn },
    { field: 'iccid', names: wire.answer.esims.iccid, value: iccid, read: iccidIn },
  ];
}

const numberText = (value: number | null): string | null => (value === null ? null : String(value));
const wholeNumberIn = (shown: ExactJson): string | null => /^(\d+)(?:\.0+)?$/.exec(textIn(shown) ?? '')?.[1] ?? null;
