import { z } from 'zod';
import { sourceSchema } from '../order/order-request.ts';
import { allowedActions, entryStates, type EntryState } from '../entry/states.ts';

/**
 * The actions that are allowed for many entries at once. Each of them keeps its reference, so none can buy twice, and each can
 * be undone. Not among them: `reorder`, which gets a new reference that can buy once more, and `resolve`, which needs what a
 * person found about that one entry.
 */
export const bulkActions = ['retry', 'hold', 'release', 'cancel'] as const;
export type BulkAction = (typeof bulkActions)[number];

/** So many entries are changed by one run, and by one step of it: the worker does nothing else during a step. */
export const mostInRun = 1000;
export const mostInStep = 100;

/** Which entries: those that fit everything that is given. */
export const bulkFilterSchema = z.strictObject({
  state: z.enum(entryStates).optional(),
  source: sourceSchema.optional(),
  /** The code that the attention list shows: that of the last error, else the state. */
  code: z.string().min(1).max(128).optional(),
  /** Only what has not changed since this time, in ms: what happened later was seen by nobody who chose the filter. */
  untilMs: z.number(),
});
export type BulkFilter = z.infer<typeof bulkFilterSchema>;

/** The states in which this action is allowed for some entries. Which of them, each entry decides by itself. */
export function statesFor(action: BulkAction): readonly EntryState[] {
  const clean = { mayBeBought: false, replaced: false, hasOtherId: false, unitsMissing: 0 };
  return entryStates.filter((state) =>
    allowedActions({ ...clean, state, heldFrom: state === 'held' ? 'pending' : null }).includes(action),
  );
}
