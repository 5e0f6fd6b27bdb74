/** An entry is not sent before its order was read again from the shop. */
export interface AwaitedRecheck {
  readonly since: string;
  /** Why the order could not be read the last time; null: it was not tried yet. */
  readonly problem: string | null;
}

/** Why such an entry is not sent, for people. */
export function recheckText({ since, problem }: AwaitedRecheck): string {
  const why = `its order is read again from the shop before it is bought, and it has waited for that since ${since}`;
  return problem === null ? why : `${why}; the last try failed: ${problem}`;
}
