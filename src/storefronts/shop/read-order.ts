import {
  type Fields,
  type FieldProblem,
  idOf,
  isNothing,
  isObject,
  listOf,
  shown,
  allFields,
} from './payload-values.ts';
import type { ReadContext, ShopOrderLine, UnreadableShopLine } from './shop-order.ts';
import { hash } from 'node:crypto';
import { customerIn } from '../../core/order/customer.ts';

/**
 * Whether it is an order, which alone has `fields`. Others have lines, too: drafts, carts,
 * checkouts, fulfillments.
 */
export function looksLikeOrder(
  document: unknown,
  context: Pick<ReadContext, 'topic' | 'isListed'>,
  fields: readonly string[],
): document is Fields {
  if (!isObject(document)) return false;
  if (context.isListed) return true;
  const isAboutOrders = /^orders?[./]/.test(context.topic ?? '');
  return 'line_items' in document && (isAboutOrders || fields.some((field) => field in document));
}

/**
 * An order of which one field, without which nothing can be said about any of its lines, cannot be
 * read.
 */
export function unreadableOrder(
  document: Fields,
  field: string,
  must: string,
  modifiedMs: number | null = null,
) {
  const problem = problemOf(field, must, document[field]);
  return { kind: 'unreadable', orderId: idOf(document['id']), modifiedMs, ...problem } as const;
}

/** The fields that all platforms show in the same way. */
export function commonFields(document: Fields, numberField: 'name' | 'number', payment: unknown) {
  const { [numberField]: number, currency, refunds } = document;
  return {
    number: typeof number === 'string' ? number.slice(0, 64) : null,
    currency: typeof currency === 'string' ? currency : '',
    customer: customerIn(document),
    refundCount: listOf(refunds)?.length ?? 0,
    marks: marksOf(document, number, payment),
  };
}

/**
 * The fields that each platform reads in its own way; a problem has the name of the field in the
 * line.
 */
export type LineReading =
  | Omit<ShopOrderLine, 'lineId' | 'sku' | 'product' | 'parentId'>
  | FieldProblem;

type ReadLine = (item: Fields, lineId: string) => LineReading;
type OneLine =
  | { readonly line: Omit<ShopOrderLine, 'parentId'> }
  | { readonly unreadable: UnreadableShopLine };

/** A SKU map has no longer ones. */
const longestSku = 128;

/**
 * Reads each line by itself: an unreadable one disturbs no other. Of a `closed` order only the ids
 * are needed.
 */
export function readLines(
  lineItems: unknown,
  closed: boolean,
  readLine: ReadLine,
): { lines: readonly ShopOrderLine[]; unreadable: readonly UnreadableShopLine[] } {
  const items = listOf(lineItems);
  if (closed) return { lines: (items ?? []).flatMap(closedLine), unreadable: [] };
  if (items === null || lineItems === undefined || lineItems === null) {
    const problem = problemOf('line_items', 'must be a list', lineItems);
    return { lines: [], unreadable: [{ lineId: null, sku: null, ...problem }] };
  }
  const lines: ShopOrderLine[] = [];
  const unreadable: UnreadableShopLine[] = [];
  const ids = new Set<string>();
  const containers = bundleContainers(items);
  for (const [index, item] of items.entries()) {
    const read = readOne(item, `line_items[${index}]`, ids, readLine);
    if ('line' in read)
      lines.push({ ...read.line, parentId: containers.get(read.line.lineId) ?? null });
    else unreadable.push(read.unreadable);
  }
  return { lines, unreadable };
}

function readOne(item: unknown, place: string, ids: Set<string>, readLine: ReadLine): OneLine {
  if (!isObject(item)) return notRead(null, null, problemOf(place, 'must be an object', item));
  const sku = skuOf(item['sku']);
  const lineId = idOf(item['id']);
  if (lineId === null)
    return notRead(null, sku, problemOf(`${place}.id`, 'must be the id of the line', item['id']));
  // Two lines with one id would be taken for one line, and the second never bought.
  const rule = `must be the id of one line only, but ${lineId} is there twice`;
  if (ids.has(lineId)) return notRead(null, sku, { field: `${place}.id`, rule });
  ids.add(lineId);
  if (sku === null)
    return notRead(lineId, null, problemOf(`${place}.sku`, 'must be a text', item['sku']));
  const read = readLine(item, lineId);
  if ('rule' in read)
    return notRead(lineId, sku, { field: `${place}.${read.field}`, rule: read.rule });
  return { line: { lineId, sku, product: productOf(item), ...read } };
}

function closedLine(item: unknown): readonly ShopOrderLine[] {
  const lineId = isObject(item) ? idOf(item['id']) : null;
  if (!isObject(item) || lineId === null) return [];
  const nothing = { remaining: 0, iccids: [], parentId: null, isShopsOwn: false };
  return [{ lineId, sku: skuOf(item['sku']) ?? '', product: productOf(item), ...nothing }];
}

function productOf({
  product_id: product,
  variant_id: variant,
  variation_id: variation,
}: Fields): string | null {
  const id = idOf(variant) ?? idOf(product);
  return id === null ? null : `${id}/${idOf(variation) ?? 0}`;
}

