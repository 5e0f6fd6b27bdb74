import type { Platform } from './shop/platform.ts';
import type { PlatformName, Shop } from './settings.ts';
import { shopify } from './shopify/platform.ts';
import { woocommerce } from './woocommerce/platform.ts';

const platforms: { readonly [Name in PlatformName]: Platform<Extract<Shop, { platform: Name }>> } = {
  woocommerce,
  shopify,
};

/** The platform of a shop. It must be given the settings of this shop only. */
export function platformOf(shop: Shop): Platform<Shop> {
  return platforms[shop.platform];
}
