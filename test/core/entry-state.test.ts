import { describe, expect, it } from 'vitest';
import { allowedActions, canTransition, entryStates, finalStates, isFinal } from '../../src/core/entry-state.ts';

describe('the states of an entry', () => {
  it('end in final states, and only there', () => {
    expect(entryStates.filter(isFinal)).toEqual([...finalStates]);
    for (const from of finalStates) for (const to of entryStates) expect(canTransition(from, to)).toBe(false);
  });

  it('reach a refusal or a success only from a call, a lookup, a deadline or a person', () => {
    const into = (to: (typeof entryStates)[number]) => entryStates.filter((from) => canTransition(from, to));
    expect(into('fulfilled')).toEqual(['sending', 'unknown', 'placed', 'needs_review']);
    expect(into('expired')).toEqual(['pending']);
    expect(into('rejected')).toEqual(['sending', 'waiting', 'unknown', 'needs_review']);
    // What was sent once is never again "never sent", unless it surely did not leave.
    expect(into('pending')).toEqual(['sending', 'held']);
  });

  it('can always go on: every state that is not final leads somewhere, and every one can be reached', () => {
    for (const state of entryStates) {
      if (!isFinal(state))
        expect(
          entryStates.some((to) => canTransition(state, to)),
          state,
        ).toBe(true);
      if (state !== 'pending')
        expect(
          entryStates.some((from) => canTransition(from, state)),
          state,
        ).toBe(true);
    }
  });

  it('allow a person no action that could hide a purchase or buy twice', () => {
    for (const state of entryStates) {
      const doubtful = allowedActions({ state, inDoubt: true });
      expect(doubtful.includes('reorder') && !['rejected', 'expired', 'cancelled'].includes(state), state).toBe(false);
      if (state === 'held' || state === 'unknown' || state === 'sending') expect(doubtful).not.toContain('cancel');
    }
    expect(allowedActions({ state: 'needs_review', inDoubt: true })).toEqual(['retry', 'resolve']);
  });
});
