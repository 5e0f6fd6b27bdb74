/** What is the same for every storefront. */
export interface StorefrontShop {
  /** The part of the address that names the shop. */
  readonly shop: string;
  /** The source that its orders belong to. */
  readonly source: string;
  /** Any of them may have signed: that is how a secret is changed without a gap. */
  readonly secrets: readonly string[];
  readonly skuMap: string;
  /** The balance to charge when the SKU map names none; null: that of the order's own currency. */
  readonly currency: string | null;
  /** What becomes of a line whose SKU the map does not know: nothing, or it is told to a person. */
  readonly unmatched: 'ignore' | 'hold';
  readonly onRefund: 'hold' | 'cancel_esim' | 'ignore';
  /** Orders that were paid longer ago are not bought by themselves: a person is told. */
  readonly maxAgeMs: number;
  /** The field of a line in which a customer names the eSIM to top up. */
  readonly iccidField: string;
}

export interface WooCommerceShop extends StorefrontShop {
  readonly paidStatuses: readonly string[];
}

export interface StorefrontsConfig {
  readonly woocommerce: readonly WooCommerceShop[];
  readonly shopify: readonly StorefrontShop[];
}
