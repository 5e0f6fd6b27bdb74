import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import type { EntryAction } from '../../../src/core/operator/operator-decision.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

let box: Outbox;
beforeEach(async () => {
  box = await Outbox.open();
});
afterEach(() => box.close());

const mayHaveMoved = { rules: { fallback_currency: 'EUR' } } as const;
const loss = { actor: 'cli', reason: 'this is an older copy', nowMs: 3000, untilMs: 9000 } as const;
const outcomeUnknown: Settlement = { ...nothing, nextStep: 'send' };
const waiting: Settlement = {
  ...nothing,
  state: 'waiting',
  nextStep: 'send',
  outcomeUnknown: false,
  inFlightWindowEndMs: null,
};

const clean = { inFlightWindowEndMs: null, inFlightWindowMs: null } as const;
const act = (reference: string, order: EntryAction) =>
  box.store.operator.actOnEntry({
    reference,
    order,
    actor: 'test',
    reason: 'asked',
    nowMs: 3000,
    steadyMs: 0,
    referenceExpiryMs: 86_400_000,
    lookupFamilies: ['gift_card'],
  });

it('an order that came in before that time is looked up first, however late it is claimed; a later one is sent', async () => {
  await box.store.operator.beginAfterLoss({ ...loss, nowMs: 500, untilMs: 5000 });
  await box.accept([line()], null, 1000);
  const late = 900_000;
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: late }))).toBeNull();
  const looked = await box.opened({ step: 'lookup', nowMs: late });
  expect(looked.entry).toMatchObject({ askedAfterLoss: 0, outcomeUnknown: true });
  box.setTime(6000);
  await box.store.writeTime();
  await box.accept([line({ orderId: 'new', variant: 'other' })], null, 6000);
  const sent = await box.opened({ nowMs: late + 2 });
  expect(sent.entry).toMatchObject({ askedAfterLoss: null, outcomeUnknown: false });
});

it('what takes the place of an absent order is looked up under the reference that a re-order has', async () => {
  await box.store.operator.beginAfterLoss({ ...loss, nowMs: 500 });
  await box.accept([line()], null, 1000);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 2000 }))).toBeNull();
  const own = await box.opened({ step: 'lookup', nowMs: 2000 });
  expect(own.replacementReference).toBeNull();
  const isAbsent: Settlement = { ...nothing, row: 'not_found', askedAfterLoss: 0, absences: 1 };
  await stepsOf(box.store).closeAttempt(close(own, { ...isAbsent, dueAtMs: 2000 }));
  const other = await box.opened({ step: 'lookup', nowMs: 900_000 });
  await stepsOf(box.store).closeAttempt(
    close(other, { ...waiting, askedAfterLoss: 1, state: 'rejected', row: 'out_of_stock' }),
  );
  await act(own.entry.reference, { action: 'reorder', confirm: own.entry.reference });
  const [, again] = box.store.read.showOrder('shop1', '1001')?.entries ?? [];
  expect(other.replacementReference).toBe(again?.reference);
});

it('in an older copy the other balance of an order is looked up, whichever balance has its turn', async () => {
  const refused = {
    ...waiting,
    state: 'rejected',
    row: 'insufficient_balance',
    dueAtMs: 2000,
  } as const;
  const error = { code: 'insufficient_balance', message: 'too low', buffered: false };
  const to = (currency: string, generation = 1): Settlement => {
    const rules = { fallback_currency: currency === 'USD' ? 'EUR' : 'USD' };
    const other = { generation, part: 0, quantity: 1, currency, rules };
    return { ...refused, error, replacements: [other] };
  };
  const [accepted] = await box.accept([line({ ...mayHaveMoved, quantity: 1 })], null, 1000);
  await stepsOf(box.store).closeAttempt(close(await box.opened(), to('EUR')));
  const second = await box.opened({ nowMs: 2000 });
  expect(second.entry).toMatchObject({ currency: 'EUR', rules: { fallback_currency: 'USD' } });
  await stepsOf(box.store).closeAttempt(close(second, to('USD', 2)));
  const third = await box.opened({ nowMs: 2000 });
  expect(third.entry).toMatchObject({ reference: accepted?.reference, currency: 'USD' });
  await stepsOf(box.store).closeAttempt(close(third, to('EUR')));
  await box.store.operator.beginAfterLoss(loss);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 900_000 }))).toBeNull();
  const asked: (string | null)[] = [];
  for (const absences of [1, 2, 3]) {
    const lookup = await box.opened({ step: 'lookup', nowMs: 900_000 + absences });
    expect(lookup.entry.reference).toBe(second.entry.reference);
    asked.push(lookup.replacementReference);
    const absent: Settlement = { ...nothing, row: 'not_found', askedAfterLoss: 0, absences };
    await stepsOf(box.store).closeAttempt(close(lookup, { ...absent, dueAtMs: 900_000 }));
  }
  expect(asked).toEqual([null, expect.any(String), accepted?.reference]);
});

it('an order with rules that an operator re-orders after a loss has no rules: it would need review again', async () => {
  await box.store.operator.beginAfterLoss({ ...loss, nowMs: 500 });
  await box.accept([line({ quantity: 5, rules: { split: true } })], null, 1000);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 2000 }))).toBeNull();
  const looked = await box.opened({ step: 'lookup', nowMs: 2000 });
  await stepsOf(box.store).closeAttempt(
    close(looked, { ...nothing, ...clean, askedAfterLoss: 0, state: 'needs_review' }),
  );
  const { reference } = looked.entry;
  await act(reference, {
    action: 'resolve',
    as: 'rejected',
    orderNumber: null,
    note: 'not bought',
  });
  await act(reference, { action: 'reorder', confirm: reference });
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 5000 }))).toBeNull();
  const again = await box.opened({ step: 'lookup', nowMs: 5000 });
  expect(again.entry).toMatchObject({ generation: 1, rules: {}, askedAfterLoss: 0 });
});

