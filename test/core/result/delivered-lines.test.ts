import { describe, expect, it } from 'vitest';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import { deliveredOf, type OrderedEntry } from '../../../src/core/result/delivered-lines.ts';
import type { ResultEntry, ResultEntryState } from '../../../src/core/result/result-document.ts';

interface Given {
  readonly state: ResultEntryState;
  readonly units?: readonly Unit[];
  readonly quantity?: number | null;
  readonly operation?: ResultEntry['operation'];
  readonly replaced?: boolean;
  readonly cancelled?: readonly string[];
}

const cards = (count: number): Unit[] =>
  Array.from({ length: count }, (_, index) => ({ code: `CODE-${index}` }));

/** What a line with these entries gives its customer. */
function givenBy(...given: readonly Given[]) {
  const ordered = new Map<string, OrderedEntry>();
  const entries = given.map((each, index): ResultEntry => {
    const {
      state,
      units = [],
      quantity = 1,
      operation = 'gift_card_order',
      replaced = false,
      cancelled = [],
    } = each;
    const reference = `os-reference-${index}`;
    const isCard = operation === 'gift_card_order';
    const isTopUp = operation === 'esim_topup';
    ordered.set(reference, {
      variant: isCard ? 'steam-10' : null,
      plan: isCard ? null : 'fr-1gb',
      iccid: isTopUp ? '8999901000000000013' : null,
      quantity,
      replaced,
    });
    const rest = {
      resolved_by: null,
      order_number: 'GC-1',
      currency: 'USD',
      cost: '1.00',
      error: null,
    };
    return { reference, operation, state, units, cancelled_iccids: cancelled, ...rest };
  });
  return deliveredOf({ line_id: '1', state: 'fulfilled', entries, error: null }, ordered);
}

const nothing = { units: [], toppedUp: [], isComplete: false };

describe('what a line gives its customer', () => {
  it('is its units, and it says that nothing is missing', () => {
    const line = givenBy({ state: 'fulfilled', units: cards(2), quantity: 2 });
    expect(line).toEqual({ units: cards(2), toppedUp: [], isComplete: true });
  });

  it.each(['fulfilled', 'placed', 'needs_review', 'needs_manual_delivery'] as const)(
    'is the units that are there of an entry that is %s, and it says that some are missing',
    (state) => {
      expect(givenBy({ state, units: cards(1), quantity: 3 })).toEqual({
        ...nothing,
        units: cards(1),
      });
    },
  );

  it('is no eSIM that was cancelled since, and nothing is missing because of that', () => {
    const units = ['8999901000000000013', '8999901000000000021'].map((iccid) => ({
      iccid,
      lpa: `LPA:1$smdp.example.com$${iccid}`,
    }));
    const cancelled = ['8999901000000000013'];
    const given = { state: 'fulfilled', operation: 'esim_order', units, quantity: 2 } as const;
    expect(givenBy({ ...given, cancelled })).toEqual({
      units: units.slice(1),
      toppedUp: [],
      isComplete: true,
    });
  });

  it.each(['rejected', 'expired', 'cancelled', 'refunded'] as const)(
    'is no unit of an entry that is %s: what it may have had is worth nothing',
    (state) => {
      expect(givenBy({ state, units: cards(1) })).toEqual(nothing);
    },
  );

  it('is no unit that an operator has to judge first: more than were ordered, or one twice', () => {
    expect(givenBy({ state: 'needs_review', units: cards(3), quantity: 2 })).toEqual(nothing);
    const twice = [{ code: 'A1' }, { code: 'A1' }];
    expect(givenBy({ state: 'needs_review', units: twice, quantity: 2 })).toEqual(nothing);
  });

  it('is no placeholder and no field that says that there is nothing', () => {
    const line = givenBy({
      state: 'placed',
      units: [{ code: 'PENDING' }, { code: 'A1', pin: 'N/A' }],
      quantity: 2,
    });
    expect(line).toEqual({ ...nothing, units: [{ code: 'A1' }] });
  });

  it('is what the parts of the line give, and not the entry that they replace', () => {
    const replaced = { state: 'rejected', quantity: 3, replaced: true } as const;
    const first = {
      state: 'fulfilled',
      units: [{ code: 'A1' }, { code: 'A2' }],
      quantity: 2,
    } as const;
    const units = [{ code: 'A1' }, { code: 'A2' }];
    expect(givenBy(replaced, first, { state: 'rejected' })).toEqual({ ...nothing, units });
    const second = { state: 'fulfilled', units: [{ code: 'A3' }] } as const;
    const all = [...units, { code: 'A3' }];
    expect(givenBy(replaced, first, second)).toEqual({
      units: all,
      toppedUp: [],
      isComplete: true,
    });
  });

  it('is the eSIM that was topped up', () => {
    const topUp = { operation: 'esim_topup', quantity: null } as const;
    const toppedUp = ['8999901000000000013'];
    expect(givenBy({ ...topUp, state: 'fulfilled' })).toEqual({
      units: [],
      toppedUp,
      isComplete: true,
    });
    expect(givenBy({ ...topUp, state: 'waiting' })).toEqual(nothing);
  });

  it('is not there for a cancel, and for a line that was not accepted', () => {
    expect(givenBy({ state: 'fulfilled', operation: 'esim_cancel', quantity: null })).toBeNull();
    expect(givenBy()).toBeNull();
  });
});
