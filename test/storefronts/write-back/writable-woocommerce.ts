import type { ServerResponse } from 'node:http';
import type { StubOrder } from '../../support/shops/shop-order.ts';
import { WooCommerceOrders } from '../../support/shops/woocommerce-orders.ts';
import { type ShopCallSeen, StubWooCommerce } from '../read-back/stub-shop.ts';
import { FaultyAnswers } from './writable-shop.ts';

/** A WooCommerce shop behind a real socket, whose orders can be written. */
export class WritableWooCommerce extends StubWooCommerce {
  readonly answers = new FaultyAnswers();
  readonly shop = new WooCommerceOrders(
    this.orders,
    () => Date.now(),
    (order) => this.shown(order),
  );

  protected override answer(call: ShopCallSeen, response: ServerResponse): void {
    const { method, url, body } = call;
    const [, orderId, notes] =
      /^\/wp-json\/wc\/v3\/orders\/(\d+)(\/notes)?$/.exec(url.pathname) ?? [];
    const isOfOrder = orderId !== undefined && (notes !== undefined || method !== 'GET');
    if (!isOfOrder) {
      const fault = this.answers.faultOf(call);
      if (fault.kind === 'none') return super.answer(call, response);
      return this.answers.answer(call, response, () => ({ status: 200, body: [] }));
    }
    const request = { method, path: url.pathname, body };
    this.answers.answer(
      call,
      response,
      () => this.shop.answer(request) ?? { status: 404, body: {} },
    );
  }

  order(id: string): StubOrder {
    return this.shop.order(id);
  }
}
