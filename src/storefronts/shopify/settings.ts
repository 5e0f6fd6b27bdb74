import { z } from 'zod';
import { keysOf, orNull, secretText } from '../../core/settings/schema-values.ts';
import {
  type PacedShop,
  type PlatformSettings,
  restKeys,
  shopKeys,
  shopList,
} from '../shop/shop-settings.ts';

/**
 * A lasting token, or the credentials of an app, for which Shopify issues tokens that last a day.
 */
type ShopifyAccess =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'credentials'; readonly clientId: string; readonly clientSecret: string };

const rest = keysOf({
  ...restKeys,
  access_token: secretText('optional').describe('A permanent Admin API token with `read_orders`.'),
  client_id: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/, 'must be printable ASCII without spaces')
    .optional()
    .describe('Instead of a token: the client id of an app from the Dev Dashboard.'),
  client_secret: secretText('optional').describe('The secret of that app.'),
}).transform(({ accessToken: token, clientId = '', clientSecret, ...keys }) => {
  const access: ShopifyAccess =
    token === '' ? { kind: 'credentials', clientId, clientSecret } : { kind: 'token', token };
  return { ...keys, access };
});

const writeBack = keysOf({
  fulfil: z.boolean().default(true).describe('Fulfils the delivered lines.'),
  notify_customer: z
    .boolean()
    .default(false)
    .describe('Whether the shop mails the customer about a fulfilment.'),
  deliver_codes: z
    .enum(['off', 'meta'])
    .default('off')
    .describe('`meta`: codes are written into the order, in a metafield that belongs to the app.'),
});

const section = keysOf({
  ...shopKeys,
  rest: orNull(rest).describe(
    'Reads the shop through the Admin API, so a lost webhook loses no order.',
  ),
  write_back: orNull(writeBack).describe(
    'Writes results into the orders of the shop. Needs `rest` with scopes to write.',
  ),
});
const list = shopList('shopify', 'Shopify', section);

export const shopifySettings = {
  list,
  // An app signs for each shop that it is installed in with the same secret.
  sharesSecrets: true,
  brokenRule(valueOf) {
    const isSet = (key: string): boolean => valueOf('rest', key) !== undefined;
    const parts = ['client_id', 'client_secret'].filter(isSet).length;
    const isValid = isSet('access_token') ? parts === 0 : parts === 2;
    if (valueOf('rest') === undefined || isValid) return null;
    const problem = 'must have either an `access_token`, or both `client_id` and `client_secret`';
    return { at: ['rest'], problem };
  },
} satisfies PlatformSettings;

export type ShopifyShop = PacedShop<z.output<typeof list>[number]>;
export type ShopifyRest = NonNullable<ShopifyShop['rest']>;
export type ShopifyWriteBack = z.output<typeof writeBack>;
