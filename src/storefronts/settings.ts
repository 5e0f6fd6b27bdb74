import type { z } from 'zod';
import { type PacedShop, readBackPace } from './shop/shop-settings.ts';
import { shopifySettings } from './shopify/settings.ts';
import { wooCommerceSettings } from './woocommerce/settings.ts';

/**
 * Every platform, by the key of `intake.webhook` that lists its shops. A further one is a line here
 * and in `platforms.ts`.
 */
export const platformSettings = {
  woocommerce: wooCommerceSettings,
  shopify: shopifySettings,
};

type Platforms = typeof platformSettings;
export type PlatformName = keyof Platforms;
type ShopLists = { readonly [Name in PlatformName]: Platforms[Name]['list'] };
type ListedShop<Name extends PlatformName> = z.output<ShopLists[Name]>[number];

const isPlatform = (name: string): name is PlatformName => Object.hasOwn(platformSettings, name);
export const platformNames = Object.keys(platformSettings).filter(isPlatform);

export const shopLists =
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each name keeps its own list
  Object.fromEntries(platformNames.map((name) => [name, platformSettings[name].list])) as ShopLists;

/** A shop whose own webhooks are received, complete, with its secrets. */
export type Shop = { [Name in PlatformName]: PacedShop<ListedShop<Name>> }[PlatformName];

/** All shops; `scale` shortens times in trials. */
export function shopsOf(
  lists: { readonly [Name in PlatformName]: readonly ListedShop<Name>[] },
  scale: number,
): readonly Shop[] {
  const pace = readBackPace(scale);
  return platformNames
    .flatMap<ListedShop<PlatformName>>((name) => lists[name])
    .map((shop) => {
      const rest = shop.rest === null ? null : { ...shop.rest, ...pace };
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other keys stay as they are
      return { ...shop, rest } as Shop;
    });
}
