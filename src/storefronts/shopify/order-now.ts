import { z } from 'zod';
import type { ShopOrder } from '../shop/shop-order.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import type { ShopifyApi } from './rest-client.ts';

/** The namespace belongs to the app alone: other apps can neither read nor change what is in it. */
export const metafieldNamespace = '$app:order_sync';

/** An order as the shop shows it now, as far as write-back needs it. */
export interface ShopifyOrderNow {
  readonly order: ShopOrder;
  readonly tags: readonly string[];
  /** The values of our metafields, by key. */
  readonly metafields: ReadonlyMap<string, string>;
  readonly fulfillmentOrders: readonly FulfillmentOrder[];
}

/** The part of an order that one place has still to fulfil. */
export interface FulfillmentOrder {
  readonly id: string;
  readonly status: string;
  /** `id` is not that of the order's line, which is `lineId`; null: it cannot be read. */
  readonly lines: readonly { readonly id: string; readonly lineId: string | null; readonly remaining: number }[];
}

const fulfillmentOrdersOnPage = 5;
const linesOnPage = 50;
/** An order with more is left to a person. */
const mostPages = 40;

const lineNodes = `pageInfo { hasNextPage endCursor } nodes { id remainingQuantity lineItem { id } }`;

const orderQuery = `query OrderToWrite($id: ID!, $after: String) {
  order(id: $id) {
    tags
    metafields(namespace: "${metafieldNamespace}", first: 10) { nodes { key value } }
    fulfillmentOrders(first: ${fulfillmentOrdersOnPage}, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { id status lineItems(first: ${linesOnPage}) { ${lineNodes} } }
    }
  }
}`;

const linesQuery = `query MoreLines($id: ID!, $after: String) {
  fulfillmentOrder(id: $id) { lineItems(first: ${linesOnPage}, after: $after) { ${lineNodes} } }
}`;

const pageInfo = z.looseObject({ hasNextPage: z.boolean(), endCursor: z.string().nullable() });
const lineSchema = z.looseObject({
  id: z.string(),
  remainingQuantity: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
  lineItem: z.looseObject({ id: z.string() }),
});
const linesSchema = z.looseObject({ pageInfo, nodes: z.array(lineSchema) });
const orderSchema = z.looseObject({
  order: z.looseObject({
    tags: z.array(z.string()),
    metafields: z.looseObject({ nodes: z.array(z.looseObject({ key: z.string(), value: z.string() })) }),
    fulfillmentOrders: z.looseObject({
      pageInfo,
      nodes: z.array(z.looseObject({ id: z.string(), status: z.string(), lineItems: linesSchema })),
    }),
  }),
});
const moreLinesSchema = z.looseObject({ fulfillmentOrder: z.looseObject({ lineItems: linesSchema }) });

type Lines = z.infer<typeof linesSchema>;

/** Reads tags, metafields and everything that is still to be fulfilled of an order that was read. */
export async function readShopifyOrderNow(
  api: ShopifyApi,
  order: ShopOrder,
  signal: AbortSignal,
): Promise<ShopifyOrderNow> {
  const id = `gid://shopify/Order/${order.orderId}`;
  const fulfillmentOrders: FulfillmentOrder[] = [];
  let pages = 0;
  const ask = async <T>(query: string, variables: object, schema: z.ZodType<T>): Promise<T> => {
    pages += 1;
    if (pages > mostPages) throw unreadable(order.orderId, `has more than ${mostPages} pages of lines to fulfil`);
    const data = schema.safeParse(await api.graphql(query, variables, signal));
    if (data.success) return data.data;
    const [issue] = data.error.issues;
    throw unreadable(order.orderId, `cannot be read: ${issue?.path.join('.')} ${issue?.message}`);
  };
  const linesOf = async (ofId: string, first: Lines): Promise<FulfillmentOrder['lines']> => {
    const nodes = [...first.nodes];
    for (let page = first; page.pageInfo.hasNextPage; ) {
      const asked = { id: ofId, after: page.pageInfo.endCursor };
      page = (await ask(linesQuery, asked, moreLinesSchema)).fulfillmentOrder.lineItems;
      nodes.push(...page.nodes);
    }
    return nodes.map((node) => ({
      id: node.id,
      lineId: /^gid:\/\/shopify\/LineItem\/(\d+)$/.exec(node.lineItem.id)?.[1] ?? null,
      remaining: node.remainingQuantity,
    }));
  };
  for (let after: string | null = null; ; ) {
    const page: z.infer<typeof orderSchema>['order'] = (await ask(orderQuery, { id, after }, orderSchema)).order;
    for (const node of page.fulfillmentOrders.nodes) {
      fulfillmentOrders.push({ id: node.id, status: node.status, lines: await linesOf(node.id, node.lineItems) });
    }
    const { hasNextPage, endCursor } = page.fulfillmentOrders.pageInfo;
    after = endCursor;
    if (hasNextPage) continue;
    const metafields = new Map(page.metafields.nodes.map(({ key, value }) => [key, value]));
    return { order, tags: page.tags, metafields, fulfillmentOrders };
  }
}

function unreadable(orderId: string, problem: string): ShopApiError {
  return new ShopApiError('unreadable', `the order ${orderId} ${problem}`);
}
