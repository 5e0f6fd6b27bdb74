import type { EntryAction } from '../../core/operator/operator-decision.ts';
import type { EntryRow } from '../sqlite/rows.ts';

/** The fields of a resolution that the audit log keeps: never a code. */
export function auditedResolution({
  as,
  note,
  iccids = [],
  units,
}: Extract<EntryAction, { action: 'resolve' }>): object {
  return { as, note, iccids, units_entered: units?.length ?? null };
}

/** The fields of an entry that the audit log keeps, before and after a command. */
export function auditedFields(row: EntryRow): Record<string, unknown> {
  return {
    state: row.state,
    next_step: row.next_step,
    due_at_ms: row.due_at_ms,
    outcome_unknown: row.outcome_unknown === 1,
    held_from: row.held_from,
    replaced: row.replaced === 1,
    order_number: row.order_number,
    error_code: row.error_code,
    review_reason: row.review_reason,
  };
}
