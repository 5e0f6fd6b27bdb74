/** How the REST API of a shop is read. */
export interface ShopRest {
  /** Scheme, host and path of the shop, without a slash at the end. */
  readonly url: string;
  /** When it is read, as a cron expression in UTC. */
  readonly schedule: string;
  /** How far before the first start orders are read back. */
  readonly lookbackMs: number;
  /** How much of what was read before is read again: a shop's changes may become visible later than their time says. */
  readonly overlapMs: number;
  readonly pageSize: number;
  /** Pages in one run; the next run goes on where it ended. */
  readonly pagesPerRun: number;
  /** Between the starts of two calls. */
  readonly intervalMs: number;
  /** The longest answer that is read. */
  readonly bodyBytes: number;
  readonly connectMs: number;
  /** One call, from its start to the last byte of its answer. */
  readonly totalMs: number;
}

export interface WooRest extends ShopRest {
  readonly consumerKey: string;
  readonly consumerSecret: string;
}

/** What opens the Shopify API: a token that lasts, or an app's own credentials, for which tokens of a day are given. */
export type ShopifyAccess =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'credentials'; readonly clientId: string; readonly clientSecret: string };

export interface ShopifyRest extends ShopRest {
  readonly apiVersion: string;
  readonly access: ShopifyAccess;
}

/** A shop that is read back, by the name of its webhook. */
export type ReconciledShop = { readonly shop: string; readonly source: string } & (
  | { readonly platform: 'woocommerce'; readonly rest: WooRest }
  | { readonly platform: 'shopify'; readonly rest: ShopifyRest }
);
