import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';

/** An answer of the API with the form of its values instead of them. */
export interface NewKeptAnswer {
  readonly kind: 'submit' | 'lookup' | 'products';
  readonly isError: boolean;
  readonly attemptId: number | null;
  readonly http: number;
  readonly body: string;
  readonly nowMs: number;
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