it('in an older copy an entry of unknown outcome is looked up like one that was never sent, because it may have changed since', async () => {
  await box.accept([line(mayHaveMoved)], null, 1000);
  await stepsOf(box.store).closeAttempt(close(await box.opened(), outcomeUnknown));
  await box.store.operator.beginAfterLoss(loss);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 900_000 }))).toBeNull();
  const asked = await box.opened({ step: 'lookup', nowMs: 900_000 });
  expect(asked.entry).toMatchObject({ askedAfterLoss: 0, outcomeUnknown: true });
});

it('in an older copy an entry is looked up first although it came in while the wall clock was weeks ahead', async () => {
  await box.accept([line()], null, 1_000_000);
  await box.store.operator.beginAfterLoss(loss);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 2_000_000 }))).toBeNull();
  expect((await box.opened({ step: 'lookup', nowMs: 2_000_000 })).entry).toMatchObject({
    outcomeUnknown: true,
  });
});

it('a database that takes the place of a lost one gets another id, and remembers how far that one had come', async () => {
  await box.accept([line()]);
  const before = await box.store.progress();
  expect(before).toMatchObject({ attempt: 0, entry: 1, decision: 0, replaced: null });
  await box.reopen();
  expect(await box.store.progress()).toEqual(before);
  const replaced = { databaseId: 'lost', attempt: 7, entry: 8, decision: 9 };
  await box.store.operator.beginAfterLoss({ ...loss, replaced });
  await box.reopen();
  const after = await box.store.progress();
  expect(after).toMatchObject({ attempt: 0, entry: 1, decision: 1, replaced });
  expect(after.databaseId).not.toBe(before.databaseId);
});

it('in an older copy a refusal that was to be confirmed waits, and its outcome is unknown only when the limit allows it', async () => {
  const error = { code: 'insufficient_balance', message: 'too low', buffered: true };
  const confirming: Settlement = {
    ...waiting,
    state: 'unknown',
    nextStep: 'lookup',
    row: 'insufficient_balance',
    error,
  };
  await box.accept(
    [line({ orderId: 'a', variant: 'card1' }), line({ orderId: 'b', variant: 'card2' })],
    null,
    1000,
  );
  await stepsOf(box.store).closeAttempt(close(await box.opened(), confirming));
  await stepsOf(box.store).closeAttempt(close(await box.opened(), outcomeUnknown));
  await box.store.operator.beginAfterLoss(loss);
  const nowMs = 900_000;
  const next = () => stepsOf(box.store).openAttempt(box.claim({ step: 'lookup', nowMs }));
  const entry = { askedAfterLoss: 0, outcomeUnknown: true, errorBuffered: false };
  // The one place is taken: only that entry is looked up.
  expect(
    await stepsOf(box.store).openAttempt(box.claim({ nowMs, maxUnknownOutcomes: 1 })),
  ).toBeNull();
  expect(await next()).toMatchObject({ entry: { ...entry, variant: 'card2' } });
  expect(await next()).toBeNull();
  expect(
    await stepsOf(box.store).openAttempt(box.claim({ nowMs, maxUnknownOutcomes: 4 })),
  ).toBeNull();
  expect(await next()).toMatchObject({ entry: { ...entry, variant: 'card1' } });
});

it('in an older copy such a refusal of a held entry waits behind its hold', async () => {
  const confirming: Settlement = { ...waiting, state: 'unknown', nextStep: 'lookup' };
  const [entry] = await box.accept([line()], null, 1000);
  await stepsOf(box.store).closeAttempt(close(await box.opened(), confirming));
  const reference = entry?.reference ?? '';
  await act(reference, { action: 'hold' });
  await box.store.operator.beginAfterLoss(loss);
  expect(await act(reference, { action: 'release' })).toMatchObject({ after: 'waiting' });
});

it('in an older copy an entry in the state sending is looked up first, too', async () => {
  await box.accept([line(mayHaveMoved)], null, 1000);
  await box.opened();
  await box.store.operator.beginAfterLoss(loss);
  const [open] = await stepsOf(box.store).attemptsLeftOpen();
  expect(open?.entry).toMatchObject({ state: 'sending', askedAfterLoss: 0 });
});

it('an entry that was looked up after one loss is looked up again after the next loss', async () => {
  await box.store.operator.beginAfterLoss({ ...loss, nowMs: 500 });
  await box.accept([line(mayHaveMoved)], null, 1000);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 2000 }))).toBeNull();
  const looked = await box.opened({ step: 'lookup', nowMs: 2000 });
  await stepsOf(box.store).closeAttempt(
    close(looked, { ...waiting, askedAfterLoss: 1, row: 'insufficient_balance' }),
  );
  await box.store.operator.beginAfterLoss(loss);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 900_000 }))).toBeNull();
  const again = await box.opened({ step: 'lookup', nowMs: 900_000 });
  expect(again.entry).toMatchObject({ askedAfterLoss: 0, outcomeUnknown: true });
});
