import type { OrderAnswer, StatusClass } from '../../core/answers/order-answer.ts';
import {
  type ExactJson,
  type ExactJsonObject,
  isJsonList,
  isJsonObject,
} from '../../core/exact-json.ts';
import { quoted } from '../../core/message-text.ts';
import type { Family } from '../../core/order/purchase.ts';
import {
  amountIn,
  currencyIn,
  firstAt,
  isSameText,
  shownAmount,
  textIn,
  valueAt,
} from './answer-values.ts';
import { failedAnswer, hasErrors, saysItFailed, whyUnrecognised } from './recognise-order.ts';
import { readCodeUnits, readEsimUnits, type ReadUnits } from './read-units.ts';
import type { AnswerWire } from './wire-answer.ts';

/** The order in a success: ours, another one, or none. */
export type SuccessReading =
  | { readonly kind: 'read'; readonly answer: OrderAnswer | null }
  | { readonly kind: 'mismatch'; readonly answer: OrderAnswer; readonly message: string }
  | { readonly kind: 'unreadable'; readonly message: string };

/** The facts of a found order; `order` is its part of the answer. */
type LookupReading =
  | Exclude<SuccessReading, { kind: 'read' }>
  | { readonly kind: 'read'; readonly answer: OrderAnswer; readonly order: ExactJson };

const statusClasses = ['refunded', 'failed', 'done', 'pending'] as const;

const plainWord = (word: string): string =>
  word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');

/**
 * The class of a status word; `none` without a word and for a word that the mapping does not list.
 */
function statusClassOf(status: string | null, wire: AnswerWire): StatusClass {
  if (status === null) return 'none';
  const word = plainWord(status);
  return (
    statusClasses.find((name) =>
      wire.status_words[name].some((known) => plainWord(known) === word),
    ) ?? 'none'
  );
}

function readUnits(order: ExactJson, family: Family, wire: AnswerWire): ReadUnits {
  return family === 'gift_card'
    ? readCodeUnits(order, wire.codes)
    : readEsimUnits(order, wire.esims);
}

/**
 * The objects that may be the order, the likeliest first: the one with most of an order's fields,
 * and among equals the innermost, because a wrapper often has a status of its own.
 */
export function orderObjectsIn(
  answer: ExactJson,
  family: Family,
  wire: AnswerWire,
): readonly ExactJsonObject[] {
  const ranked: { object: ExactJsonObject; found: number; place: number }[] = [];
  wire.envelopes.forEach((path, place) => {
    const object = valueAt(answer, path);
    if (!isJsonObject(object)) return;
    const fields = [wire.number, wire.reference, wire.status, wire.cost, wire.currency];
    const known = fields.filter((paths) => firstAt(object, paths, textIn) !== null).length;
    const found = known + (readUnits(object, family, wire).units.length > 0 ? 1 : 0);
    ranked.push({ object, found, place });
  });
  ranked.sort((a, b) => b.found - a.found || b.place - a.place);
  return ranked.map((entry) => entry.object);
}

/**
 * Every reference in an answer, the likeliest first: an API may keep ours and add a number of its
 * own.
 */
function referencesIn(answer: ExactJson, family: Family, wire: AnswerWire): readonly string[] {
  return orderObjectsIn(answer, family, wire).flatMap((object) =>
    wire.reference.flatMap((path) => firstAt(object, [path], textIn) ?? []),
  );
}

/**
 * The reference of another order, if the answer has references and `expected` is not one of them;
 * else null.
 */
export function foreignReference(
  answer: ExactJson,
  family: Family,
  expected: string | null,
  wire: AnswerWire,
): string | null {
  if (expected === null) return null;
  const shown = referencesIn(answer, family, wire);
  return shown.some((reference) => isSameText(reference, expected)) ? null : (shown[0] ?? null);
}

/** Null where the digits of its currency are not known: a wrong amount would be worse than none. */
function costIn(
  shown: ExactJson,
  currency: string | null,
  { money_minor_digits: digits }: AnswerWire,
): string | null {
  // Some write the currency beside the amount: USD 18.90.
  const value =
    typeof shown === 'string' && currency !== null ? shown.replace(currency, '') : shown;
  if (typeof digits === 'number') return amountIn(value, digits);
  const own = digits[currency ?? 'other'] ?? digits['other'];
  return own === undefined ? null : amountIn(value, own);
}

