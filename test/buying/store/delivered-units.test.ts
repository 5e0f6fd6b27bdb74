import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

/** The units in the result of an order after these answers, one after the other. */
async function shownAfter(...answers: (readonly Unit[])[]): Promise<readonly Unit[]> {
  await outbox.accept([line({ quantity: 3 })]);
  let attempt = await outbox.opened();
  for (const units of answers) {
    const placed = {
      state: 'placed',
      nextStep: 'lookup',
      dueAtMs: 2000,
      answer: { ...answer, units },
    } as const;
    await stepsOf(outbox.store).closeAttempt(close(attempt, { ...fulfilled, ...placed }));
    attempt = await outbox.opened({ step: 'lookup' });
  }
  return outbox.store.read.resultDocument(1).document.lines[0]?.entries[0]?.units ?? [];
}

const code = (text: string): Unit => ({ code: text });

describe('a unit that was delivered', () => {
  it.each<[string, (readonly Unit[])[], readonly Unit[]]>([
    [
      'a later answer shows only what came since',
      [[code('A')], [code('B')]],
      [code('B'), code('A')],
    ],
    ['a later answer shows fewer', [[code('A'), code('B')], [code('B')]], [code('B'), code('A')]],
    ['a later answer hides its code', [[code('A')], [code('****')]], [code('****'), code('A')]],
    ['a later answer shows none', [[code('A')], []], [code('A')]],
    [
      'all have the same address to redeem them at',
      [
        [{ code: 'A', url: 'https://redeem.example' }],
        [{ code: 'B', url: 'https://redeem.example' }],
      ],
      [
        { code: 'B', url: 'https://redeem.example' },
        { code: 'A', url: 'https://redeem.example' },
      ],
    ],
  ])('is kept when %s', async (_name, answers, kept) => {
    expect(await shownAfter(...answers)).toEqual(kept);
  });

  it.each<[string, (readonly Unit[])[], readonly Unit[]]>([
    [
      'its status has changed',
      [[{ code: 'A', status: 'new' }], [{ code: 'A', status: 'used' }]],
      [{ code: 'A', status: 'used' }],
    ],
    [
      'more of it is known',
      [[{ iccid: '8988211000000000001' }], [{ iccid: '8988211000000000001', lpa: 'LPA:1$a$b' }]],
      [{ iccid: '8988211000000000001', lpa: 'LPA:1$a$b' }],
    ],
    [
      'its ICCID came after its activation code',
      [[{ lpa: 'LPA:1$a$b' }], [{ iccid: '8988211000000000001', lpa: 'LPA:1$a$b' }]],
      [{ iccid: '8988211000000000001', lpa: 'LPA:1$a$b' }],
    ],
  ])('is shown once, as it is now, when %s', async (_name, answers, kept) => {
    expect(await shownAfter(...answers)).toEqual(kept);
  });
});
