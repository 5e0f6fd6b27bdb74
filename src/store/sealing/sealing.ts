/** Sealing of delivered units. */
export interface Sealing {
  /** The id of the key that seals; null: units are stored in clear. */
  readonly sealsWith: string | null;
  /**
   * Seals units that are in clear, or that another key sealed, with the first key, in one transaction. Does nothing
   * without a key. Continues where any earlier call ended, also that of a process that was killed.
   * @param limit how many entries at most
   */
  sealNext(limit: number): Promise<SealProgress>;
  /**
   * Moves the write-ahead log into the database and empties it: it has what was replaced until then. False while somebody
   * reads the database: try again later.
   */
  emptyLog(): Promise<boolean>;
}

export interface SealProgress {
  readonly sealed: number;
  /** References whose units could not be opened. They stay as they are. */
  readonly unreadable: readonly string[];
  /** Whether there is more to seal. */
  readonly more: boolean;
}
