import { describe, expect, it } from 'vitest';
import {
  disagreements,
  type PublicSchema,
  shopifySchema,
  wooCommerceSchema,
} from './public-schemas.ts';
import { authorizationOf } from '../../src/storefronts/woocommerce/authorization.ts';
import { restSettings } from './shop-settings.ts';
import { minutesAgo, oneRefunded, shopifyBody, wooBody } from './read-back/running-read-back.ts';
import { shopifyApp, StubShopify, StubWooCommerce, woo } from './read-back/stub-shop.ts';
import { shopifyOrder, wooOrder } from './storefront-shops.ts';

type Shown = Record<string, unknown>;

const listIn = (value: unknown): Shown[] => (Array.isArray(value) ? value : []);

/** In what an order, its lines and its refunds disagree with what the platform publishes. */
function disagreementsOf(
  order: Shown,
  schema: PublicSchema,
  shownOnly: readonly string[] = [],
): readonly string[] {
  const known = Object.fromEntries(
    Object.entries(order).filter(([name]) => !shownOnly.includes(name)),
  );
  const { required } = schema;
  return [
    ...disagreements(known, schema.order, required.order),
    ...listIn(order['line_items']).flatMap((line) => {
      const read = Object.fromEntries(Object.entries(line).filter(([name]) => name in schema.line));
      return disagreements(read, schema.line, required.line);
    }),
    ...listIn(order['refunds']).flatMap((refund) => refundDisagreements(refund, schema)),
  ];
}

function refundDisagreements(refund: Shown, schema: PublicSchema): readonly string[] {
  const lines = listIn(refund['line_items'] ?? refund['refund_line_items']);
  return [
    ...disagreements(refund, schema.refund, ['id']),
    ...lines.flatMap((line) => disagreements(line, schema.refundLine, ['quantity'])),
  ];
}

const getJson = async (url: string, headers: Record<string, string>): Promise<unknown> =>
  await (await fetch(url, { headers })).json();

describe('the stub of WooCommerce', () => {
  it('answers in the published form of orders and refunds', async () => {
    const stub = await new StubWooCommerce().open();
    stub.put({
      id: '1',
      modifiedMs: minutesAgo(1),
      body: wooBody('11'),
      refunds: oneRefunded('11'),
    });
    const keys = { ca: null, consumerKey: woo.key, consumerSecret: woo.secret };
    const authorization = authorizationOf(
      { ...restSettings(stub.url), ...keys },
      { wallMs: () => Date.now() },
    );
    const get = async (path: string) =>
      await getJson(`${stub.url}${path}`, { authorization: authorization('GET', path) });
    const orders = listIn(await get('/wp-json/wc/v3/orders?orderby=modified'));
    expect(orders.map((order) => disagreementsOf(order, wooCommerceSchema))).toEqual([[]]);
    const refunds = listIn(await get('/wp-json/wc/v3/orders/1/refunds'));
    expect(refunds.map((refund) => refundDisagreements(refund, wooCommerceSchema))).toEqual([[]]);
    // The controller lists by the parent, whatever that is: there is no 404.
    expect(await get('/wp-json/wc/v3/orders/2/refunds')).toEqual([]);
  });

  it('sends webhooks in that form, too', () => {
    const other = ['parent_id', 'total', 'billing'];
    expect(disagreementsOf(wooOrder(), wooCommerceSchema, other)).toEqual([]);
  });
});

describe('the stub of Shopify', () => {
  it('answers in the published form of orders and refunds', async () => {
    const stub = await new StubShopify().open();
    const refunds = [
      { id: '9', refund_line_items: [{ id: '8', line_item_id: '11', quantity: 1 }] },
    ];
    stub.put({ id: '1', modifiedMs: minutesAgo(1), body: shopifyBody('11'), refunds });
    const headers = { 'x-shopify-access-token': shopifyApp.token };
    const answer = await getJson(`${stub.url}/admin/api/2026-10/orders.json?status=any`, headers);
    const orders = listIn(Object.values(answer ?? {})[0]);
    expect(orders.map((order) => disagreementsOf(order, shopifySchema))).toEqual([[]]);
  });

  it('sends webhooks in that form, too', () => {
    const other = ['admin_graphql_api_id', 'presentment_currency'];
    expect(disagreementsOf(shopifyOrder(), shopifySchema, other)).toEqual([]);
  });
});
