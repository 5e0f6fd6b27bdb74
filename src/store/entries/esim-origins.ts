import type { AcceptableLine } from '../../core/order/order-request.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
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
const findEntryOfEsim = statementOf<
  [iccid: string],
  { id: number; reference: string; state: string }
>(
  'SELECT e.id, e.reference, e.state FROM esims s JOIN entries e ON e.id = s.entry_id WHERE s.iccid = ?',
);

const findBuyer = columnOf<[iccid: string], string>(
  `SELECT r.source FROM esims s JOIN entries e ON e.id = s.entry_id JOIN lines l ON l.id = e.line_id
   JOIN requests r ON r.id = l.request_id WHERE s.iccid = ?`,
);
/** The source of a line. */
export const findSource = columnOf<[lineId: number], string>(
  'SELECT r.source FROM lines l JOIN requests r ON r.id = l.request_id WHERE l.id = ?',
);
/** The code of a cancel that its source may not order. */
export const foreignEsim = 'esim_of_other_source';

/**
 * Why a source may not order this line; null: it may. An eSIM belongs to the source that bought it,
 * which alone may cancel it. The text tells nobody what others bought.
 * @param isLimited whether an eSIM that is unknown here is refused, too
 */
export function whyForeign(
  database: Sqlite,
  { source, operation, iccid }: Pick<AcceptableLine, 'source' | 'operation' | 'iccid'>,
  isLimited: boolean,
): string | null {
  if (operation !== 'esim_cancel' || iccid === null) return null;
  const buyer = findBuyer(database).get(iccid);
  if (buyer === source || (buyer === undefined && !isLimited)) return null;
  return `must be that of an eSIM that the source "${source}" bought here: only the source that bought an eSIM may cancel it. Check the ICCID; an operator can cancel the eSIM with \`order-sync submit\`, under the source that bought it`;
}

/**
 * The request that an eSIM came from, unless codes of it were shredded: then its result is not
 * written again.
 */
export const findRequestOfEsim = columnOf<[iccid: string | null], number>(
  `SELECT l.request_id FROM esims s JOIN entries e ON e.id = s.entry_id JOIN lines l ON l.id = e.line_id
   WHERE s.iccid = ? AND NOT EXISTS (SELECT 1 FROM lines o JOIN entries d ON d.line_id = o.id
     WHERE o.request_id = l.request_id AND d.shredded_at_ms IS NOT NULL)`,
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
