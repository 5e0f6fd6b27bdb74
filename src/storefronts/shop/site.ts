/**
 * The site of a shop by one of its addresses, with its kind: `site shop.example.com/de`. The same
 * shop may be reached with and without `www`, by http, and in the folder of a language; null: it is
 * no address.
 */
export function siteOf(address: unknown): string | null {
  if (typeof address !== 'string' || !URL.canParse(address)) return null;
  const { host, pathname } = new URL(address);
  const folder = pathname
    .replace(/\/(?:index\.php|wp-json)(?:\/.*)?$/, '')
    .replace(/(?:\/[a-z]{2}(?:-[a-z]{2})?)?\/*$/i, '');
  return `site ${host.replace(/^www\./, '')}${folder}`.slice(0, 1024);
}

const kindOf = (site: string): string => site.slice(0, site.indexOf(' '));

/** Whether none of these is known of the shop although others of the same kind are. */
export function isOfOtherShop(sites: readonly string[], known: ReadonlySet<string>): boolean {
  const kinds = new Set([...known].map(kindOf));
  return sites.some((site) => kinds.has(kindOf(site)) && !known.has(site));
}
