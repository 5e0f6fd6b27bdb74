import type { Platform } from '../shop/platform.ts';
import { readWooCommerceOrder } from './payload.ts';
import { WooCommerceApi } from './rest-client.ts';
import type { WooCommerceShop } from './settings.ts';
import { writeBackToWooCommerce } from './write-back.ts';

export const woocommerce: Platform<WooCommerceShop, WooCommerceApi> = {
  webhook: {
    signatureHeader: 'x-wc-webhook-signature',
    testHeader: null,
    topicHeader: 'x-wc-webhook-topic',
    deletedTopic: 'order.deleted',
    unsignedPing: /^webhook_id=\d{1,20}$/,
  },
  readOrder: readWooCommerceOrder,
  connect: (rest, context) => new WooCommerceApi(rest, context),
  writeBack: writeBackToWooCommerce,
};