/**
 * Reads a success answer through the mapping. A field that is not found is null: the specification
 * shows no payload. Never throws.
 */
export function readAnswer(answer: ExactJson, family: Family, wire: AnswerWire): OrderAnswer {
  const objects = orderObjectsIn(answer, family, wire);
  const first = <T>(paths: readonly string[], accept: (value: ExactJson) => T | null): T | null => {
    for (const object of objects) {
      const found = firstAt(object, paths, accept);
      if (found !== null) return found;
    }
    return null;
  };
  const statuses = objects
    .map((object) => firstAt(object, wire.status, textIn))
    .filter((status) => status !== null);
  // A refund counts also where a wrapper around the order says `success`.
  const refunded = statuses.find((status) => statusClassOf(status, wire) === 'refunded');
  const status = refunded ?? statuses[0] ?? null;
  const read = objects.map((object) => readUnits(object, family, wire));
  const delivered =
    read.find(({ units }) => units.length > 0) ??
    read.find(({ unreadFields }) => unreadFields.length > 0);
  const { units = [], unreadFields = [] } = delivered ?? {};
  const currency = first(wire.currency, currencyIn);
  const cost = first(wire.cost, (value) => costIn(value, currency, wire));
  const balanceLeft = first(wire.balance_left, (value) => costIn(value, currency, wire));
  const uncountedCost = cost === null ? first(wire.cost, shownAmount) : null;
  const refund = first(wire.refund, (value) => costIn(value, currency, wire));
  return {
    orderNumber: first(wire.number, textIn),
    reference: first(wire.reference, textIn),
    status,
    statusClass: statusClassOf(status, wire),
    cost,
    ...(uncountedCost === null ? {} : { uncountedCost }),
    ...(balanceLeft === null ? {} : { balanceLeft }),
    currency,
    ...(refund === null ? {} : { refund }),
    units,
    ...(unreadFields.length > 0 ? { unreadFields } : {}),
  };
}

/** Where an API that filters by reference puts the list of found orders. */
const listPlaces = ['$', 'data', 'orders', 'items', 'results', 'list', 'data.orders', 'data.items'];

/** Whether a lookup was answered with an empty list of orders, and with nothing else. */
export const isEmptyList = (body: ExactJson, wire: AnswerWire): boolean =>
  listPlaces.map((path) => valueAt(body, path)).find(isJsonList)?.length === 0 &&
  !hasErrors(body, wire);

/**
 * Reads what a lookup found: one order, or a list with exactly one order that is ours. An empty
 * list, or an object without any field of an order, does not prove that there is no such order:
 * only the error body of Spec 7 does, or `wholesale.wire.lookup.absent`.
 */
export function readLookup(
  body: ExactJson,
  family: Family,
  expectReference: string | null,
  wire: AnswerWire,
): LookupReading {
  if (saysItFailed(body, wire)) return { kind: 'unreadable', message: failedAnswer };
  const whole = readAnswer(body, family, wire);
  const list = listPlaces.map((path) => valueAt(body, path)).find(isJsonList);
  const why = whyUnrecognised(body, whole, 'lookup', wire);
  // The status beside a list is the one of the whole answer, not the one of an order.
  const isOrder =
    whole.reference !== null ||
    whole.orderNumber !== null ||
    whole.units.length > 0 ||
    list === undefined;
  if (why === null && isOrder) {
    const foreign = foreignReference(body, family, expectReference, wire);
    if (foreign === null) return { kind: 'read', answer: whole, order: body };
    const message = `the found order has the reference ${quoted(foreign)}, not ${quoted(expectReference ?? '')}`;
    return { kind: 'mismatch', answer: whole, message };
  }
  if (list === undefined) return { kind: 'unreadable', message: why ?? '' };
  // An element of the list is an order itself: it has no envelope around it.
  const inList = { ...wire, envelopes: ['$', ...wire.envelopes] };
  const ours = list.filter(
    (order) =>
      expectReference !== null &&
      referencesIn(order, family, inList).some((it) => isSameText(it, expectReference)),
  );
  const [order] = ours;
  if (order !== undefined && ours.length === 1)
    return { kind: 'read', answer: readAnswer(order, family, inList), order };
  return {
    kind: 'unreadable',
    message: `a list of ${list.length} orders, ${ours.length} of them with our reference`,
  };
}
