/** What a shop is recognised by, whatever the source is that its orders are given. */
export interface ShopFingerprint {
  readonly kind: 'name' | 'address' | 'secret';
  readonly value: string;
}

/** A shop of which the configuration alone says what source its orders belong to: they cannot name one themselves. */
export interface ShopIdentity {
  /** How a person finds it in the configuration. */
  readonly title: string;
  readonly source: string;
  readonly marks: readonly ShopFingerprint[];
}
