import { z } from 'zod';
import { certificatesFile, keysOf, orNull, secretText } from '../../core/settings/schema-values.ts';
import {
  type PacedShop,
  type PlatformSettings,
  restKeys,
  shopKeys,
  shopList,
} from '../shop/shop-settings.ts';

const rest = keysOf({
  ...restKeys,
  consumer_key: secretText('required').describe(
    'The consumer key (`ck_…`), with permission to read.',
  ),
  consumer_secret: secretText('required').describe('The `cs_` of that key.'),
  ca_file: certificatesFile(
    'Certificate authorities (PEM) for this shop, instead of those of the system.',
  ),
}).transform(({ caFile: ca, ...keys }) => ({ ...keys, ca }));

const writeBack = keysOf({
  status: z
    .enum(['completed', 'keep'])
    .default('completed')
    .describe(
      'Whether an order becomes `completed` when this worker has delivered every line of it.',
    ),
  deliver_codes: z
    .enum(['off', 'note', 'meta'])
    .default('off')
    .describe(
      'Where codes are written: in a `note` that the shop mails to the customer, or in a field (`meta`) that every reader of the order can read.',
    ),
  line_meta: z
    .boolean()
    .default(false)
    .describe(
      'Also writes fields of the lines: the state, and, with `deliver_codes: meta`, the codes in the field `Code`, which mails show. WooCommerce then calculates taxes again.',
    ),
});

const section = keysOf({
  ...shopKeys,
  rest: orNull(rest).describe(
    'Reads the shop through its REST API, so a lost webhook loses no order.',
  ),
  write_back: orNull(writeBack).describe(
    'Writes results into the orders of the shop. Needs `rest` with a key that has permission to write.',
  ),
  paid_statuses: z
    .array(
      z
        .string()
        .regex(/^[a-z0-9-]{1,40}$/, 'must be a status of WooCommerce, for example "processing"'),
    )
    .min(1)
    .max(20)
    .default(['processing', 'completed'])
    .describe(
      'Statuses in which an order with a date of payment is bought. In others, unsent lines are held.',
    ),
});
const list = shopList('woocommerce', 'WooCommerce', section);

export const wooCommerceSettings = {
  list,
  sharesSecrets: false,
  /** A written result must not look like an order. */
  brokenRule(valueOf) {
    const hasField = String(valueOf('iccid_field')).toLowerCase() === 'code';
    if (valueOf('write_back', 'line_meta') !== true || !hasField) return null;
    const problem =
      'writes delivered codes into the field "Code" of lines, but iccid_field says that this field names the eSIM to top up: use another name in iccid_field';
    return { at: ['write_back', 'line_meta'], problem };
  },
} satisfies PlatformSettings;

export type WooCommerceShop = PacedShop<z.output<typeof list>[number]>;
export type WooCommerceRest = NonNullable<WooCommerceShop['rest']>;
export type WooCommerceWriteBack = z.output<typeof writeBack>;
