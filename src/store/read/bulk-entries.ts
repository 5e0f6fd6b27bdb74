import {
  statesFor,
  type BulkAction,
  type BulkFilter,
} from '../../core/operator/operator-command.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { whereOf } from './page.ts';

/** So many entries of a state are counted. */
const mostFound = 10_000;

/**
 * The states that a filter asks for and in which the action can be allowed. An entry that was never
 * answered has no code.
 */
const statesOf = (action: BulkAction, { state, code }: BulkFilter): readonly EntryState[] =>
  statesFor(action)
    .filter((it) => state === undefined || it === state)
    .filter((it) => it !== 'pending' || code === undefined);

/** The paid lines of the attention list: none else is ordered again among many. */
const unbought = `(e.state = 'rejected' OR e.state = 'expired') AND e.replaced = 0 AND e.taken_back = 0
  AND e.acknowledged_at_ms IS NULL AND e.error_code IS NOT 'rejected_by_person'`;

/** The state stands in the text: then SQLite uses the index of that state. */
function whereIn(
  action: BulkAction,
  state: EntryState,
  { source, code, product, orders }: BulkFilter,
): string {
  return whereOf([
    action === 'reorder' && unbought,
    (state === 'needs_review' || state === 'held') && "e.state IN ('needs_review', 'held')",
    `e.state = '${state}' AND e.updated_at_ms <= :untilMs`,
    // A lane begins with the source of its entries.
    source !== undefined && "e.lane >= :source || '|' AND e.lane < :source || '}'",
    orders !== undefined &&
      'e.line_id IN (SELECT l.id FROM json_each(:orders) o JOIN lines l ON l.request_id = o.value)',
    product !== undefined && '(e.variant = :product OR e.plan = :product)',
    code !== undefined &&
      "CASE WHEN e.held_by = 'limit' THEN e.over_limit WHEN e.state = 'held' THEN 'held' ELSE coalesce(e.error_code, e.state) END = :code",
  ]);
}

const valuesOf = ({ orders, ...filter }: BulkFilter) => ({
  ...filter,
  orders: JSON.stringify(orders),
});

export type FoundEntries = ReturnType<typeof findForBulk>[number];

/**
 * The entries that a bulk command would change, by state: their number, and at most `limit`
 * references in all.
 */
export function findForBulk(
  database: Sqlite,
  action: BulkAction,
  filter: BulkFilter,
  limit: number,
) {
  let left = limit;
  return statesOf(action, filter).flatMap((state) => {
    const where = whereIn(action, state, filter);
    const counted = `SELECT count(*) FROM (SELECT 1 FROM entries e ${where} LIMIT ${mostFound})`;
    const count = database.prepare<[object], number>(counted).pluck().get(valuesOf(filter)) ?? 0;
    if (count === 0) return [];
    const first = `SELECT e.reference FROM entries e ${where} LIMIT :limit`;
    const values = { ...valuesOf(filter), limit: Math.max(0, left) };
    const references = database.prepare<[typeof values], string>(first).pluck().all(values);
    left -= references.length;
    return [{ state, count, references }];
  });
}

export function stillFitting(
  database: Sqlite,
  action: BulkAction,
  filter: BulkFilter,
  references: readonly string[],
): ReadonlySet<string> {
  const values = { ...valuesOf(filter), references: JSON.stringify(references) };
  const named = 'e.reference IN (SELECT value FROM json_each(:references))';
  const fitting = statesOf(action, filter).flatMap((state) =>
    database
      .prepare<[typeof values], string>(
        `SELECT e.reference FROM entries e ${whereIn(action, state, filter)} AND ${named}`,
      )
      .pluck()
      .all(values),
  );
  return new Set(fitting);
}
