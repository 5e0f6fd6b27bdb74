import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

let box: Outbox;
beforeEach(async () => {
  box = await Outbox.open();
});
afterEach(() => box.close());

const parts: Settlement = {
  ...nothing,
  state: 'rejected',
  outcomeUnknown: false,
  inFlightWindowEndMs: null,
  recoveryStage: 'done',
  row: 'out_of_stock',
  error: { code: 'out_of_stock', message: 'bought in parts, or not at all', buffered: false },
  replacements: [
    { generation: 1, part: 0, quantity: 1, currency: 'USD' },
    { generation: 1, part: 1, quantity: 1, currency: 'USD' },
  ],
};

it('the parts of an order are looked up first like the order itself, also when it is split long after that time', async () => {
  await box.store.operator.beginAfterLoss({
    actor: 'cli',
    reason: 'the disk was lost',
    nowMs: 500,
    untilMs: 5000,
  });
  await box.accept([line({ quantity: 2, rules: { partial: true } })], null, 1000);
  // Long after that time: the order was in the lost outbox, whenever it is claimed.
  const late = 900_000;
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: late }))).toBeNull();
  const looked = await box.opened({ step: 'lookup', nowMs: late });
  expect(looked.entry).toMatchObject({ recoveryStage: 'own_reference', outcomeUnknown: true });
  await stepsOf(box.store).closeAttempt({ ...close(looked, parts), nowMs: late });
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: late + 1 }))).toBeNull();
  const part = await box.opened({ step: 'lookup', nowMs: late + 1 });
  expect(part.entry).toMatchObject({
    generation: 1,
    quantity: 1,
    recoveryStage: 'own_reference',
    outcomeUnknown: true,
  });
  // An order that came in after that time is sent at once.
  box.setTime(6000);
  await box.store.writeTime();
  await box.accept([line({ orderId: 'new', variant: 'other' })], null, 6000);
  const sent = await box.opened({ nowMs: late + 2 });
  expect(sent.entry).toMatchObject({ generation: 0, recoveryStage: 'none', outcomeUnknown: false });
});

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

it('in an older copy an entry of unknown outcome is looked up like one that was never sent, because it may have changed since', async () => {
  await box.accept([line(mayHaveMoved)], null, 1000);
  await stepsOf(box.store).closeAttempt(close(await box.opened(), outcomeUnknown));
  await box.store.operator.beginAfterLoss(loss);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 900_000 }))).toBeNull();
  const asked = await box.opened({ step: 'lookup', nowMs: 900_000 });
  expect(asked.entry).toMatchObject({ recoveryStage: 'own_reference', outcomeUnknown: true });
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
  const entry = { recoveryStage: 'own_reference', outcomeUnknown: true, errorBuffered: false };
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
  const act = (action: 'hold' | 'release') =>
    box.store.operator.actOnEntry({
      reference: entry?.reference ?? '',
      order: { action },
      actor: 'test',
      reason: 'asked',
      nowMs: 3000,
      steadyMs: 0,
      referenceExpiryMs: 86_400_000,
      lookupFamilies: ['gift_card'],
    });
  await act('hold');
  await box.store.operator.beginAfterLoss(loss);
  expect(await act('release')).toMatchObject({ after: 'waiting' });
});

it('in an older copy an entry in the state sending is looked up first, too', async () => {
  await box.accept([line(mayHaveMoved)], null, 1000);
  await box.opened();
  await box.store.operator.beginAfterLoss(loss);
  const [open] = await stepsOf(box.store).openAttemptsOfOthers(999_999);
  expect(open?.entry).toMatchObject({ state: 'sending', recoveryStage: 'own_reference' });
});

it('an entry that was looked up after one loss is looked up again after the next loss', async () => {
  await box.store.operator.beginAfterLoss({ ...loss, nowMs: 500 });
  await box.accept([line(mayHaveMoved)], null, 1000);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 2000 }))).toBeNull();
  const looked = await box.opened({ step: 'lookup', nowMs: 2000 });
  await stepsOf(box.store).closeAttempt(
    close(looked, { ...waiting, recoveryStage: 'done', row: 'insufficient_balance' }),
  );
  await box.store.operator.beginAfterLoss(loss);
  expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 900_000 }))).toBeNull();
  const again = await box.opened({ step: 'lookup', nowMs: 900_000 });
  expect(again.entry).toMatchObject({ recoveryStage: 'own_reference', outcomeUnknown: true });
});

it('an order that may have been bought in parts cannot be cancelled, and is flagged when its deadline passes', async () => {
  await box.store.operator.beginAfterLoss({ ...loss, nowMs: 500 });
  const deadline = { quantity: 5, notAfterMs: 2_000_000 };
  await box.accept([line({ orderId: 'split', ...deadline, rules: { split: true } })], null, 1000);
  await box.accept([line({ orderId: 'whole', ...deadline })], null, 1000);
  // Both are absent under their own references, and wait to be sent again.
  for (const nowMs of [2000, 3000]) {
    expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs }))).toBeNull();
    const looked = await box.opened({ step: 'lookup', nowMs });
    await stepsOf(box.store).closeAttempt(
      close(looked, { ...waiting, recoveryStage: 'done', row: 'not_found', dueAtMs: 9_000_000 }),
    );
  }
  const reference = box.store.read.showOrder('shop1', 'split')?.entries[0]?.reference ?? '';
  const person = {
    actor: 'test',
    reason: 'for the test',
    nowMs: 4000,
    steadyMs: 1,
  };
  const rules = { referenceExpiryMs: 86_400_000, lookupFamilies: [] };
  const act = (action: 'cancel' | 'hold' | 'release') =>
    box.store.operator.actOnEntry({ reference, order: { action }, ...person, ...rules });
  await expect(act('cancel')).rejects.toThrow('may have been bought');
  // Its own reference is known to be absent, whatever a person does to it.
  await act('hold');
  await expect(act('cancel')).rejects.toThrow('may have been bought');
  await act('release');
  const split = () => box.store.read.showOrder('shop1', 'split')?.entries[0];
  expect(split()).toMatchObject({ state: 'waiting', outcomeUnknown: false });
  expect(await stepsOf(box.store).expireOverdue(2_000_001, 9)).toBe(1);
  const states = ['split', 'whole'].map(
    (orderId) => box.store.read.showOrder('shop1', orderId)?.entries[0],
  );
  expect(states).toMatchObject([
    {
      state: 'needs_review',
      reviewReason: expect.stringContaining('bought in parts'),
    },
    { state: 'rejected' },
  ]);
});
