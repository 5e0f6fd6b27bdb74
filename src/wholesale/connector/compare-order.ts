import type { OrderAnswer } from '../../core/answers/order-answer.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { quoted } from '../../core/message-text.ts';
import {
  type Expectation,
  familyOf,
  type Operation,
  type Purchase,
} from '../../core/order/purchase.ts';
import { currencyIn, firstAt, iccidIn, isSameText, numberIn, textIn } from './answer-values.ts';
import { placeholdersIn } from './request-body.ts';
import { foreignReference, orderObjectsIn } from './read-answer.ts';
import type { ComparedField, Wire } from './wire.ts';

/**
 * Compares the answer to a submission with the order that was sent. The specification shows no
 * payload, so the answer may repeat nothing. Repeated values must be right. Returns the first
 * difference as a sentence, or null.
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
  for (const { field, names, value, read: readShown } of comparisons(operation, expect, wire)) {
    // Answers use the other names for something else: only what a lookup finds is compared by them.
    if (field !== 'quantity' && field !== 'product') continue;
    const shown = value === null ? null : firstAt(order, names, readShown);
    if (value !== null && shown !== null && differs(shown, value)) {
      return `the answer shows the ${names[0] ?? ''} ${quoted(String(shown))}, but ${quoted(String(value))} was ordered`;
    }
  }
  const { cost, currency } = read;
  const isCharged = cost !== null && currency !== null && wire.lookup.compare.includes('currency');
  if (
    isCharged &&
    expect.currency &&
    operation !== 'esim_cancel' &&
    differs(currency, expect.currency)
  )
    return `the answer charges ${quoted(currency)}, but the order named the balance ${quoted(expect.currency)}`;
  if (operation === 'esim_topup' || operation === 'esim_cancel') {
    const shown = firstAt(order, wire.answer.esims.iccid, iccidIn);
    const iccids = [
      ...(shown === null ? [] : [shown]),
      ...read.units.flatMap((unit) => unit.iccid ?? []),
    ];
    if (expect.iccid !== null && iccids.length > 0 && !iccids.includes(expect.iccid)) {
      return `the answer is for the eSIM ${quoted(iccids[0] ?? '')}, not ${quoted(expect.iccid)}`;
    }
  }
  return null;
}

/**
 * Whether a shown value is another one than what was ordered. Text is compared by value. A smaller
 * quantity may mean what was delivered so far: the units decide whether the order is complete.
 */
function differs(shown: string | number, ordered: string | number): boolean {
  return typeof ordered === 'number'
    ? Number(shown) > ordered
    : !isSameText(String(shown), ordered);
}

/**
 * Compares the order that a lookup found with the purchase that its reference stands for. A found
 * order may omit fields and use other names and forms: only a field counts that has the name of the
 * request and the form in which it was ordered. Returns the first difference as a sentence, or
 * null.
 */
export function findDifference(found: ExactJson, ordered: Purchase, wire: Wire): string | null {
  const order = orderObjectsIn(found, familyOf(ordered.operation), wire.answer)[0] ?? found;
  for (const { field, names, value, read } of comparisons(ordered.operation, ordered, wire)) {
    if (value === null || !wire.lookup.compare.includes(field)) continue;
    const shown = firstAt(order, names, read);
    if (shown !== null && differs(shown, value)) {
      const [told, asked] = [quoted(String(shown)), quoted(String(value))];
      return `the order found under this reference has the ${field} ${told}, but ${asked} was ordered`;
    }
  }
  return null;
}

/**
 * Whether a found order shows every field that says what was bought: none of these can be another
 * one then.
 */
export function showsGoods(found: ExactJson, ordered: Purchase, wire: Wire): boolean {
  const order = orderObjectsIn(found, familyOf(ordered.operation), wire.answer)[0] ?? found;
  return comparisons(ordered.operation, ordered, wire)
    .filter(
      ({ field, value }) => value !== null && ['product', 'quantity', 'iccid'].includes(field),
    )
    .every(
      ({ field, names, read }) =>
        wire.lookup.compare.includes(field) && firstAt(order, names, read) !== null,
    );
}

interface Comparison {
  readonly field: ComparedField;
  readonly names: readonly string[];
  /** As it was ordered; null: not compared. */
  readonly value: string | number | null;
  /** The shown value in the form of `value`; null when it has another form. */
  readonly read: (shown: ExactJson) => string | number | null;
}

/**
 * The fields that an answer may repeat, under the names of the request; an `Expectation` has
 * neither days nor currency.
 */
function comparisons(
  operation: Operation,
  ordered: Pick<Purchase, 'variant' | 'plan' | 'iccid' | 'quantity'> &
    Partial<Pick<Purchase, 'days' | 'currency'>>,
  wire: Wire,
): readonly Comparison[] {
  if (operation === 'esim_cancel') return [];
  const { body } = wire[operation];
  // An answer repeats a value under the name that its field has in the request.
  const nameOf = (name: string): string =>
    String(
      placeholdersIn(body)
        .find((one) => one.name === name)
        ?.path.at(-1) ?? name,
    );
  const isCard = operation === 'gift_card_order';
  const [productName, product] = isCard
    ? [nameOf('variant'), ordered.variant]
    : [nameOf('plan'), ordered.plan];
  // The eSIMs of a new order are not known before; only a top-up names one.
  const iccid = operation === 'esim_topup' ? ordered.iccid : null;
  const { quantity, days = null, currency = null } = ordered;
  return [
    { field: 'quantity', names: ['quantity'], value: quantity, read: numberIn },
    { field: 'product', names: [productName], value: product, read: textIn },
    {
      field: 'days',
      names: ['days'],
      value: days === null ? null : String(days),
      read: wholeNumberIn,
    },
    { field: 'currency', names: [nameOf('currency')], value: currency, read: currencyIn },
    { field: 'iccid', names: wire.answer.esims.iccid, value: iccid, read: iccidIn },
  ];
}

/** A number as text; another number of days is another purchase, whether larger or smaller. */
const wholeNumberIn = (shown: ExactJson): string | null =>
  /^(\d+)(?:\.0+)?$/.exec(textIn(shown) ?? '')?.[1] ?? null;
