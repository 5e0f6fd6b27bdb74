import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import type { BulkResult } from './operator.ts';

/** Acts on one after the other. A refusal changes nothing, so the other entries continue; any other error ends the step. */
export function actOnEach(references: readonly string[], act: (reference: string) => void): BulkResult {
  const changed: string[] = [];
  const refused: BulkResult['refused'][number][] = [];
  for (const reference of references) {
    try {
      act(reference);
      changed.push(reference);
    } catch (error) {
      if (!hasCode(error, 'REFUSED')) throw error;
      refused.push({ reference, message: error.message, hint: error.hint ?? '' });
    }
  }
  return { changed, refused };
}

/** Somebody or the worker changed the entry after the filter found it. */
export function notFitting(row: EntryRow | undefined, reference: string): OrderSyncError {
  const why = row === undefined ? 'is not in the outbox' : `is ${row.state} now, or has changed since it was found`;
  return new OrderSyncError('REFUSED', `${reference} ${why}`, { hint: 'look again which entries the filter finds' });
}
