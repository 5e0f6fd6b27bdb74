import type { Family } from '../../core/order/operation.ts';
import type { OrderAnswer, StatusClass, Unit } from '../../core/decision/order-answer.ts';
import { isJsonObject, type ExactJsonObject, type ExactJson } from '../../core/exact-json.ts';
import { amountIn, currencyIn, firstAt, textIn, valueAt } from './answer-values.ts';
import { readCodeUnits, readEsimUnits } from './read-units.ts';
import type { AnswerWire } from './wire-answer.ts';

const classes = ['refunded', 'failed', 'done', 'pending'] as const;

const bareWord = (word: string): string =>
  word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');

/** The class of a status word; `none` for no word and for one that the mapping does not know. */
export function statusClassOf(status: string | null, wire: AnswerWire): StatusClass {
  if (status === null) return 'none';
  const word = bareWord(status);
  return classes.find((name) => wire.status_words[name].some((known) => bareWord(known) === word)) ?? 'none';
}

function readUnits(order: ExactJson, family: Family, wire: AnswerWire): readonly Unit[] {
  return family === 'gift_card' ? readCodeUnits(order, wire.codes) : readEsimUnits(order, wire.esims);
}

/**
 * The objects in which an order may stand, the likeliest first: the one in which most of its fields are found, and of
 * equals the innermost, because a wrapper often has a status of its own.
 */
export function orderObjectsIn(answer: ExactJson, family: Family, wire: AnswerWire): readonly ExactJsonObject[] {
  const ranked: { object: ExactJsonObject; found: number; place: number }[] = [];
  wire.envelopes.forEach((path, place) => {
    const object = valueAt(answer, path);
    if (!isJsonObject(object)) return;
    const fields = [wire.number, wire.reference, wire.status, wire.cost, wire.currency];
    const known = fields.filter((paths) => firstAt(object, paths, textIn) !== null).length;
    const found = known + (readUnits(object, family, wire).length > 0 ? 1 : 0);
    ranked.push({ object, found, place });
  });
  ranked.sort((a, b) => b.found - a.found || b.place - a.place);
  return ranked.map((entry) => entry.object);
}

/** Every reference that an answer shows, the likeliest first: an API may number orders besides keeping ours. */
export function referencesIn(answer: ExactJson, family: Family, wire: AnswerWire): readonly string[] {
  return orderObjectsIn(answer, family, wire).flatMap((object) =>
    wire.reference.flatMap((path) => firstAt(object, [path], textIn) ?? []),
  );
}

/**
 * Whether an answer speaks of another order than ours: it shows a reference, and ours is not among those that it
 * shows. An answer without any says nothing.
 */
export function foreignReference(
  answer: ExactJson,
  family: Family,
  expected: string | null,
  wire: AnswerWire,
): string | null {
  if (expected === null) return null;
  const shown = referencesIn(answer, family, wire);
  return shown.includes(expected) ? null : (shown[0] ?? null);
}

/**
 * Reads a success answer through the mapping. What cannot be found is null: the specification shows no payload.
 * Never throws, whatever the answer.
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
  const statuses = objects.map((object) => firstAt(object, wire.status, textIn)).filter((status) => status !== null);
  // Money that is back must not be overlooked because a wrapper around the order says `success`.
  const refunded = statuses.find((status) => statusClassOf(status, wire) === 'refunded');
  const status = refunded ?? statuses[0] ?? null;
  return {
    orderNumber: first(wire.number, textIn),
    reference: first(wire.reference, textIn),
    status,
    statusClass: statusClassOf(status, wire),
    cost: first(wire.cost, (value) => amountIn(value, wire.money_minor_digits)),
    currency: first(wire.currency, currencyIn),
    units: objects.map((object) => readUnits(object, family, wire)).find((units) => units.length > 0) ?? [],
  };
}
