import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';
import { isoOf } from '../sqlite/rows.ts';

/** An answer of the API with the form of its values instead of them. */
interface NewKeptAnswer {
  readonly kind: 'submit' | 'lookup' | 'products';
  readonly isError: boolean;
  readonly attemptId: number | null;
  readonly http: number;
  readonly body: string;
  readonly nowMs: number;
}

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

const keptOfKind = 20;
const keptForMs = 7 * 86_400_000;

const insert = statementOf<Record<string, unknown>, never>(
  `INSERT INTO kept_answers (kind, is_error, attempt_id, http_status, body, kept_at_ms)
   VALUES (:kind, :isError, :attemptId, :http, :body, :nowMs)`,
);
const removeOlder = statementOf<{ kind: string; isError: number }, never>(
  `DELETE FROM kept_answers WHERE kind = :kind AND is_error = :isError AND id <= (
     SELECT id FROM kept_answers WHERE kind = :kind AND is_error = :isError ORDER BY id DESC LIMIT 1 OFFSET ${keptOfKind})`,
);
const removeBefore = statementOf<[number], never>('DELETE FROM kept_answers WHERE kept_at_ms < ?');
const columns = `SELECT e.reference, e.operation, k.kind, a.number, k.http_status AS httpStatus, ${isoOf('k.kept_at_ms')} AS at, k.body
   FROM kept_answers k LEFT JOIN attempts a ON a.id = k.attempt_id LEFT JOIN entries e ON e.id = a.entry_id`;
const selectOfEntries = statementOf<[string], KeptAnswer>(
  `${columns} WHERE e.reference IN (SELECT value FROM json_each(?)) ORDER BY k.id`,
);
const selectLast = statementOf<[string, number], KeptAnswer>(
  `${columns} WHERE k.kind = ? AND k.is_error = ? ORDER BY k.id DESC LIMIT 1`,
);

/** Keeps an answer, and removes all but the last 20 of its kind. Called inside a transaction. */
export function keepAnswer(database: Sqlite, { isError, ...answer }: NewKeptAnswer): void {
  const kind = { kind: answer.kind, isError: isError ? 1 : 0 };
  insert(database).run({ ...answer, ...kind });
  removeOlder(database).run(kind);
}

/** The last answers of the API, masked. They are for people: nothing is decided by them. */
export class KeptAnswers extends OutboxSteps {
  /** Removes those of more than seven days ago; returns how many. */
  readonly removeOld = this.step(
    ({ database }, nowMs: number): number => removeBefore(database).run(nowMs - keptForMs).changes,
  );
}

/** The kept answers to the calls of these entries, oldest first. */
export function readKeptAnswers(
  database: Sqlite,
  references: readonly string[],
): readonly KeptAnswer[] {
  return selectOfEntries(database).all(JSON.stringify(references));
}

/** The last answer of a kind: a success, or an error; null when none is kept. */
export function readLastAnswer(
  database: Sqlite,
  kind: KeptAnswer['kind'],
  isError: boolean,
): KeptAnswer | null {
  return selectLast(database).get(kind, isError ? 1 : 0) ?? null;
}
