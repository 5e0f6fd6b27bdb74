import { z } from 'zod';
import { keysOf, orNull, secretText } from '../../../src/core/settings/schema-values.ts';
import {
  type PacedShop,
  type PlatformSettings,
  restKeys,
  shopKeys,
  shopList,
} from '../../../src/storefronts/shop/shop-settings.ts';

const rest = keysOf({
  ...restKeys,
  token: secretText('required').describe('The token of its API.'),
});
const writeBack = keysOf({ mark: z.string().default('sent').describe('What a done order gets.') });
const section = keysOf({
  ...shopKeys,
  rest: orNull(rest).describe('Reads the shop back.'),
  write_back: orNull(writeBack).describe('Marks orders that are done.'),
});
const list = shopList('stall', 'Stall', section);

export const stallSettings = {
  list,
  sharesSecrets: false,
  brokenRule: () => null,
} satisfies PlatformSettings;

export type StallShop = PacedShop<z.output<typeof list>[number]>;
