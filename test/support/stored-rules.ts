import { openReadOnly } from '../../src/store/sqlite/database.ts';

/** The rules and the deadline of each entry in the outbox, in the order in which they came. */
export function storedRules(
  path: string,
): readonly { rules: unknown; notAfterMs: number | null }[] {
  const database = openReadOnly(path);
  const rows = database
    .prepare<[], { rules: string; notAfterMs: number | null }>(
      'SELECT rules, not_after_ms AS notAfterMs FROM entries ORDER BY id',
    )
    .all();
  database.close();
  return rows.map(({ rules, notAfterMs }) => ({ rules: JSON.parse(rules), notAfterMs }));
}
