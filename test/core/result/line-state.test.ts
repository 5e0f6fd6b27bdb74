import { expect, it } from 'vitest';
import { entryStates } from '../../../src/core/entry/states.ts';
import { lineStateOf } from '../../../src/core/result/result-document.ts';

/** What an operator must see first, before what may still change, before what ended. */
const open = [
  'needs_review',
  'unknown',
  'sending',
  'placed',
  'waiting',
  'pending',
  'held',
] as const;
const failed = ['rejected', 'expired', 'cancelled'] as const;
const bought = ['refunded', 'fulfilled'] as const;
const order = [...open, ...failed, ...bought] as const;

it('a line of one entry has its state, whichever that is', () => {
  expect(order.toSorted()).toEqual(entryStates.toSorted());
  for (const state of [...entryStates, 'needs_manual_delivery'] as const)
    expect(lineStateOf([state])).toBe(state);
});

it('a line of two entries has the state that an operator must see first', () => {
  const isOneOf = (states: readonly string[], state: string): boolean => states.includes(state);
  for (const [index, first] of order.entries())
    for (const second of order.slice(index + 1)) {
      const isPartial = isOneOf(failed, first) && isOneOf(bought, second);
      const expected = isPartial ? 'partial' : first;
      expect([first, second, lineStateOf([first, second])]).toEqual([first, second, expected]);
      expect([second, first, lineStateOf([second, first])]).toEqual([second, first, expected]);
    }
});

it('units to be delivered by hand are shown once every entry of the line ended', () => {
  for (const state of open) expect(lineStateOf(['needs_manual_delivery', state])).toBe(state);
  for (const state of [...failed, ...bought])
    expect(lineStateOf([state, 'needs_manual_delivery'])).toBe('needs_manual_delivery');
});
