import { describe, expect, it } from 'vitest';
import {
  allowedActions,
  canTransition,
  entryStates,
  finalStates,
  isFinal,
  type EntryActionName,
} from '../../../src/core/entry/states.ts';

describe('the states of an entry', () => {
  it('end only in final states', () => {
    expect(entryStates.filter(isFinal)).toEqual([...finalStates]);
    const left = finalStates.flatMap((from) =>
      entryStates.flatMap((to) => (canTransition(from, to) ? [`${from} ${to}`] : [])),
    );
    // Two balances that are both empty take turns.
    expect(left).toEqual(['rejected waiting']);
  });

  it('reach a rejection or a success only after a call, a lookup, a deadline or an action of an operator', () => {
    const into = (to: (typeof entryStates)[number]) =>
      entryStates.filter((from) => canTransition(from, to));
    expect(into('fulfilled')).toEqual(['sending', 'unknown', 'placed', 'needs_review']);
    expect(into('expired')).toEqual(['pending', 'unknown']);
    expect(into('rejected')).toEqual(['sending', 'waiting', 'unknown', 'needs_review']);
    // What was sent once is never again "never sent", unless it surely did not leave.
    expect(into('pending')).toEqual(['sending', 'held']);
  });

  it('lead on from every state that is not final, and each can be reached', () => {
    const stuck = entryStates.filter(
      (from) => !isFinal(from) && !entryStates.some((to) => canTransition(from, to)),
    );
    const unreached = entryStates.filter(
      (to) => !entryStates.some((from) => canTransition(from, to)),
    );
    expect(stuck).toEqual([]);
    // `pending` is where entries begin, and where one returns to that surely did not leave.
    expect(unreached).toEqual([]);
  });

  it('allow an operator no action that could hide a purchase or buy twice', () => {
    const asked = {
      mayBeBought: true,
      heldFrom: null,
      replaced: false,
      hasOtherId: false,
      unitsMissing: 0,
    };
    const allowing = (action: EntryActionName, facts = asked) =>
      entryStates.filter((state) => allowedActions({ ...facts, state }).includes(action));
    expect(allowing('cancel')).toEqual([]);
    expect(allowing('reorder')).toEqual([]);
    expect(allowing('resolve')).toEqual(['needs_review']);
    const clean = { ...asked, mayBeBought: false };
    expect(allowing('cancel', clean)).toEqual(['pending', 'waiting']);
    expect(allowing('reorder', clean)).toEqual(['rejected', 'expired', 'cancelled']);
    expect(allowing('reorder', { ...clean, replaced: true })).toEqual([]);
    // The outcome of a placed entry is known: it is bought, and must not be cancelled.
    const cancelled = entryStates.filter((heldFrom) =>
      allowedActions({ ...clean, state: 'held', heldFrom }).includes('cancel'),
    );
    expect(cancelled).toEqual(['pending', 'waiting']);
    expect(allowing('resolve', { ...clean, unitsMissing: 1 })).toEqual([
      'fulfilled',
      'needs_review',
    ]);
  });
});
