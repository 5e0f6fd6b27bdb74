import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EntryDetail } from '../../../src/store/read/order-detail.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const sinceMs = Date.parse('2026-11-21T12:00:00.000Z');
const since = '2026-11-21T12:00:00.000Z';

const pause = (scope: string, reason: string) =>
  outbox.store.pauses.open({
    scope,
    reason,
    message: '',
    openedBy: 'worker',
    probeAtMs: null,
    nowMs: sinceMs,
  });

function entryOf(orderId: string): EntryDetail {
  const entry = outbox.store.read.showOrder('shop1', orderId)?.entries[0];
  if (entry === undefined) throw new Error('it was accepted');
  return entry;
}

const pausedBy = (orderId: string) => entryOf(orderId).pausedBy.map(({ scope }) => scope);

describe('what an entry waits for', () => {
  it('is the pauses of its own scopes', async () => {
    await outbox.accept([
      line({ orderId: '1', variant: 'card' }),
      line({ orderId: '2', variant: 'other' }),
    ]);
    await pause('variant:card', 'answer_mismatch');
    await pause('balance:EUR', 'insufficient_balance');
    expect(entryOf('1').pausedBy).toEqual([
      { scope: 'variant:card', reason: 'answer_mismatch', since },
    ]);
    expect(entryOf('2').pausedBy).toEqual([]);
    await pause('account', 'api_disabled');
    expect(pausedBy('2')).toEqual(['account']);
  });

  it('is only the account for a lookup, and nothing for an order that was bought', async () => {
    await outbox.accept([line({ orderId: '1' }), line({ orderId: '2' })]);
    for (const changes of [
      {},
      { state: 'fulfilled', outcomeUnknown: false, row: 'accepted' } as const,
    ]) {
      const attempt = await outbox.opened();
      await stepsOf(outbox.store).closeAttempt(
        close(attempt, { ...nothing, ...changes }, { nowMs: 2000 }),
      );
    }
    await pause('family:gift_card', 'answer_mismatch');
    await pause('account', 'api_disabled');
    expect([pausedBy('1'), pausedBy('2')]).toEqual([['account'], []]);
  });

  it('is a key when no other one is left', async () => {
    const keys = ['a', 'b'].map((name) => ({ name, value: `secret-${name}` }));
    await outbox.store.adoptKeys({ keys, nowMs: 1000, whileRunning: false });
    await outbox.accept([line({ orderId: '1' })]);
    await pause('key:a', 'invalid_key');
    expect(pausedBy('1')).toEqual([]);
    await pause('key:b', 'invalid_key');
    expect(pausedBy('1')).toEqual(['key:a', 'key:b']);
  });

  it('is the unknown outcomes of its product', async () => {
    await outbox.accept(['1', '2', '3'].map((orderId) => line({ orderId, variant: 'card' })));
    for (let call = 0; call < 2; call += 1) {
      const attempt = await outbox.opened();
      await stepsOf(outbox.store).closeAttempt(close(attempt, nothing, { nowMs: 2000 }));
    }
    await outbox.accept([line({ orderId: '4', variant: 'other' })]);
    const shown = ['1', '3', '4'].map((orderId) => entryOf(orderId));
    expect(shown.map(({ product, unknownOfProduct }) => [product, unknownOfProduct])).toEqual([
      ['variant:card', 2],
      ['variant:card', 2],
      ['variant:other', 0],
    ]);
  });
});
