import type { ServerResponse } from 'node:http';
import { ShopifyOrders } from '../../support/shops/shopify-orders.ts';
import { type ShopCallSeen, shopifyApp, StubShopify } from '../read-back/stub-shop.ts';
import { FaultyAnswers } from './writable-shop.ts';

/** A Shopify shop behind a real socket, whose orders can be written. */
export class WritableShopify extends StubShopify {
  readonly answers = new FaultyAnswers();
  readonly shop = new ShopifyOrders(this.orders, () => Date.now());

  protected override answer(call: ShopCallSeen, response: ServerResponse): void {
    const { url, headers } = call;
    if (url.pathname !== '/admin/api/2026-10/graphql.json') {
      const fault = this.answers.faultOf(call);
      if (fault.kind === 'none') return super.answer(call, response);
      return this.answers.answer(call, response, () => ({ status: 200, body: {} }));
    }
    this.answers.answer(call, response, () =>
      headers['x-shopify-access-token'] === shopifyApp.token
        ? this.shop.answer(call)
        : { status: 401, body: { errors: 'Invalid token' } },
    );
  }
}
