import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { affectedText } from '../../../src/core/operator/affected.ts';
import { answer, close, closeConfirmed, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { stepsOf } from '../../support/steps.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const refused = {
  ...fulfilled,
  state: 'rejected',
  row: 'order_refused',
  error: { code: 'order_refused', message: 'Not today.', buffered: false },
  answer: null,
} as const;

/** Buys one card for this cost: from now on that is what a card is expected to cost. */
async function buy(cost: string, currency: string): Promise<void> {
  await outbox.accept([line({ orderId: `bought ${currency}`, currency })]);
  const bought = { ...fulfilled, answer: { ...answer, cost, currency } };
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), bought));
}

const accept = (orderId: string, lineIds: readonly string[], changes = {}, nowMs = 1000) =>
  outbox.accept(
    lineIds.map((lineId) => line({ orderId, lineId, ...changes })),
    null,
    nowMs,
  );

const pause = (scope: string) =>
  outbox.store.pauses.open({
    scope,
    reason: 'product_refused',
    message: '',
    openedBy: 'worker',
    probeAtMs: 1,
    nowMs: 4000,
  });

const affectedBy = (scope: string) =>
  outbox.store.read
    .pauses()
    .find((one) => one.scope === scope)
    ?.affects();

describe('what a pause affects', () => {
  it('is its orders, their expected cost by currency, and the oldest of them', async () => {
    await buy('10.10', 'USD');
    await buy('9.000001', 'EUR');
    await accept('1', ['1', '2'], { quantity: 3 }, 3000);
    await accept('2', ['1'], { currency: 'EUR' }, 2000);
    await accept('3', ['1'], { variant: 'never-bought' });
    await pause('variant:steam-10');
    await pause('account');
    const ofProduct = {
      orders: 2,
      amounts: [
        { currency: 'EUR', amount: '9.000001' },
        { currency: 'USD', amount: '60.60' },
      ],
      lines_without_amount: 0,
      oldest_at: '1970-01-01T00:00:02.000Z',
      more: false,
    };
    expect(affectedBy('variant:steam-10')).toEqual(ofProduct);
    expect(affectedBy('account')).toEqual({
      ...ofProduct,
      orders: 3,
      lines_without_amount: 1,
      oldest_at: '1970-01-01T00:00:01.000Z',
    });
    const [group] = outbox.store.read.attentionGroups({ subject: 'variant:steam-10' }, all);
    expect(group?.affects).toEqual(ofProduct);
  });

  it('is nothing while no order waits for it', async () => {
    await pause('variant:steam-10');
    const affected = affectedBy('variant:steam-10');
    expect(affected).toMatchObject({ orders: 0, amounts: [], oldest_at: null });
    expect(affectedText(affected ?? null, 0)).toBe('');
  });
});

const all = { limit: 100, atMost: 100 };

describe('what a cause in the attention list affects', () => {
  it('is the orders of its lines, and what they would cost', async () => {
    await buy('10.00', 'USD');
    await accept('1', ['1', '2'], {}, 3000);
    await accept('2', ['1'], { quantity: 2 }, 2000);
    for (let left = 3; left > 0; left -= 1)
      await closeConfirmed(outbox, await outbox.opened({ nowMs: 3000 }), refused, 3000);
    const [group, ...others] = outbox.store.read.attentionGroups({}, all);
    expect(others).toEqual([]);
    expect(group).toMatchObject({ kind: 'rejected', count: 3 });
    expect(affectedText(group?.affects ?? null, 62_000)).toBe(
      '2 orders, 40.00 USD, the oldest for 1 min',
    );
  });

  it('is what was charged, where that is known', async () => {
    await buy('10.00', 'USD');
    await accept('1', ['1'], { quantity: 2 });
    const paid = { ...answer, cost: '7.77', currency: 'EUR' };
    const review = {
      ...fulfilled,
      state: 'needs_review',
      reviewReason: 'why',
      answer: paid,
    } as const;
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), review));
    const [group] = outbox.store.read.attentionGroups({}, all);
    expect(group?.affects?.amounts).toEqual([{ currency: 'EUR', amount: '7.77' }]);
  });

  it('is nothing where it is about no order', async () => {
    await outbox.store.intake.acceptBatch({
      nowMs: 1000,
      fileId: null,
      lines: [],
      rejections: [
        {
          lineNumber: 1,
          source: null,
          orderId: null,
          lineId: null,
          code: 'invalid_field',
          field: 'x',
          rule: 'y',
          value: 'z',
        },
      ],
    });
    const [group] = outbox.store.read.attentionGroups({}, all);
    expect(group).toMatchObject({ kind: 'invalid_line', affects: null });
  });
});

it('a sum says when there is more than was looked at, and which lines it leaves out', () => {
  const affected = {
    orders: 1,
    amounts: [],
    lines_without_amount: 2,
    oldest_at: '1970-01-01T00:00:00.000Z',
    more: true,
  };
  expect(affectedText(affected, 60_000)).toBe(
    'at least 1 order, 2 lines of unknown cost, the oldest for 1 min',
  );
  expect(affectedText(null, 0)).toBe('');
});
