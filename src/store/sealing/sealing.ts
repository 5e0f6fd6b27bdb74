/** Sealing of delivered units. */
export interface Sealing {
  /** The id of the key that seals; null: units are stored in clear. */
  readonly sealsWith: string | null;
}
