import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Settlement } from '../../src/core/settlement.ts';
import { close, line, nothing, Outbox } from '../support/outbox.ts';

let box: Outbox;
beforeEach(async () => {
  box = await Outbox.open();
});
afterEach(() => box.close());

const lookUp = { judgeResend: () => ({ step: 'lookup' as const }) };
const parts: Settlement = {
  ...nothing,
  state: 'rejected',
  inDoubt: false,
  doubtUntilMs: null,
  quietMs: null,
  lookFirst: 3,
  row: 'out_of_stock',
  error: { code: 'out_of_stock', message: 'bought in parts, or not at all', buffered: false },
  followUps: [
    { generation: 1, chunk: 0, quantity: 1, currency: 'USD' },
    { generation: 1, chunk: 1, quantity: 1, currency: 'USD' },
  ],
};

it('the parts of an order are looked up first as it was, also when they are made long after that time is over', async () => {
  await box.store.lookFirst({ actor: 'cli', reason: 'the disk was lost', nowMs: 500, untilMs: 5000 });
  await box.accept([line({ quantity: 2, rules: { partial: true } })], null, 1000);
  // Long after: the order was lost with the old outbox, whenever it is looked at.
  const late = 900_000;
  expect(await box.store.openAttempt(box.claim({ ...lookUp, nowMs: late }))).toBeNull();
  const looked = await box.opened({ step: 'lookup', nowMs: late });
  expect(looked.entry).toMatchObject({ lookFirst: 1, inDoubt: true });
  await box.store.closeAttempt({ ...close(looked, parts), nowMs: late });
  expect(await box.store.openAttempt(box.claim({ ...lookUp, nowMs: late + 1 }))).toBeNull();
  const part = await box.opened({ step: 'lookup', nowMs: late + 1 });
  expect(part.entry).toMatchObject({ generation: 1, quantity: 1, lookFirst: 1, inDoubt: true });
  // What came in after that time is sent at once.
  await box.accept([line({ orderId: 'new' })], null, 6000);
  const sent = await box.opened({ ...lookUp, nowMs: late + 2 });
  expect(sent.entry).toMatchObject({ generation: 0, lookFirst: 0, inDoubt: false });
});
