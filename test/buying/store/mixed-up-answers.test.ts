import { beforeEach, afterEach, describe, expect, it } from 'vitest';
import type { OrderAnswer, Unit } from '../../../src/core/answers/order-answer.ts';
import type { EntryAction } from '../../../src/core/operator/operator-decision.ts';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { stepsOf } from '../../support/steps.ts';

let box: Outbox;
beforeEach(async () => {
  box = await Outbox.open();
});
afterEach(() => box.close());

const esim = { operation: 'esim_order', variant: null, plan: 'es-1' } as const;
const shows = (orderNumber: string | null, ...units: readonly Unit[]): OrderAnswer => ({
  ...answer,
  orderNumber,
  units,
});
const settledBy = (shown: OrderAnswer, state: Settlement['state'] = 'fulfilled'): Settlement => ({
  ...fulfilled,
  state,
  answer: shown,
  dueAtMs: 99_000_000,
});

/** An order is answered like this; its reference. */
async function buy(
  orderId: string,
  settlement: Settlement,
  changes: Parameters<typeof line>[0] = {},
): Promise<string> {
  await box.accept([line({ orderId, ...changes })]);
  const attempt = await box.opened({ nowMs: 2000 });
  await stepsOf(box.store).closeAttempt(close(attempt, settlement));
  return attempt.entry.reference;
}

const decide = (reference: string, order: EntryAction) =>
  box.store.operator.actOnEntry({
    reference,
    order,
    actor: 'cli:anna',
    reason: 'asked the supplier',
    nowMs: 5000,
    steadyMs: 5000,
    referenceExpiryMs: 86_400_000,
    lookupFamilies: ['gift_card', 'esim'],
  });
const resolve = (
  reference: string,
  given: Partial<Extract<EntryAction, { action: 'resolve' }>> = {},
) =>
  decide(reference, {
    action: 'resolve',
    as: 'fulfilled',
    orderNumber: null,
    iccids: [],
    note: null,
    ...given,
  });
/** It is looked up at once, and found like this. */
async function lookedUp(reference: string, shown: OrderAnswer): Promise<void> {
  await decide(reference, { action: 'retry' });
  const sql = `SELECT l.request_id AS id FROM entries e JOIN lines l ON l.id = e.line_id WHERE reference = '${reference}'`;
  for (const { id } of box.rows<{ id: number }>(sql))
    expect(resultOf(id)).toMatchObject({ state: 'placed', units: [] });
  const lookup = await box.opened({ step: 'lookup', nowMs: 6000 });
  expect(lookup.entry).toMatchObject({ reference, orderNumber: null, units: [] });
  await stepsOf(box.store).closeAttempt(close(lookup, settledBy(shown)));
}
const stored = (reference: string) =>
  box.rows<{ state: string; order_number: string | null; units: string | null }>(
    `SELECT state, order_number, units FROM entries WHERE reference = '${reference}'`,
  )[0];
const resultOf = (requestId: number) =>
  box.store.read.resultDocument(requestId).document.lines[0]?.entries[0];

const theirs = shows('N-1', { code: 'AAAA-1111' });
const own = { code: 'BBBB-2222' };

