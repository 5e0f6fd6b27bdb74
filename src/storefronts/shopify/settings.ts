import { z } from 'zod';
import { camelKeys, secretFile, secretText } from '../../core/settings/schema-values.ts';
import { resolveRest, resolveShop, restKeys, type SecretAt, shopKeys, shopList } from '../shop/shop-settings.ts';

/** A lasting token, or the credentials of an app, for which Shopify issues tokens that last a day. */
type ShopifyAccess =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'credentials'; readonly clientId: string; readonly clientSecret: string };

export type ShopifyShop = ReturnType<typeof shopifySettings.resolve>;
export type ShopifyRest = NonNullable<ShopifyShop['rest']>;
/** The settings of write-back into the shop's orders. `writeBack` of the schema describes each key. */
export type ShopifyWriteBack = NonNullable<ShopifyShop['writeBack']>;

const rest = z.strictObject({
  ...restKeys,
  access_token: secretText('optional').describe('A lasting Admin API token with `read_orders`.'),
  access_token_file: secretFile('the token'),
  client_id: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/, 'must be printable ASCII without spaces')
    .optional()
    .describe('Instead of a token: the client id of an app of the Dev Dashboard. The worker asks for tokens with it.'),
  client_secret: secretText('optional').describe('The secret of that app.'),
  client_secret_file: secretFile('the client secret'),
});

const writeBack = z.strictObject({
  fulfil: z.boolean().default(true).describe('Fulfils what remains of the lines that are delivered.'),
  notify_customer: z.boolean().default(false).describe('The shop mails the customer about each fulfilment.'),
  deliver_codes: z
    .enum(['off', 'meta'])
    .default('off')
    .describe('`meta`: the codes stand in a metafield of the order that belongs to the app. `off`: nowhere.'),
});

const section = z.strictObject({
  ...shopKeys,
  rest: rest
    .optional()
    .describe('Reads the shop back through the Admin API, so no order is lost with a webhook. Unset: it is not read.'),
  write_back: writeBack
    .optional()
    .describe(
      'Writes results into the orders of the shop. Needs `rest`, with scopes to write. Unset: nothing is written.',
    ),
});

export const shopifySettings = {
  name: 'shopify' as const,
  list: shopList('Shopify', section),
  // An app signs for each shop that it is installed in with the same secret.
  sharesSecrets: true,
  restProblem(isSet: (key: string) => boolean): string | null {
    const parts = ['client_id', 'client_secret'].filter(isSet).length;
    const isValid = isSet('access_token') ? parts === 0 : parts === 2;
    return isValid ? null : 'must have either an `access_token`, or both `client_id` and `client_secret`';
  },
  resolve({ rest: given, write_back: keys, ...shop }: z.infer<typeof section>, secretAt: SecretAt, scale: number) {
    return {
      platform: 'shopify' as const,
      ...resolveShop(shop, secretAt),
      writeBack: keys === undefined ? null : camelKeys(keys),
      rest: given === undefined ? null : { ...resolveRest(given, scale), access: accessOf(given, secretAt) },
    };
  },
};

function accessOf({ client_id: clientId = '' }: z.infer<typeof rest>, secretAt: SecretAt): ShopifyAccess {
  const token = secretAt('rest.access_token');
  if (token !== undefined) return { kind: 'token', token };
  return { kind: 'credentials', clientId, clientSecret: secretAt('rest.client_secret') ?? '' };
}
