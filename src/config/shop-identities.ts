import type { ShopFingerprint, ShopIdentity } from '../core/shop-identity.ts';
import { platformSettings, type Shop } from '../storefronts/settings.ts';
import type { Config } from './config.ts';

/**
 * All shops, folders and tokens whose source is fixed by the configuration, with what identifies
 * each of them.
 */
export function shopIdentities({ intake }: Config): readonly ShopIdentity[] {
  const { shops, folders, webhook } = intake;
  // With other `sources`, an operator has decided.
  const named = webhook?.tokens.filter(({ name, sources }) => sources.join() === name) ?? [];
  return [
    ...shops.map(identityOf),
    ...folders.map(({ inbox, source }): ShopIdentity => {
      return {
        what: 'folder',
        title: inbox,
        source,
        fingerprints: [{ kind: 'address', value: `folder:${inbox}` }],
      };
    }),
    ...named.map(({ name, secrets }): ShopIdentity => {
      return {
        what: 'token',
        title: `"${name}"`,
        source: name,
        fingerprints: secrets.map(secretOf),
      };
    }),
  ];
}

function identityOf({ platform, shop, source, secrets, rest }: Shop): ShopIdentity {
  const name: ShopFingerprint = { kind: 'name', value: `${platform}/${shop}` };
  const { sharesSecrets } = platformSettings[platform];
  const others = [
    ...(rest === null ? [] : [addressOf(rest.url)]),
    // Several shops may share the secret: where the address is known, it identifies the shop.
    ...(sharesSecrets && rest !== null ? [] : secrets.map(secretOf)),
  ];
  return { title: `${platform} "${shop}"`, source, fingerprints: [name, ...others] };
}

const secretOf = (value: string): ShopFingerprint => ({ kind: 'secret', value });

/** Without the scheme: a shop that gets a certificate stays the same shop. */
function addressOf(url: string): ShopFingerprint {
  const { host, pathname } = new URL(url);
  return { kind: 'address', value: `${host}${pathname.replace(/\/+$/, '')}` };
}