describe('an entry whose answer showed what another one has', () => {
  let mixedUp: string;
  beforeEach(async () => {
    await buy('first', settledBy(theirs));
    mixedUp = await buy('second', settledBy(theirs));
  });

  it('has no unit in its result, and its units can be looked at', async () => {
    expect(resultOf(2)).toMatchObject({ state: 'needs_review', units: [] });
    const request = { reference: mixedUp, actor: 'cli:anna', reason: 'compare', nowMs: 5000 };
    expect(await box.store.codeReads.reveal(request)).toEqual(theirs.units);
  });

  it('gets the number and the units that an operator found', async () => {
    await resolve(mixedUp, { orderNumber: 'N-2', units: [own] });
    expect(resultOf(2)).toMatchObject({ state: 'fulfilled', order_number: 'N-2', units: [own] });
    // Nothing of the other order is its own any more.
    await buy('third', settledBy(shows('N-3', own)));
    expect(resultOf(3)?.error?.message).toContain(`a code also belongs to ${mixedUp}`);
    expect(box.store.read.attention(9).map(({ kind }) => kind)).toContain('shown_twice');
  });

  it.each([
    ['with a note', { note: 'the supplier says so' }],
    ['with its number', { orderNumber: 'N-2' }],
  ])('is bought without the units of the other order, %s', async (_how, given) => {
    await expect(resolve(mixedUp, given)).rejects.toThrow('1 of the 1 units');
    await resolve(mixedUp, { ...given, units: [] });
    expect(resultOf(2)).toMatchObject({
      state: 'needs_manual_delivery',
      order_number: 'orderNumber' in given ? 'N-2' : null,
      units: [],
    });
  });

  it.each([
    ['its number and its unit', shows('N-2', own), 'N-2'],
    ['its unit alone', shows(null, own), null],
  ])('keeps nothing of the other order once a lookup shows %s', async (_what, shown, number) => {
    await lookedUp(mixedUp, shown);
    expect(resultOf(2)).toMatchObject({ state: 'fulfilled', order_number: number, units: [own] });
    expect(box.store.read.attention(9).map(({ kind }) => kind)).toEqual(['shown_twice']);
  });

  it('keeps its review where a lookup shows the same again', async () => {
    await lookedUp(mixedUp, theirs);
    expect(resultOf(2)).toMatchObject({ state: 'needs_review', units: [] });
  });

  it('is not given what the other one was delivered', async () => {
    for (const units of [theirs.units, [{ code: 'aaaa1111' }]])
      await expect(resolve(mixedUp, { orderNumber: 'N-2', units })).rejects.toThrow(
        expect.objectContaining({
          code: 'NOT_ALLOWED',
          message: expect.stringMatching(/^a code of these units came with the order os-/),
        }),
      );
    expect(stored(mixedUp)).toMatchObject({ state: 'needs_review', order_number: 'N-1' });
  });

  it('is refunded without them', async () => {
    await resolve(mixedUp, { as: 'refunded', orderNumber: 'N-2' });
    expect(stored(mixedUp)).toEqual({ state: 'refunded', order_number: 'N-2', units: null });
  });

  it('is not rejected while the number that it was shown is not repeated', async () => {
    await expect(resolve(mixedUp, { as: 'rejected' })).rejects.toThrow(
      'has this entry as order N-1',
    );
    await resolve(mixedUp, { as: 'rejected', orderNumber: 'N-1' });
    expect(stored(mixedUp)).toMatchObject({ state: 'rejected', units: null });
  });
});

describe('two entries that were shown the same eSIM, and neither delivered', () => {
  const [iccid, other] = ['8944000000000000001', '8944000000000000019'];
  let first: string;
  let second: string;
  beforeEach(async () => {
    first = await buy('first', settledBy(shows('N-1', { iccid }), 'placed'), esim);
    second = await buy('second', settledBy(shows('N-2', { iccid })), esim);
  });

  it('are decided one by one, in any order', async () => {
    expect(box.store.read.counts()).toMatchObject({ needs_review: 2 });
    await resolve(second, { orderNumber: 'N-2', units: [{ iccid, lpa: 'LPA:1$a.b$c' }] });
    await expect(resolve(first, { orderNumber: 'N-1', units: [{ iccid }] })).rejects.toThrow(
      `the eSIM ${iccid} of these units came with the order ${second}`,
    );
    await resolve(first, { orderNumber: 'N-1', units: [{ iccid: other }] });
    expect(box.rows('SELECT iccid, entry_id FROM esims ORDER BY iccid')).toEqual([
      { iccid, entry_id: 2 },
      { iccid: other, entry_id: 1 },
    ]);
    expect(box.store.read.attention(9)).toEqual([]);
  });

  it('lose it when a lookup shows another one', async () => {
    await lookedUp(first, shows('N-1', { iccid: other }));
    await lookedUp(second, shows('N-2', { iccid }));
    expect(box.store.read.counts()).toMatchObject({ fulfilled: 2 });
    expect(box.rows('SELECT iccid, entry_id FROM esims ORDER BY iccid')).toEqual([
      { iccid, entry_id: 2 },
      { iccid: other, entry_id: 1 },
    ]);
  });
});

describe('an entry that was shown more units than it ordered', () => {
  const more: Settlement = {
    ...settledBy(shows('N-1', own, { code: 'CCCC-3333' }), 'needs_review'),
    reviewReason: 'the API shows 2 units, but 1 was ordered',
  };

  it('gets those that an operator enters, or that a lookup shows', async () => {
    const [first, second] = [await buy('first', more), await buy('second', more)];
    expect(resultOf(1)?.units).toEqual([]);
    await resolve(first, { orderNumber: 'N-1', units: [own] });
    expect(resultOf(1)).toMatchObject({ state: 'fulfilled', units: [own] });
    await lookedUp(second, shows('N-2', { code: 'DDDD-4444' }));
    expect(resultOf(2)).toMatchObject({ state: 'fulfilled', units: [{ code: 'DDDD-4444' }] });
  });
});

it('all units that were ordered take the place of what a wrong mapping read', async () => {
  const unread: Settlement = {
    ...settledBy(shows('N-1', { code: 'CARD-1' }), 'needs_review'),
    reviewReason: 'the units in the answer have fields that wholesale.wire does not read: secret',
  };
  const reference = await buy('first', unread);
  const units = [{ code: 'DDDD-4444' }];
  await resolve(reference, { units });
  expect(resultOf(1)).toMatchObject({ state: 'fulfilled', order_number: 'N-1', units });
});
