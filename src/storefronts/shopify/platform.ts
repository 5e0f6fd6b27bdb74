import type { Platform } from '../shop/platform.ts';
import { domainOf, readShopifyOrder } from './payload.ts';
import { ShopifyApi } from './rest-client.ts';
import type { ShopifyShop } from './settings.ts';
import { writeBackToShopify } from './write-back.ts';

export const shopify: Platform<ShopifyShop, ShopifyApi> = {
  webhook: {
    signatureHeader: 'x-shopify-hmac-sha256',
    testHeader: 'x-shopify-test',
    topicHeader: 'x-shopify-topic',
    siteHeader: 'x-shopify-shop-domain',
    deletedTopic: 'orders/delete',
    unsignedPing: null,
  },
  siteOf: domainOf,
  showsPayment: false,
  readOrder: readShopifyOrder,
  connect: (rest, context) => new ShopifyApi(rest, context),
  writeBack: writeBackToShopify,
};
