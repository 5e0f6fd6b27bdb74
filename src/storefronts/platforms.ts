import type { Platform } from './shop/platform.ts';
import type { PlatformName, Shop } from './settings.ts';
import { shopify } from './shopify/platform.ts';
import { woocommerce } from './woocommerce/platform.ts';

type ShopOf<Name> = Extract<Shop, { platform: Name }>;

/** What each platform of `settings.ts` does. */
const platforms: { readonly [Name in PlatformName]: Platform<ShopOf<Name>> } = {
  woocommerce,
  shopify,
};

export const webhookFormats = Object.values(platforms).map(({ webhook }) => webhook);

/** The platform of a shop. It must be given the settings of this shop only. */
export function platformOf(shop: Shop): Platform<Shop> {
  return platforms[shop.platform];
}
