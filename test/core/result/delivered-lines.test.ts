import { describe, expect, it } from 'vitest';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import { deliveredLines, type OrderedEntry } from '../../../src/core/result/delivered-lines.ts';
import type { ResultDocument, ResultEntry, ResultEntryState } from '../../../src/core/result/result-document.ts';

interface Given {
  readonly state: ResultEntryState;
  readonly units?: readonly Unit[];
  readonly quantity?: number | null;
  readonly operation?: ResultEntry['operation'];
  readonly replaced?: boolean;
}

const cards = (count: number): Unit[] => Array.from({ length: count }, (_, index) => ({ code: `CODE-${index}` }));

/** The only line of an order with these entries, as its customer sees it. */
function lineWith(...given: readonly Given[]) {
  const ordered = new Map<string, OrderedEntry>();
  const entries = given.map((each, index): ResultEntry => {
    const { state, units = [], quantity = 1, operation = 'gift_card_order', replaced = false } = each;
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
    const rest = { resolved_by: null, order_number: 'GC-1', currency: 'USD', cost: '1.00', error: null };
    return { reference, operation, state, units, ...rest };
  });
  const document: ResultDocument = {
    source: 'shop',
    order_id: '1001',
    state: 'completed',
    sandbox: true,
    metadata: {},
    lines: [{ line_id: '1', state: 'fulfilled', entries, error: null }],
    updated_at: '2026-11-21T12:00:00.000Z',
  };
  return deliveredLines(document, ordered)[0];
}

const counts = { later: 0, byHand: 0, notDelivered: 0 };

describe('a line as its customer sees it', () => {
  it('has its units, and nothing is missing', () => {
    const line = lineWith({ state: 'fulfilled', units: cards(2), quantity: 2 });
    expect(line).toEqual({
      line_id: '1',
      product: 'steam-10',
      giftCards: cards(2),
      esims: [],
      toppedUp: [],
      ...counts,
    });
  });

  it.each(['pending', 'sending', 'waiting', 'unknown', 'placed', 'held', 'needs_review'] as const)(
    'that is %s shows the units that are there and counts the others as still to come',
    (state) => {
      const line = lineWith({ state, units: cards(1), quantity: 3 });
      expect(line).toMatchObject({ ...counts, giftCards: cards(1), later: 2 });
    },
  );

  it('counts what a person delivers by hand', () => {
    const line = lineWith({ state: 'needs_manual_delivery', units: cards(1), quantity: 3 });
    expect(line).toMatchObject({ ...counts, giftCards: cards(1), byHand: 2 });
  });

  it.each(['rejected', 'expired', 'cancelled', 'refunded'] as const)(
    'shows no unit of an entry that is %s: what it may have had is worth nothing',
    (state) => {
      expect(lineWith({ state, units: cards(1), quantity: 2 })).toMatchObject({
        ...counts,
        giftCards: [],
        notDelivered: 2,
      });
    },
  );

  it('shows no units of which a person has to judge first: more than were ordered, or one twice', () => {
    const more = lineWith({ state: 'needs_review', units: cards(3), quantity: 2 });
    expect(more).toMatchObject({ ...counts, giftCards: [], later: 2 });
    const twice = lineWith({ state: 'needs_review', units: [{ code: 'A1' }, { code: 'A1' }], quantity: 2 });
    expect(twice).toMatchObject({ ...counts, giftCards: [], later: 2 });
  });

  it('shows no placeholder and no field that says that there is nothing', () => {
    const line = lineWith({ state: 'placed', units: [{ code: 'PENDING' }, { code: 'A1', pin: 'N/A' }], quantity: 2 });
    expect(line).toMatchObject({ giftCards: [{ code: 'A1' }], later: 1 });
    expect(line?.giftCards[0]).not.toHaveProperty('pin');
  });

  it('counts the parts of a line, and not the entry that they replace', () => {
    const line = lineWith(
      { state: 'rejected', quantity: 3, replaced: true },
      { state: 'fulfilled', units: [{ code: 'A1' }, { code: 'A2' }], quantity: 2 },
      { state: 'rejected', quantity: 1 },
    );
    expect(line).toMatchObject({ ...counts, giftCards: [{ code: 'A1' }, { code: 'A2' }], notDelivered: 1 });
  });

  it('has the eSIM that was topped up, and counts a top-up that is not there yet', () => {
    const topUp = { operation: 'esim_topup', quantity: null } as const;
    expect(lineWith({ ...topUp, state: 'fulfilled' })).toMatchObject({ ...counts, toppedUp: ['8999901000000000013'] });
    expect(lineWith({ ...topUp, state: 'waiting' })).toMatchObject({ ...counts, toppedUp: [], later: 1 });
    expect(lineWith({ ...topUp, state: 'rejected' })).toMatchObject({ ...counts, toppedUp: [], notDelivered: 1 });
  });

  it('is not there for a cancel, which delivers nothing', () => {
    expect(lineWith({ state: 'fulfilled', operation: 'esim_cancel', quantity: null })).toBeUndefined();
  });

  it('does not know how many units a line has that was not accepted', () => {
    expect(lineWith()).toMatchObject({ product: null, notDelivered: null });
  });
});
