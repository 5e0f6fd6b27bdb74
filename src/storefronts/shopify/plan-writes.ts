import { isDeepStrictEqual } from 'node:util';
import { codesJson, givenLines, type LineStatement, type OrderStatement, resultJson } from '../shop/order-statement.ts';
import { type WritePlan, withheldUntilPaid } from '../shop/platform.ts';
import type { ShopOrder } from '../shop/shop-order.ts';
import type { FulfillmentOrder, ShopifyOrderNow } from './order-now.ts';
import type { ShopifyWriteBack } from './settings.ts';

interface Metafield {
  readonly key: string;
  readonly type: 'single_line_text_field' | 'json';
  readonly value: string;
}

/** One call that changes an order of Shopify. */
export type ShopifyWrite =
  | { readonly kind: 'metafields'; readonly metafields: readonly Metafield[] }
  | {
      readonly kind: 'fulfilment';
      readonly fulfillmentOrderId: string;
      /** Never empty: an empty list would fulfil everything. */
      readonly lines: readonly { readonly id: string; readonly quantity: number }[];
    }
  | { readonly kind: 'tags'; readonly change: 'add' | 'remove'; readonly tag: string };

const deliveredTag = 'order-sync-delivered';
const reviewTag = 'order-sync-review';

/** A fulfilment order in another status cannot be fulfilled. */
const openStatuses: readonly string[] = ['OPEN', 'IN_PROGRESS'];
const endedStatuses: readonly string[] = ['CLOSED', 'CANCELLED'];

/**
 * The writes by which an order of Shopify comes to say what its result says. Pure. Only the rest of whole lines is fulfilled,
 * so pieces that people fulfilled stay as they are. A closed order is not changed.
 */
export function planShopifyWrites(
  statement: OrderStatement,
  options: ShopifyWriteBack,
  now: ShopifyOrderNow,
): WritePlan<ShopifyWrite> {
  const { order } = now;
  if (order.state === 'closed') return { writes: [], withheld: null };
  const given = givenLines(statement, order);
  const wanted = wantedMetafields(statement, options.deliverCodes === 'meta' ? given : []);
  const metafields = wanted.filter((metafield) => !hasMetafield(now, metafield));
  const givenIds = new Set(given.map(({ lineId }) => lineId));
  const isOurs = ({ lineId, remaining }: FulfillmentOrder['lines'][number]): boolean =>
    remaining > 0 && lineId !== null && givenIds.has(lineId);
  const due = (options.fulfil ? now.fulfillmentOrders : [])
    .map((one) => ({ ...one, lines: one.lines.filter(isOurs) }))
    .filter(({ status, lines }) => lines.length > 0 && !endedStatuses.includes(status));
  const open = due.filter(({ status }) => openStatuses.includes(status));
  const writes: readonly ShopifyWrite[] = [
    ...(metafields.length === 0 ? [] : [{ kind: 'metafields', metafields } as const]),
    ...open.map(({ id, lines }) => ({
      kind: 'fulfilment' as const,
      fulfillmentOrderId: id,
      lines: lines.map((line) => ({ id: line.id, quantity: line.remaining })),
    })),
    ...tagWrites(statement, now),
  ];
  const blocked = due.find(({ status }) => !openStatuses.includes(status));
  return { writes, withheld: whyWithheld(statement, order, blocked?.status) };
}

function wantedMetafields(statement: OrderStatement, codesOf: readonly LineStatement[]): readonly Metafield[] {
  const codes = { key: 'codes', type: 'json', value: codesJson(codesOf) } as const;
  return [
    { key: 'state', type: 'single_line_text_field', value: statement.state },
    { key: 'result', type: 'json', value: resultJson(statement) },
    ...(codesOf.length === 0 ? [] : [codes]),
  ];
}

/** The shop may write JSON in another form than it was sent. */
function hasMetafield({ metafields }: ShopifyOrderNow, { key, type, value }: Metafield): boolean {
  const shown = metafields.get(key);
  if (shown === undefined || type !== 'json') return shown === value;
  try {
    return isDeepStrictEqual(JSON.parse(shown), JSON.parse(value));
  } catch {
    return false;
  }
}

function tagWrites({ lines }: OrderStatement, { tags }: ShopifyOrderNow): readonly ShopifyWrite[] {
  const has = (tag: string): boolean => tags.some((shown) => shown.toLowerCase() === tag);
  const wanted: readonly (readonly [string, boolean])[] = [
    [deliveredTag, lines.every(({ stage }) => stage === 'done')],
    [reviewTag, lines.some(({ stage }) => stage === 'review')],
  ];
  return wanted
    .filter(([tag, isWanted]) => has(tag) !== isWanted)
    .map(([tag, isWanted]) => ({ kind: 'tags', change: isWanted ? 'add' : 'remove', tag }));
}

function whyWithheld({ lines }: OrderStatement, { state, status }: ShopOrder, blocked: string | undefined) {
  if (!lines.some(({ stage }) => stage === 'done')) return null;
  if (state !== 'paid') return withheldUntilPaid(`is "${status}"`);
  if (blocked === undefined) return null;
  return `a fulfilment order of the shop's order is ${blocked}: what was delivered is fulfilled when it is open again`;
}
