import { z } from 'zod';
import { WriteBackError, type WriteBackParts } from '../shop/platform.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import type { OrderStatement } from '../shop/order-statement.ts';
import { metafieldNamespace, readShopifyOrderNow, type ShopifyOrderNow } from './order-now.ts';
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
  const { writeBack } = parts.shop;
  if (writeBack === null) throw new WriteBackError('final', 'the shop has no `write_back` any more');
  const written: string[] = [];
  const { writes, withheld } = planShopifyWrites(statement, writeBack, await readNow(statement, parts));
  for (const write of writes) {
    await make(write, statement.orderId, parts, writeBack.notifyCustomer);
    written.push(nameOf(write));
  }
  if (withheld !== null) throw new WriteBackError('waits', withheld);
  return written;
}

async function readNow({ orderId }: OrderStatement, { api, shop, signal }: Parts): Promise<ShopifyOrderNow> {
  const read = await api.order(orderId, signal, { isBehind: true });
  if (read === null) {
    const problem = `the shop has the order ${orderId} no more, and something was delivered or needs review`;
    throw new WriteBackError('final', `${problem}: see \`orders show\``);
  }
  const context = { isTest: false, topic: null, isListed: true, refunds: read.refunds };
  const reading = readShopifyOrder(read.value, shop, context);
  if (reading.kind === 'order') return await readShopifyOrderNow(api, reading.order, signal);
  const why = reading.kind === 'unreadable' ? `: its ${reading.field} ${reading.rule}` : '';
  throw new WriteBackError('waits', `the order cannot be read${why}`);
}

async function make(write: ShopifyWrite, orderId: string, parts: Parts, notifyCustomer: boolean): Promise<void> {
  const ownerId = `gid://shopify/Order/${orderId}`;
  switch (write.kind) {
    case 'metafields': {
      const metafields = write.metafields.map((one) => ({ ownerId, namespace: metafieldNamespace, ...one }));
      return await change(metafieldsSet, { metafields }, parts);
    }
    case 'fulfilment': {
      const { fulfillmentOrderId, lines } = write;
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
