import { z } from 'zod';
import { camelKeys, folderPath, secretFile, secretText } from '../../core/settings/schema-values.ts';
import { resolveRest, resolveShop, restKeys, type SecretAt, shopKeys, shopList } from '../shop/shop-settings.ts';

export type WooCommerceShop = ReturnType<typeof wooCommerceSettings.resolve>;
export type WooCommerceRest = NonNullable<WooCommerceShop['rest']>;
/** The settings of write-back into the shop's orders. `writeBack` of the schema describes each key. */
export type WooCommerceWriteBack = NonNullable<WooCommerceShop['writeBack']>;

const rest = z.strictObject({
  ...restKeys,
  consumer_key: secretText('required').describe('The `ck_` of a key with the right to read.'),
  consumer_key_file: secretFile('the consumer key'),
  consumer_secret: secretText('required').describe('The `cs_` of that key.'),
  consumer_secret_file: secretFile('the consumer secret'),
  ca_file: folderPath('Certificate authorities (PEM) that are trusted for this shop instead of those of the system.'),
});

const writeBack = z.strictObject({
  status: z
    .enum(['completed', 'keep'])
    .default('completed')
    .describe('`completed`: an order gets this status when every line of it is ours and delivered. `keep`: never.'),
  deliver_codes: z
    .enum(['off', 'note', 'meta'])
    .default('off')
    .describe(
      'How the codes reach the order: not at all, in a `note` that the shop mails to the customer, or in a field (`meta`) that everybody reads who may read the order.',
    ),
  line_meta: z
    .boolean()
    .default(false)
    .describe(
      'Also fields of the lines: state, and with `deliver_codes: meta` the codes as `Code`, which mails show. WooCommerce then calculates the taxes of the order again.',
    ),
});

const section = z.strictObject({
  ...shopKeys,
  rest: rest
    .optional()
    .describe('Reads the shop back through its REST API, so no order is lost with a webhook. Unset: it is not read.'),
  write_back: writeBack
    .optional()
    .describe(
      'Writes results into the orders of the shop. Needs `rest`, with a key that may write. Unset: nothing is written.',
    ),
  paid_statuses: z
    .array(z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be a status of WooCommerce, for example "processing"'))
    .min(1)
    .max(20)
    .default(['processing', 'completed'])
    .describe('Statuses in which an order with a date of payment is bought. In any other, its unsent lines are held.'),
});

export const wooCommerceSettings = {
  name: 'woocommerce' as const,
  list: shopList('WooCommerce', section),
  sharesSecrets: false,
  restProblem: () => null,
  resolve({ rest: given, write_back: keys, ...shop }: z.infer<typeof section>, secretAt: SecretAt, scale: number) {
    const consumerKey = secretAt('rest.consumer_key') ?? '';
    const consumerSecret = secretAt('rest.consumer_secret') ?? '';
    const ofShop = { ca: secretAt('rest.ca'), consumerKey, consumerSecret };
    return {
      platform: 'woocommerce' as const,
      ...resolveShop(shop, secretAt),
      paidStatuses: shop.paid_statuses,
      writeBack: keys === undefined ? null : camelKeys(keys),
      rest: given === undefined ? null : { ...resolveRest(given, scale), ...ofShop },
    };
  },
};
