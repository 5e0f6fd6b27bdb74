import { decisionTable } from './decision-table.ts';
import { outcomeRows, type OutcomeRow } from './outcome.ts';

/** One call whose order the API judged; newest first in a list. */
export interface RecentVerdict {
  readonly entryId: number;
  readonly row: OutcomeRow;
  readonly atMs: number;
}

/** Rejections because of how a request is written, not because of what the order asks for. */
export const malformedRequestRows: ReadonlySet<OutcomeRow> = new Set<OutcomeRow>([
  'invalid_request',
  'not_found_unexpected',
  'unlisted_code',
  'code_out_of_place',
]);

/** Outcomes in which the API judged the order itself, not the account, the key or the rate. */
export const verdictRows: readonly OutcomeRow[] = outcomeRows.filter((row) => {
  const { verdict } = decisionTable[row].clean;
  return verdict === 'settle' || verdict === 'reject' || verdict === 'wait' || verdict === 'review';
});

/** So many different entries, all within this time. */
export const consecutiveRejections = { entries: 5, withinMs: 3_600_000 } as const;

/**
 * Whether the last orders of a family were all rejected because of how their requests are written. With a wrong mapping the
 * API would reject ten thousand orders one after the other, and each shop would read that. One accepted order ends the run.
 */
export function isRejectedConsecutively(newestFirst: readonly RecentVerdict[], nowMs: number): boolean {
  const row = newestFirst.slice(0, consecutiveRejections.entries);
  return (
    new Set(row.map((call) => call.entryId)).size === consecutiveRejections.entries &&
    row.every((call) => malformedRequestRows.has(call.row) && nowMs - call.atMs <= consecutiveRejections.withinMs)
  );
}
