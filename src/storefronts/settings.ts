import type { z } from 'zod';
import { type PlatformSettings, readBackPace } from './shop/shop-settings.ts';
import { type ShopifyShop, shopifySettings } from './shopify/settings.ts';
import { type WooCommerceShop, wooCommerceSettings } from './woocommerce/settings.ts';

/**
 * The keys of `intake.webhook` that list shops. A new platform is added to these lists and in
 * `platforms.ts`.
 */
export const shopLists = {
  woocommerce: wooCommerceSettings.list,
  shopify: shopifySettings.list,
};
export type PlatformName = keyof typeof shopLists;

export const platformSettings: readonly PlatformSettings<PlatformName>[] = [
  wooCommerceSettings,
  shopifySettings,
];

/** A shop whose own webhooks are received, complete, with its secrets. */
export type Shop = WooCommerceShop | ShopifyShop;
type ListedShop = {
  [Name in PlatformName]: z.output<(typeof shopLists)[Name]>[number];
}[PlatformName];

/** All shops; `scale` shortens times in trials. */
export function shopsOf(
  lists: { readonly [Name in PlatformName]: readonly ListedShop[] },
  scale: number,
): readonly Shop[] {
  const pace = readBackPace(scale);
  return platformSettings
    .flatMap(({ name }) => lists[name])
    .map((shop) => {
      if (shop.rest === null) return { ...shop, rest: null };
      return shop.platform === 'shopify'
        ? { ...shop, rest: { ...shop.rest, ...pace } }
        : { ...shop, rest: { ...shop.rest, ...pace } };
    });
}