function skuOf(value: unknown): string | null {
  if (isNothing(value)) return '';
  if (typeof value !== 'string') return null;
  return value.length > longestSku ? `${value.slice(0, longestSku).toWellFormed()}…` : value;
}

const notRead = (lineId: string | null, sku: string | null, problem: FieldProblem): OneLine => ({
  unreadable: { lineId, sku, ...problem },
});

export const problemOf = (field: string, must: string, value: unknown): FieldProblem => ({
  field,
  rule: `${must}, but is ${shown(value)}`,
});

// Plugins mark the parts of a bundle, each in its own fields: by the id or product of the
// container, or its key in the cart.

const ofPart =
  /^(?!.*(?:woobt|woofs|gift|upsell|bump|name)).*(?:bundled_?by|part_of|parent|container|chained|bundled?_item(?!s)|composite_item)/;
const ofBundle = /bundle|composite|combo|chained|mnm_|woosb|wooco|wepb/i;

function itemOf(item: Fields) {
  const fields = allFields(item);
  const valuesOf = (words: RegExp) =>
    fields.flatMap(([key, value]) => (words.test(key) ? (listOf(value) ?? [value]) : []));
  const { id, product_id, variation_id, variant_id, subtotal, price, name } = item;
  const ids = [id, product_id, variation_id, variant_id, ...valuesOf(/^(?!.*parent).*key$/)];
  return {
    id: idOf(id),
    ids,
    containers: valuesOf(ofPart).filter((value) => !ids.includes(value)),
    parts: valuesOf(/bundled_items|children$/),
    isPart: fields.some(([key]) => ofPart.test(key) && ofBundle.test(key)),
    isBundle: valuesOf(ofBundle).length > 0 || ofBundle.test(String(name)),
    price: valuesOf(/gift|free|bogo/).length > 0 ? null : Number(subtotal ?? price),
  };
}

/**
 * The bundle's line of which each line is a part, by the id of the part. A container stands before
 * its parts.
 */
function bundleContainers(lines: readonly unknown[]): ReadonlyMap<string | null, string | null> {
  const items = lines.filter(isObject).map(itemOf);
  type Item = (typeof items)[number];
  const holds = (one: Item, part: Item): boolean =>
    one !== part &&
    (part.containers.some((id) => one.ids.includes(id)) ||
      one.parts.some((id) => part.ids.includes(id)));
  // Beside a bundle that marks its parts, a line without a price is a gift.
  const marksNone = (one: Item) =>
    one.isBundle && Number(one.price) > 0 && !items.some((part) => holds(one, part));
  const containerOf = (item: Item, index: number): Item | undefined => {
    const before = items.slice(0, index).filter((it) => !it.isPart && it.containers.length === 0);
    if (item.isPart) return before.at(-1);
    return item.price === 0 ? before.findLast(marksNone) : undefined;
  };
  return new Map(
    items.map((item, index) => [
      item.id,
      (items.find((it) => holds(it, item)) ?? containerOf(item, index))?.id ?? null,
    ]),
  );
}

const madeFrom = 'cop(?:y|ied)|clon|duplicat|split|replac|exchang|reship|part.of';
const other =
  'attribution|renew|subscri|total|amount|rate|date|time|count|stock|version|url|code|serial|licen|key$|order_number|order_sync';
/** Fields in which plugins write ids or numbers of other orders. */
const namesOrder = new RegExp(
  `^(?!.*(?:${other}|^parent_id$)).*(?:${madeFrom}|order|parent|origin|source|from|main|master)`,
);
/**
 * Fields in which payment plugins keep the id of the payment. A saved card is used again and again.
 */
const ofPayment =
  /^(?!.*(?:method|refund)).*(?:(?:intent|transaction|charge|capture|payment)_?id|paypal_order_id)$/;
/** At most letters stand before the digits: it is no code that was delivered. */
const isNumber = /^(?=.{1,24}$)(?:[a-z]+[-_./]?)*\d+(?:[-./]\d+)*$/;

type Mark = readonly [kind: string, value: string];
const as = (kind: string, values: readonly string[]) => values.map((value): Mark => [kind, value]);

/** By what the store finds orders that are one purchase: see the table `storefront_marks`. */
function marksOf(document: Fields, number: unknown, payment: unknown): readonly Mark[] {
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
  const names = [whole, ...named]
    .flatMap(numbersIn)
    .filter((name) => name === whole || !own.includes(name));
  const others = [
    ...as('part_of', numbersIn(idOf(document['parent_id']))),
    ...as('names', names.slice(0, 50)),
  ];
  const kept = fields.flatMap(([key, value]) => (ofPayment.test(key) && !isRenewal ? [value] : []));
  const payments = [payment, ...kept].filter(
    (id) => typeof id === 'string' && /^(?=.*\d).{4,200}$/.test(id),
  );
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
  return words
    .flatMap((word) => [word, /^[a-z_-]+(\d+)$/.exec(word)?.[1] ?? ''])
    .filter((word) => isNumber.test(word));
}
