/** A property that identifies a shop, also after its source was renamed in the configuration. */
export interface ShopFingerprint {
  readonly kind: 'name' | 'address' | 'secret';
  readonly value: string;
}

/** A shop, a folder or a token whose orders get their source from the configuration. */
export interface ShopIdentity {
  /** Its name in the configuration, for messages. */
  readonly title: string;
  readonly source: string;
  readonly fingerprints: readonly ShopFingerprint[];
  /** Absent: a shop. */
  readonly what?: 'folder' | 'token';
}
