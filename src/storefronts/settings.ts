import type { PlatformSettings, ShopSection } from './shop/shop-settings.ts';
import { shopifySettings } from './shopify/settings.ts';
import { wooCommerceSettings } from './woocommerce/settings.ts';

/** The keys of `intake.webhook` that list shops. A new platform is added to both lists here and in `platforms.ts`. */
export const shopLists = {
  woocommerce: wooCommerceSettings.list,
  shopify: shopifySettings.list,
};
const all = [wooCommerceSettings, shopifySettings] as const;

export type PlatformName = keyof typeof shopLists;
/** A shop whose own webhooks are received, complete, with its secrets. */
export type Shop = ReturnType<(typeof all)[number]['resolve']>;

export const platformSettings: readonly PlatformSettings<PlatformName, Shop>[] = all;

type ShopSections = { readonly [Name in PlatformName]: readonly ShopSection[] };

/** `secretAt`: the secret of a dotted path within `intake.webhook`. `scale` shortens times in trials. */
export function resolveShops(
  sections: ShopSections,
  secretAt: (path: string) => string | undefined,
  scale: number,
): readonly Shop[] {
  return platformSettings.flatMap((platform) =>
    sections[platform.name].map((section, index) =>
      platform.resolve(section, (path) => secretAt(`${platform.name}.${index}.${path}`), scale),
    ),
  );
}

/** The sections with `sku_map` as an absolute path. */
export function withAbsolutePaths<Sections extends ShopSections>(
  sections: Sections,
  absolute: (path: string) => string,
): Sections {
  const changed = platformSettings.map(({ name }) => [
    name,
    sections[name].map((shop) => ({ ...shop, sku_map: absolute(shop.sku_map) })),
  ]);
  return { ...sections, ...Object.fromEntries(changed) };
}
