import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  codesJson,
  givenLines,
  type LineStatement,
  type OrderStatement,
  resultJson,
} from '../shop/order-statement.ts';
import {
  readOrder,
  WriteBackError,
  type WriteBackParts,
  type WritePlan,
  withheldUntilPaid,
} from '../shop/platform.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import type { ShopOrder } from '../shop/shop-order.ts';
import type { ShopifyApi } from './rest-client.ts';
import type { ShopifyShop, ShopifyWriteBack } from './settings.ts';

type Parts = WriteBackParts<ShopifyShop, ShopifyApi>;

const userErrors = 'userErrors { field message }';
const metafieldsSet = `mutation SetMetafields($metafields: [MetafieldsSetInput!]!) {
  metafieldsSet(metafields: $metafields) { ${userErrors} }
}`;
const fulfillmentCreate = `mutation Fulfil($fulfillment: FulfillmentInput!) {
  fulfillmentCreate(fulfillment: $fulfillment) { fulfillment { id } ${userErrors} }
}`;
const tagsChange = {
  add: `mutation AddTag($id: ID!, $tags: [String!]!) { tagsAdd(id: $id, tags: $tags) { ${userErrors} } }`,
  remove: `mutation RemoveTag($id: ID!, $tags: [String!]!) { tagsRemove(id: $id, tags: $tags) { ${userErrors} } }`,
};

const payloadSchema = z.looseObject({
  userErrors: z.array(z.looseObject({ message: z.string() })),
});
const answerSchema = z.record(z.string(), payloadSchema);

/**
 * Brings an order of Shopify to what its result says: reads it, and makes the writes that are
 * missing. It may be repeated at any time, also after a lost answer: metafields and tags are set,
 * and the shop refuses to fulfil more than what remains of a line. Returns what was written.
 * @throws WriteBackError, ShopApiError
 */
export async function writeBackToShopify(
  statement: OrderStatement,
  parts: Parts,
): Promise<readonly string[]> {
  const { api, options, signal } = parts;
  const { order, ...found } = await readOrder(statement.orderId, parts);
  const now = await readShopifyOrderNow(api, order, signal);
  await parts.read(found, now.metafields.get('result'));
  const { writes, withheld } = planWrites(statement, options, now);
  for (const write of writes) await make(write, statement.orderId, parts);
  if (withheld !== null) throw withheld;
  return writes.map(nameOf);
}

async function make(write: ShopifyWrite, orderId: string, parts: Parts): Promise<void> {
  const ownerId = `gid://shopify/Order/${orderId}`;
  switch (write.kind) {
    case 'metafields': {
      const metafields = write.metafields.map((one) => ({
        ownerId,
        namespace: metafieldNamespace,
        ...one,
      }));
      return await change(metafieldsSet, { metafields }, parts);
    }
    case 'fulfilment': {
      const { fulfillmentOrderId, lines } = write;
      const { notifyCustomer } = parts.options;
      const lineItemsByFulfillmentOrder = [
        { fulfillmentOrderId, fulfillmentOrderLineItems: lines },
      ];
      return await change(
        fulfillmentCreate,
        { fulfillment: { lineItemsByFulfillmentOrder, notifyCustomer } },
        parts,
      );
    }
    case 'tags':
      return await change(tagsChange[write.change], { id: ownerId, tags: [write.tag] }, parts);
  }
}

/** @throws WriteBackError with the errors that the shop answers although the call succeeded */
async function change(query: string, variables: object, { api, signal }: Parts): Promise<void> {
  const answer = answerSchema.safeParse(await api.graphql(query, variables, signal));
  const name = /^mutation (\w+)/.exec(query)?.[1] ?? 'mutation';
  if (!answer.success)
    throw new ShopApiError(
      'unreadable',
      `${name}: 200, but the answer does not belong to this mutation`,
    );
  const messages = Object.values(answer.data).flatMap((payload) =>
    payload.userErrors.map(({ message }) => message),
  );
  // The order may have changed since it was read: the next try reads it again.
  if (messages.length > 0)
    throw new WriteBackError('waits', `${name}: the shop refused it: ${messages.join('; ')}`);
}

function nameOf(write: ShopifyWrite): string {
  if (write.kind === 'metafields')
    return `metafields ${write.metafields.map(({ key }) => key).join(', ')}`;
  return write.kind === 'fulfilment' ? 'fulfilment' : `${write.change} tag ${write.tag}`;
}

interface Metafield {
  readonly key: string;
  readonly type: 'single_line_text_field' | 'json';
  readonly value: string;
}

type ShopifyWrite =
  | { readonly kind: 'metafields'; readonly metafields: readonly Metafield[] }
  | {
      readonly kind: 'fulfilment';
      readonly fulfillmentOrderId: string;
      /** Never empty: an empty list would fulfil everything. */
      readonly lines: readonly { readonly id: string; readonly quantity: number }[];
    }
  | { readonly kind: 'tags'; readonly change: 'add' | 'remove'; readonly tag: string };

/** A fulfilment order in another status cannot be fulfilled. */
const openStatuses: readonly string[] = ['OPEN', 'IN_PROGRESS'];
const endedStatuses: readonly string[] = ['CLOSED', 'CANCELLED'];

/**
 * The writes by which an order of Shopify comes to say what its result says. Pure. Only the rest of
 * whole lines is fulfilled, so pieces that people fulfilled stay as they are. A closed order is not
 * changed.
 */
