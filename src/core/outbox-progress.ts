/**
 * How far an outbox has come. Its rows are never deleted, so these numbers only rise, whatever a
 * clock says. A copy of the database has the numbers of the time when it was made.
 */
export interface OutboxProgress {
  /** Made with the database, and again whenever a database takes the place of one that was lost. */
  readonly databaseId: string;
  /**
   * The newest call, the newest entry and the newest row of the audit log; 0 where there is none.
   */
  readonly attempt: number;
  readonly entry: number;
  readonly decision: number;
}

const counters = ['attempt', 'entry', 'decision'] as const;

function isSameProgress(one: OutboxProgress, other: OutboxProgress): boolean {
  return (
    one.databaseId === other.databaseId &&
    counters.every((counter) => one[counter] === other[counter])
  );
}

const numbersOf = ({ attempt, entry, decision }: OutboxProgress): string =>
  `call ${attempt}, entry ${entry} and audit entry ${decision}`;

/**
 * Why a database cannot be the outbox that was used last; null if it can.
 * @param known how far the outbox had come that was used last
 * @param found how far the database has come; `replaced`: the lost outbox whose place it has taken
 * already
 */
export function reasonForOlderCopy(
  known: OutboxProgress,
  found: OutboxProgress & { readonly replaced: OutboxProgress | null },
): string | null {
  if (found.replaced !== null && isSameProgress(found.replaced, known)) return null;
  const isSameDatabase = found.databaseId === known.databaseId;
  if (isSameDatabase && counters.every((counter) => found[counter] >= known[counter])) return null;
  const what = isSameDatabase
    ? 'an older copy of the outbox'
    : 'not the outbox that the worker used last';
  return `this is ${what}: its newest records are ${numbersOf(found)}, those of the outbox used last are ${numbersOf(known)}`;
}
