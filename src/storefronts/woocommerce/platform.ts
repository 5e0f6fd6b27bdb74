import type { Platform } from '../shop/platform.ts';
import { siteOf } from '../shop/site.ts';
import { readWooCommerceOrder } from './payload.ts';
import { WooCommerceApi } from './rest-client.ts';
import type { WooCommerceShop } from './settings.ts';
import { OrderWriter } from './write-back.ts';

export const woocommerce: Platform<WooCommerceShop, WooCommerceApi> = {
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
