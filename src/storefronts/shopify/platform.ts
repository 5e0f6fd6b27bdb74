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
  connect: (rest, context) => new ShopifyApi(rest, context),
};
