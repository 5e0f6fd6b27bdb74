import { ShopHttp } from '../read-back/shop-http.ts';
import type { Platform } from '../platform.ts';
import { readWooCommerceOrder } from './payload.ts';
import { WooCommerceApi } from './rest-client.ts';
import type { WooCommerceShop } from './settings.ts';

export const woocommerce: Platform<WooCommerceShop> = {
  webhook: {
    signatureHeader: 'x-wc-webhook-signature',
    testHeader: null,
    unsignedPing: /^webhook_id=\d{1,20}$/,
  },
  readOrder: (document, shop, { refunds }) => readWooCommerceOrder(document, shop, refunds),
  connect: (rest, context) => {
    const secrets = [rest.consumerKey, rest.consumerSecret];
    return new WooCommerceApi(new ShopHttp({ rest, secrets, ...context }), rest);
  },
};
