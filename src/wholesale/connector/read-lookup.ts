import type { Family } from '../../core/order/operation.ts';
import type { OrderAnswer } from '../../core/decision/order-answer.ts';
import type { SuccessReading } from '../classify.ts';
import { isJsonList, type ExactJson } from '../../core/exact-json.ts';
import { valueAt } from './answer-values.ts';
import { quoted } from '../../core/message-text.ts';
import { foreignReference, readAnswer, referencesIn } from './read-answer.ts';
import type { AnswerWire } from './wire-answer.ts';

/** A success, with the order in it that is ours. */
export type LookupReading =
  | Exclude<SuccessReading, { kind: 'read' }>
  | { readonly kind: 'read'; readonly answer: OrderAnswer; readonly order: ExactJson };

/** Where an API that filters by reference puts the orders that it found. */
const listPlaces = ['$', 'data', 'orders', 'items', 'results', 'list', 'data.orders', 'data.items'];

function saysNothing(answer: OrderAnswer): boolean {
  return (
    answer.orderNumber === null && answer.reference === null && answer.status === null && answer.units.length === 0
  );
}

function listOf(body: ExactJson): readonly ExactJson[] | null {
  for (const path of listPlaces) {
    const value = valueAt(body, path);
    if (isJsonList(value)) return value;
  }
  return null;
}

/**
 * Reads what a lookup found: one order, or a list in which exactly one is ours. An object without a trace of an order
 * is none, and an empty list does not say that there is no such order: only the error body of the specification does.
 */
export function readLookup(
  body: ExactJson,
  family: Family,
  expectReference: string | null,
  wire: AnswerWire,
): LookupReading {
  const whole = readAnswer(body, family, wire);
  const list = saysNothing(whole) ? listOf(body) : null;
  if (list !== null) {
    const ours = list.filter(
      (order) => expectReference !== null && referencesIn(order, family, wire).includes(expectReference),
    );
    const [only] = ours;
    if (only !== undefined && ours.length === 1)
      return { kind: 'read', answer: readAnswer(only, family, wire), order: only };
    return { kind: 'unreadable', message: `a list of ${list.length} orders, of which ${ours.length} are ours` };
  }
  if (saysNothing(whole)) return { kind: 'unreadable', message: 'an answer in which no order can be recognised' };
  const foreign = foreignReference(body, family, expectReference, wire);
  if (foreign !== null) {
    const message = `the found order has the reference ${quoted(foreign)}, not ${quoted(expectReference ?? '')}`;
    return { kind: 'mismatch', answer: whole, message };
  }
  return { kind: 'read', answer: whole, order: body };
}
