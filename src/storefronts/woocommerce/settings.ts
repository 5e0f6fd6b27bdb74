import { z } from 'zod';
import { count, secretFile, secretText } from '../../core/settings/schema-values.ts';
import { type RestSettings, resolveRest, resolveShop, restKeys, shopKeys, shopList } from '../shop-settings.ts';
import type { SecretAt, ShopSettings } from '../shop-settings.ts';

export interface WooCommerceRest extends RestSettings {
  readonly consumerKey: string;
  readonly consumerSecret: string;
}

export interface WooCommerceShop extends ShopSettings {
  readonly platform: 'woocommerce';
  /** An order with one of these statuses and a date of payment is bought. */
  readonly paidStatuses: readonly string[];
  readonly rest: WooCommerceRest | null;
}

const rest = z.strictObject({
  ...restKeys,
  consumer_key: secretText('required').describe(
    'The `ck_` of a key with the right to read. In production from the environment, or use `consumer_key_file`.',
  ),
  consumer_key_file: secretFile('the consumer key'),
  consumer_secret: secretText('required').describe(
    'The `cs_` of that key. In production from the environment, or use `consumer_secret_file`.',
  ),
  consumer_secret_file: secretFile('the consumer secret'),
  page_size: count(10, 100).default(100).describe('Orders on a page.'),
});

const section = z.strictObject({
  ...shopKeys,
  rest: rest
    .optional()
    .describe('Reads the shop back through its REST API, so no order is lost with a webhook. Unset: it is not read.'),
  paid_statuses: z
    .array(z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be a status of WooCommerce, for example "processing"'))
    .min(1)
    .max(20)
    .default(['processing', 'completed'])
    .describe(
      'Statuses in which an order that has a date of payment is bought. In any other, what is not sent yet is held.',
    ),
});

export const wooCommerceSettings = {
  name: 'woocommerce' as const,
  list: shopList('WooCommerce', section),
  sharesSecrets: false,
  restProblem: () => null,
  resolve(shop: z.infer<typeof section>, secretAt: SecretAt): WooCommerceShop {
    return {
      platform: 'woocommerce',
      ...resolveShop(shop, secretAt),
      paidStatuses: shop.paid_statuses,
      rest:
        shop.rest === undefined
          ? null
          : {
              ...resolveRest(shop.rest),
              consumerKey: secretAt('rest.consumer_key') ?? '',
              consumerSecret: secretAt('rest.consumer_secret') ?? '',
            },
    };
  },
};