function planWrites(
  statement: OrderStatement,
  options: ShopifyWriteBack,
  now: ShopifyOrderNow,
): WritePlan<ShopifyWrite> {
  const { order } = now;
  if (order.state === 'closed') return { writes: [], withheld: null };
  const given = givenLines(statement, order);
  const wanted = wantedMetafields(statement, options.deliverCodes === 'meta' ? given : []);
  const metafields = wanted.filter((metafield) => !hasMetafield(now, metafield));
  const left = new Map(order.lines.map(({ lineId, remaining }) => [lineId, remaining]));
  // The shop's order may have more pieces than are given.
  const more = new Map<string | null, number>(
    given.map(({ lineId, pieces }) => [
      lineId,
      Math.max(0, (left.get(lineId) ?? 0) - (pieces ?? 0)),
    ]),
  );
  const oursOf = (line: FulfillmentOrder['lines'][number]): FulfillmentOrder['lines'] => {
    const over = more.get(line.lineId);
    if (over === undefined) return [];
    const kept = Math.min(line.remaining, over);
    more.set(line.lineId, over - kept);
    return line.remaining > kept ? [{ ...line, remaining: line.remaining - kept }] : [];
  };
  const due = (options.fulfil ? now.fulfillmentOrders : [])
    .filter(({ status }) => !endedStatuses.includes(status))
    .map((one) => ({ ...one, lines: one.lines.flatMap(oursOf) }))
    .filter(({ lines }) => lines.length > 0);
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

const wantedMetafields = (
  statement: OrderStatement,
  codesOf: readonly LineStatement[],
): readonly Metafield[] => [
  { key: 'state', type: 'single_line_text_field', value: statement.state },
  { key: 'result', type: 'json', value: resultJson(statement) },
  ...(codesOf.length === 0
    ? []
    : [{ key: 'codes', type: 'json', value: codesJson(codesOf) } as const]),
];

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
  const wanted = [
    { tag: 'order-sync-delivered', isWanted: lines.every(({ stage }) => stage === 'done') },
    { tag: 'order-sync-review', isWanted: lines.some(({ stage }) => stage === 'review') },
  ];
  return wanted
    .filter(({ tag, isWanted }) => has(tag) !== isWanted)
    .map(({ tag, isWanted }) => ({ kind: 'tags', change: isWanted ? 'add' : 'remove', tag }));
}

function whyWithheld(
  { lines }: OrderStatement,
  { state, status }: ShopOrder,
  blocked: string | undefined,
) {
  if (!lines.some(({ stage }) => stage === 'done')) return null;
  if (state !== 'paid') return withheldUntilPaid(`is "${status}"`);
  if (blocked === undefined) return null;
  const problem = `a fulfilment order of the shop's order is ${blocked}`;
  return new WriteBackError('waits', `${problem}: pieces are fulfilled when it is open again`);
}

/** The namespace belongs to the app alone: other apps can neither read nor change what is in it. */
const metafieldNamespace = '$app:order_sync';

/** An order as the shop shows it now, as far as write-back needs it. */
interface ShopifyOrderNow {
  readonly order: ShopOrder;
  readonly tags: readonly string[];
  readonly metafields: ReadonlyMap<string, string>;
  readonly fulfillmentOrders: readonly FulfillmentOrder[];
}

/** The part of an order that one place has still to fulfil. */
interface FulfillmentOrder {
  readonly id: string;
  readonly status: string;
  /** `id` is not that of the order's line, which is `lineId`; null: it cannot be read. */
  readonly lines: readonly {
    readonly id: string;
    readonly lineId: string | null;
    readonly remaining: number;
  }[];
}

const fulfillmentOrdersOnPage = 5;
const linesOnPage = 50;
/** An order with more is left to an operator. */
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
    metafields: z.looseObject({
      nodes: z.array(z.looseObject({ key: z.string(), value: z.string() })),
    }),
    fulfillmentOrders: z.looseObject({
      pageInfo,
      nodes: z.array(z.looseObject({ id: z.string(), status: z.string(), lineItems: linesSchema })),
    }),
  }),
});
const moreLinesSchema = z.looseObject({
  fulfillmentOrder: z.looseObject({ lineItems: linesSchema }),
});

type Lines = z.infer<typeof linesSchema>;

/**
 * Reads tags, metafields and everything that is still to be fulfilled of an order that was read.
 */
async function readShopifyOrderNow(
  api: ShopifyApi,
  order: ShopOrder,
  signal: AbortSignal,
): Promise<ShopifyOrderNow> {
  const id = `gid://shopify/Order/${order.orderId}`;
  const fulfillmentOrders: FulfillmentOrder[] = [];
  let pages = 0;
  const ask = async <T>(query: string, variables: object, schema: z.ZodType<T>): Promise<T> => {
    pages += 1;
    if (pages > mostPages)
      throw unreadable(order.orderId, `has more than ${mostPages} pages of lines to fulfil`);
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
    const page: z.infer<typeof orderSchema>['order'] = (
      await ask(orderQuery, { id, after }, orderSchema)
    ).order;
    for (const node of page.fulfillmentOrders.nodes) {
      fulfillmentOrders.push({
        id: node.id,
        status: node.status,
        lines: await linesOf(node.id, node.lineItems),
      });
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
