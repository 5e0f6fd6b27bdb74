import { z } from 'zod';
import { readOrder, WriteBackError, type WriteBackParts } from '../shop/platform.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import type { OrderStatement } from '../shop/order-statement.ts';
import { metafieldNamespace, readShopifyOrderNow } from './order-now.ts';
import { readShopifyOrder } from './payload.ts';
import { planShopifyWrites, type ShopifyWrite } from './plan-writes.ts';
import type { ShopifyApi } from './rest-client.ts';
import type { ShopifyShop } from './settings.ts';

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

const answerSchema = z.record(
  z.string(),
  z.looseObject({ userErrors: z.array(z.looseObject({ message: z.string() })) }),
);

/**
 * Brings an order of Shopify to what its result says: reads it, and makes the writes that are missing. It may be repeated at any
 * time, also after a lost answer: metafields and tags are set, and the shop refuses to fulfil more than what remains of a line.
 * Returns what was written.
 * @throws WriteBackError, ShopApiError
 */
export async function writeBackToShopify(statement: OrderStatement, parts: Parts): Promise<readonly string[]> {
  const { api, options, signal } = parts;
  const { order } = await readOrder(statement.orderId, parts, readShopifyOrder);
  const now = await readShopifyOrderNow(api, order, signal);
  const { writes, withheld } = planShopifyWrites(statement, options, now);
  for (const write of writes) await make(write, statement.orderId, parts);
  if (withheld !== null) throw new WriteBackError('waits', withheld);
  return writes.map(nameOf);
}

async function make(write: ShopifyWrite, orderId: string, parts: Parts): Promise<void> {
  const ownerId = `gid://shopify/Order/${orderId}`;
  switch (write.kind) {
    case 'metafields': {
      const metafields = write.metafields.map((one) => ({ ownerId, namespace: metafieldNamespace, ...one }));
      return await change(metafieldsSet, { metafields }, parts);
    }
    case 'fulfilment': {
      const { fulfillmentOrderId, lines } = write;
      const { notifyCustomer } = parts.options;
      const lineItemsByFulfillmentOrder = [{ fulfillmentOrderId, fulfillmentOrderLineItems: lines }];
      return await change(fulfillmentCreate, { fulfillment: { lineItemsByFulfillmentOrder, notifyCustomer } }, parts);
    }
    case 'tags':
      return await change(tagsChange[write.change], { id: ownerId, tags: [write.tag] }, parts);
  }
}

/** @throws WriteBackError with the errors that the shop answers although the call succeeded */
async function change(query: string, variables: object, { api, signal }: Parts): Promise<void> {
  const answer = answerSchema.safeParse(await api.graphql(query, variables, signal));
  const name = /^mutation (\w+)/.exec(query)?.[1] ?? 'mutation';
  if (!answer.success) throw new ShopApiError('unreadable', `${name}: 200, but the answer is not that of the mutation`);
  const messages = Object.values(answer.data).flatMap((payload) => payload.userErrors.map(({ message }) => message));
  // The order may have changed since it was read: the next try reads it again.
  if (messages.length > 0) throw new WriteBackError('waits', `${name}: the shop refused it: ${messages.join('; ')}`);
}

function nameOf(write: ShopifyWrite): string {
  if (write.kind === 'metafields') return `metafields ${write.metafields.map(({ key }) => key).join(', ')}`;
  return write.kind === 'fulfilment' ? 'fulfilment' : `${write.change} tag ${write.tag}`;
}
