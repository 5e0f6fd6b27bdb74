import { statementOf, type Sqlite } from '../sqlite/database.ts';

/** How many entries have units that a key sealed. */
export interface SealUsage {
  /** The id of the key; null: the units are in clear. */
  readonly key: string | null;
  readonly entries: number;
}

const usage = statementOf<[], SealUsage>(
  'SELECT sealed_by AS key, count(*) AS entries FROM entries WHERE units IS NOT NULL GROUP BY sealed_by',
);

/** The keys that sealed what is stored now. Reads an index with one row for each entry that has units. */
export function readSealUsage(database: Sqlite): readonly SealUsage[] {
  return usage(database).all();
}
