import type { EntryState } from '../../core/entry/states.ts';
import type { EntryRow } from '../sqlite/rows.ts';

/** Final states in which nothing was bought: they do not stand in the way of taking an order back. */
export const nothingBought: ReadonlySet<EntryState> = new Set(['cancelled', 'expired', 'rejected']);

/** Surely never sent: a pending entry, or one that a person stopped while it was pending. */
export function isUnsent(row: EntryRow): boolean {
  if (row.outcome_unknown === 1) return false;
  return row.state === 'pending' || (row.state === 'held' && row.held_from === 'pending');
}
