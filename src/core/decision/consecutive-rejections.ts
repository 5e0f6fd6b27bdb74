import { decisionTable } from './decision-table.ts';
import { outcomeRows, type OutcomeRow } from './outcome.ts';

/** One call that was judged on its own merits, newest first in a list. */
export interface RecentVerdict {
  readonly entryId: number;
  readonly row: OutcomeRow;
  readonly atMs: number;
}

/** Refusals that speak of how a request is written, and not of what one order asks for. */
export const malformedRequestRows: ReadonlySet<OutcomeRow> = new Set<OutcomeRow>([
  'invalid_request',
  'not_found_unexpected',
  'unlisted_code',
  'code_out_of_place',
]);

/** Ends that tell what the API thinks of a request; a shut door, a limit or a broken line does not. */
export const verdictRows: readonly OutcomeRow[] = outcomeRows.filter((row) => {
  const { verdict } = decisionTable[row].clean;
  return verdict === 'settle' || verdict === 'reject' || verdict === 'wait' || verdict === 'review';
});

/** How many different entries in a row, and within which time. */
export const consecutiveRejections = { entries: 5, withinMs: 3_600_000 } as const;

/**
 * Whether requests of this kind are refused because of how they are written: a mapping that does not fit would refuse
 * ten thousand orders, one after the other, and each refusal is told to a shop. One order that is understood ends it.
 */
export function isRejectedConsecutively(newestFirst: readonly RecentVerdict[], nowMs: number): boolean {
  const row = newestFirst.slice(0, consecutiveRejections.entries);
  return (
    new Set(row.map((call) => call.entryId)).size === consecutiveRejections.entries &&
    row.every((call) => malformedRequestRows.has(call.row) && nowMs - call.atMs <= consecutiveRejections.withinMs)
  );
}
