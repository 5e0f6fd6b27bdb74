import { ShopHttp } from '../read-back/shop-http.ts';
import type { Platform } from '../platform.ts';
import { readShopifyOrder } from './payload.ts';
import { ShopifyApi } from './rest-client.ts';
import type { ShopifyShop } from './settings.ts';

export const shopify: Platform<ShopifyShop> = {
  webhook: {
    signatureHeader: 'x-shopify-hmac-sha256',
    testHeader: 'x-shopify-test',
    unsignedPing: null,
  },
  readOrder: (document, shop, { isTest }) => readShopifyOrder(document, shop, isTest),
  connect: (rest, { clock, version }) => {
    const { access } = rest;
    const secrets = [access.kind === 'token' ? access.token : access.clientSecret];
    return new ShopifyApi(new ShopHttp({ rest, secrets, clock, version }), rest, clock);
  },
};
