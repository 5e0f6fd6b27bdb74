import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { isoOf } from '../sqlite/rows.ts';

/** An answer of the API with the form of its values instead of them. */
export interface KeptAnswer {
  /** The entry whose call it answered; null for a catalogue. */
  readonly reference: string | null;
  readonly operation: string | null;
  readonly kind: string;
  readonly number: number | null;
  readonly httpStatus: number;
  readonly at: string;
  /** JSON. */
  readonly body: string;
}

const columns = `SELECT e.reference, e.operation, k.kind, a.number, k.http_status AS httpStatus, ${isoOf('k.kept_at_ms')} AS at, k.body
   FROM kept_answers k LEFT JOIN attempts a ON a.id = k.attempt_id LEFT JOIN entries e ON e.id = a.entry_id`;
const selectOfEntries = statementOf<[string], KeptAnswer>(
  `${columns} WHERE e.reference IN (SELECT value FROM json_each(?)) ORDER BY k.id`,
);
const selectLast = statementOf<[string, number], KeptAnswer>(
  `${columns} WHERE k.kind = ? AND k.is_error = ? ORDER BY k.id DESC LIMIT 1`,
);

/** The kept answers to the calls of these entries, oldest first. */
export function readKeptAnswers(database: Sqlite, references: readonly string[]): readonly KeptAnswer[] {
  return selectOfEntries(database).all(JSON.stringify(references));
}

/** The last answer of a kind: a success, or an error; null when none is kept. */
export function readLastAnswer(database: Sqlite, kind: KeptAnswer['kind'], isError: boolean): KeptAnswer | null {
  return selectLast(database).get(kind, isError ? 1 : 0) ?? null;
}
