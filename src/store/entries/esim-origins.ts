import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';

/** Remembers which entry an eSIM came from; the first one counts. */
export const rememberEsim = statementOf<[iccid: string, entryId: number], never>(
  'INSERT INTO esims (iccid, entry_id) VALUES (?, ?) ON CONFLICT (iccid) DO NOTHING',
);
/** As an operator decided. */
export const takeEsim = statementOf<[iccid: string, entryId: number], never>(
  'INSERT INTO esims (iccid, entry_id) VALUES (?, ?) ON CONFLICT (iccid) DO UPDATE SET entry_id = excluded.entry_id',
);
export const forgetEsim = statementOf<[iccid: string, entryId: number], never>(
  'DELETE FROM esims WHERE iccid = ? AND entry_id = ?',
);
/** The entry that an eSIM came from. */
export const findEntryOfEsim = statementOf<
  [iccid: string],
  { id: number; reference: string; state: string }
>(
  'SELECT e.id, e.reference, e.state FROM esims s JOIN entries e ON e.id = s.entry_id WHERE s.iccid = ?',
);

/**
 * The order whose lookup tells what became of a cancel: the fulfilled order of its eSIM. An order
 * that was refunded by itself reads the same before and after the cancel, and tells nothing.
 */
export function originOf(database: Sqlite, row: EntryRow): string | null {
  if (row.operation !== 'esim_cancel' || row.iccid === null) return null;
  const origin = findEntryOfEsim(database).get(row.iccid);
  return origin?.state === 'fulfilled' ? origin.reference : null;
}
