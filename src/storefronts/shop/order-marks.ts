import { hash } from 'node:crypto';
import { allFields, type Fields, idOf, isObject, listOf } from './payload-values.ts';

const madeFrom = 'cop(?:y|ied)|clon|duplicat|split|replac|exchang|reship|part.of';
const other =
  'attribution|renew|subscri|total|amount|rate|date|time|count|stock|version|url|code|serial|licen|key$|order_number|order_sync';
/** Fields in which plugins write ids or numbers of other orders. */
const namesOrder = new RegExp(
  `^(?!.*(?:${other}|^parent_id$)).*(?:${madeFrom}|order|parent|origin|source|from|main|master)`,
);
/** Fields in which payment plugins keep the id of the payment. A saved card is used again and again. */
const ofPayment = /^(?!.*(?:method|refund)).*(?:(?:intent|transaction|charge|capture|payment)_?id|paypal_order_id)$/;
/** At most letters stand before the digits: it is no code that was delivered. */
const isNumber = /^(?=.{1,24}$)(?:[a-z]+[-_./]?)*\d+(?:[-./]\d+)*$/;

type Mark = readonly [kind: string, value: string];
const as = (kind: string, values: readonly string[]) => values.map((value): Mark => [kind, value]);

/** By what the store finds orders that are one purchase: see the table `storefront_marks`. */
export function marksOf(document: Fields, number: unknown, payment: unknown): readonly Mark[] {
  const fields = allFields(document);
  const own = [document['id'], number].flatMap(numbersIn);
  // The payment of a subscription names its first order, and is a purchase of its own.
  const isRenewal = fields.some(([key]) => key.includes('renew'));
  const items = (listOf(document['line_items']) ?? []).filter(isObject).flatMap(allFields);
  const ofLines = items.filter(([key]) => key.includes('order'));
  const named = [...fields, ...ofLines].flatMap(([key, value]) => {
    if (!/^tags$|note$/.test(key)) return namesOrder.test(key) ? [value] : [];
    return String(value)
      .split(/[,;\n]/)
      .filter((text) => new RegExp(madeFrom, 'i').test(text));
  });
  // Apps that split the order `#1001` call its parts `#1001-A` and so on.
  const [, whole] = /^#?(\d+)[-_ ][a-z]/i.exec(String(number)) ?? [];
  const names = [whole, ...named].flatMap(numbersIn).filter((name) => name === whole || !own.includes(name));
  const others = [...as('part_of', numbersIn(idOf(document['parent_id']))), ...as('names', names.slice(0, 50))];
  const kept = fields.flatMap(([key, value]) => (ofPayment.test(key) && !isRenewal ? [value] : []));
  const payments = [payment, ...kept].filter((id) => typeof id === 'string' && /^(?=.*\d).{4,200}$/.test(id));
  // The key lets anybody see the order, so only its digest is stored.
  const key = document['order_key'];
  const keys = typeof key === 'string' && key !== '' ? [hash('sha256', key)] : [];
  const marks = [...as('is', own), ...as('payment', payments.map(String)), ...as('key', keys)];
  return [...marks, ...(isRenewal ? [] : others)];
}

/** The numbers in a value: `copy-of-1001` has 1001, too. */
function numbersIn(value: unknown): readonly string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  const words = text
    .slice(0, 2000)
    .toLowerCase()
    .split(/[^a-z0-9_./-]+/);
  return words.flatMap((word) => [word, /^[a-z_-]+(\d+)$/.exec(word)?.[1] ?? '']).filter((word) => isNumber.test(word));
}
