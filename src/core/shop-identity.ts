/** A property that identifies a shop, also after its source was renamed in the configuration. */
export interface ShopFingerprint {
  readonly kind: 'name' | 'address' | 'secret';
  readonly value: string;
}

/** A shop whose orders cannot name a source themselves: the configuration assigns it. */
export interface ShopIdentity {
  /** Its name in the configuration, for messages. */
  readonly title: string;
  readonly source: string;
  readonly fingerprints: readonly ShopFingerprint[];
}
