import type { ShopIdentity, ShopFingerprint } from '../core/shop-identity.ts';
import type { Config } from './config.ts';

/** Without its scheme: a shop that gets a certificate stays the same shop. */
function addressMark(url: string): ShopFingerprint {
  const { host, pathname } = new URL(url);
  return { kind: 'address', value: `${host}${pathname.replace(/\/+$/, '')}` };
}

const secretMark = (value: string): ShopFingerprint => ({ kind: 'secret', value });

/** Every shop of a configuration whose orders get their source from it, with what it is recognised by. */
export function shopIdentities({ intake }: Config): readonly ShopIdentity[] {
  const { webhook, readBack } = intake;
  if (webhook === null) return [];
  const storefronts = (['woocommerce', 'shopify'] as const).flatMap((platform) =>
    webhook[platform].map(({ shop, source, secrets }): ShopIdentity => {
      const rest = readBack.find((it) => it.platform === platform && it.shop === shop)?.rest;
      const name: ShopFingerprint = { kind: 'name', value: `${platform}/${shop}` };
      const address = rest === undefined ? [] : [addressMark(rest.url)];
      // An app of Shopify signs for each shop that it is installed in with the same secret: the address is better.
      const signs = platform === 'shopify' && rest !== undefined ? [] : secrets.map(secretMark);
      return { title: `${platform} "${shop}"`, source, marks: [name, ...address, ...signs] };
    }),
  );
  const homeMade = webhook.hmac
    // In our own form each order may say where it comes from.
    .filter(({ form }) => form !== null)
    .map(({ name, secret, source }): ShopIdentity => {
      const marks = [secretMark(secret)];
      return { title: `hmac "${name}"`, source: source ?? webhook.source, marks };
    });
  return [...storefronts, ...homeMade];
}
