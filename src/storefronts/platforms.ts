import type { Platform } from './shop/platform.ts';
import type { PlatformName, Shop } from './settings.ts';
import { siteOf } from './shop/site.ts';
import { domainOf, readShopifyOrder } from './shopify/payload.ts';
import { ShopifyApi } from './shopify/rest-client.ts';
import { writeBackToShopify } from './shopify/write-back.ts';
import { readWooCommerceOrder } from './woocommerce/payload.ts';
import { WooCommerceApi } from './woocommerce/rest-client.ts';
import { OrderWriter } from './woocommerce/write-back.ts';

type ShopOf<Name> = Extract<Shop, { platform: Name }>;

const woocommerce: Platform<ShopOf<'woocommerce'>, WooCommerceApi> = {
  webhook: {
    signatureHeader: 'x-wc-webhook-signature',
    testHeader: null,
    topicHeader: 'x-wc-webhook-topic',
    siteHeader: 'x-wc-webhook-source',
    deletedTopic: 'order.deleted',
    unsignedPing: /^webhook_id=\d{1,20}$/,
  },
  siteOf,
  showsPayment: true,
  readOrder: readWooCommerceOrder,
  connect: (rest, context) => new WooCommerceApi(rest, context),
  writeBack: async (statement, parts) => await new OrderWriter(statement, parts).run(),
};

const shopify: Platform<ShopOf<'shopify'>, ShopifyApi> = {
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

const platforms: { readonly [Name in PlatformName]: Platform<ShopOf<Name>> } = {
  woocommerce,
  shopify,
};

export const webhookFormats = Object.values(platforms).map(({ webhook }) => webhook);

/** The platform of a shop. It must be given the settings of this shop only. */
export function platformOf(shop: Shop): Platform<Shop> {
  return platforms[shop.platform];
}
