import { bundleContainers } from './bundle-parts.ts';
import { marksOf } from './order-marks.ts';
import { type Fields, type FieldProblem, idOf, isNothing, isObject, listOf, shown } from './payload-values.ts';
import type { ReadContext, ShopOrderLine, UnreadableShopLine } from './shop-order.ts';

/** Whether it is an order, which alone has `fields`. Others have lines, too: drafts, carts, checkouts, fulfillments. */
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

/** An order of which one field, without which nothing can be said about any of its lines, cannot be read. */
export function unreadableOrder(document: Fields, field: string, must: string, modifiedMs: number | null = null) {
  const problem = problemOf(field, must, document[field]);
  return { kind: 'unreadable', orderId: idOf(document['id']), modifiedMs, ...problem } as const;
}

/** The fields that all platforms show in the same way. */
export function commonFields(document: Fields, numberField: 'name' | 'number', payment: unknown) {
  const { [numberField]: number, currency, refunds } = document;
  return {
    number: typeof number === 'string' ? number.slice(0, 64) : null,
    currency: typeof currency === 'string' ? currency : '',
    refundCount: listOf(refunds)?.length ?? 0,
    marks: marksOf(document, number, payment),
  };
}

/** The fields that each platform reads in its own way; a problem has the name of the field in the line. */
export type LineReading = Omit<ShopOrderLine, 'lineId' | 'sku' | 'product' | 'parentId'> | FieldProblem;

type ReadLine = (item: Fields, lineId: string) => LineReading;
type OneLine = { readonly line: Omit<ShopOrderLine, 'parentId'> } | { readonly unreadable: UnreadableShopLine };

/** A SKU map has no longer ones. */
const longestSku = 128;

/** Reads each line by itself: an unreadable one disturbs no other. Of a `closed` order only the ids are needed. */
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
    if ('line' in read) lines.push({ ...read.line, parentId: containers.get(read.line.lineId) ?? null });
    else unreadable.push(read.unreadable);
  }
  return { lines, unreadable };
}

function readOne(item: unknown, place: string, ids: Set<string>, readLine: ReadLine): OneLine {
  if (!isObject(item)) return notRead(null, null, problemOf(place, 'must be an object', item));
  const sku = skuOf(item['sku']);
  const lineId = idOf(item['id']);
  if (lineId === null) return notRead(null, sku, problemOf(`${place}.id`, 'must be the id of the line', item['id']));
  // Two lines with one id would be taken for one line, and the second never bought.
  const rule = `must be the id of one line only, but ${lineId} stands twice`;
  if (ids.has(lineId)) return notRead(null, sku, { field: `${place}.id`, rule });
  ids.add(lineId);
  if (sku === null) return notRead(lineId, null, problemOf(`${place}.sku`, 'must be a text', item['sku']));
  const read = readLine(item, lineId);
  if ('rule' in read) return notRead(lineId, sku, { field: `${place}.${read.field}`, rule: read.rule });
  return { line: { lineId, sku, product: productOf(item), ...read } };
}

function closedLine(item: unknown): readonly ShopOrderLine[] {
  const lineId = isObject(item) ? idOf(item['id']) : null;
  if (!isObject(item) || lineId === null) return [];
  const nothing = { remaining: 0, iccids: [], parentId: null, isShopsOwn: false };
  return [{ lineId, sku: skuOf(item['sku']) ?? '', product: productOf(item), ...nothing }];
}

function productOf({ product_id: product, variant_id: variant, variation_id: variation }: Fields): string | null {
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
