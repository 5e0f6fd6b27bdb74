import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const nowMs = 5000;

const pause = (scope: string, reason = 'answer_mismatch') =>
  outbox.store.pauses.open({
    scope,
    reason,
    message: 'wrong product',
    openedBy: 'worker',
    probeAtMs: nowMs,
    nowMs: 4000,
  });

const accept = (orderId: string, count: number, changes: Parameters<typeof line>[0]) =>
  outbox.accept(
    Array.from({ length: count }, (_, index) =>
      line({ orderId, lineId: String(index), ...changes }),
    ),
  );

/** What each pause holds up. */
const effects = () =>
  Object.fromEntries(outbox.store.read.pauses().map(({ scope, holdsUp }) => [scope, holdsUp]));

const plan = { operation: 'esim_order', variant: null, plan: 'es-7', days: 7 } as const;

describe('what a pause holds up', () => {
  it('is what the scope has to send, and nothing for a scope that has nothing', async () => {
    await accept('1', 3, { variant: 'card' });
    await accept('2', 2, { variant: 'other', currency: 'EUR' });
    await accept('3', 1, plan);
    for (const scope of [
      'variant:card',
      'variant:gone',
      'plan:es-7',
      'family:gift_card',
      'balance:EUR',
      'account',
    ])
      await pause(scope);
    expect(effects()).toEqual({
      'variant:card': 3,
      'variant:gone': 0,
      'plan:es-7': 1,
      'family:gift_card': 5,
      'balance:EUR': 2,
      account: 6,
    });
  });

  it('counts what waits to be sent again, and not what was bought', async () => {
    await accept('1', 3, { variant: 'card' });
    const waiting = await outbox.opened({ nowMs });
    const waits = {
      state: 'waiting',
      nextStep: 'send',
      outcomeUnknown: false,
      row: 'insufficient_balance',
    } as const;
    await stepsOf(outbox.store).closeAttempt(close(waiting, { ...nothing, ...waits }, { nowMs }));
    const bought = await outbox.opened({ nowMs });
    const isBought = {
      state: 'fulfilled',
      nextStep: 'send',
      outcomeUnknown: false,
      row: 'accepted',
    } as const;
    await stepsOf(outbox.store).closeAttempt(close(bought, { ...nothing, ...isBought }, { nowMs }));
    await pause('variant:card');
    expect(effects()).toEqual({ 'variant:card': 2 });
  });

  it('leaves out an order that another balance can pay, unless an operator paused the first one', async () => {
    await accept('1', 1, { variant: 'card' });
    await accept('2', 4, { variant: 'card', rules: { fallback_currency: 'EUR' } });
    await pause('balance:USD', 'insufficient_balance');
    expect(effects()).toEqual({ 'balance:USD': 1 });
    await outbox.store.operator.pauseScope({
      scope: 'balance:USD',
      actor: 'cli:anna',
      reason: 'audit',
      nowMs,
    });
    expect(effects()).toEqual({ 'balance:USD': 5 });
  });

  it('leaves out an entry that may have been charged already from what a balance holds up', async () => {
    await accept('1', 1, { variant: 'card' });
    const attempt = await outbox.opened({ nowMs });
    const again = { state: 'unknown', nextStep: 'send' } as const;
    await stepsOf(outbox.store).closeAttempt(close(attempt, { ...nothing, ...again }, { nowMs }));
    await pause('balance:USD', 'insufficient_balance');
    await pause('variant:card');
    expect(effects()).toEqual({ 'balance:USD': 0, 'variant:card': 1 });
  });

  it('leaves out cancels and unknown outcomes, which do not wait for the first delivered order', async () => {
    await accept('1', 3, plan);
    const attempt = await outbox.opened({ nowMs });
    const again = { state: 'unknown', nextStep: 'send' } as const;
    await stepsOf(outbox.store).closeAttempt(close(attempt, { ...nothing, ...again }, { nowMs }));
    const cancel = {
      operation: 'esim_cancel',
      variant: null,
      currency: null,
      quantity: null,
      iccid: '8901',
    } as const;
    await accept('2', 1, cancel);
    await pause('family:esim', 'connector_unproven');
    expect(effects()).toEqual({ 'family:esim': 2 });
    expect(outbox.store.read.queueFacts().toSend).toMatchObject({ count: 4, paused: 2 });
    await outbox.store.operator.pauseScope({
      scope: 'family:esim',
      actor: 'cli:anna',
      reason: 'audit',
      nowMs,
    });
    expect(effects()).toEqual({ 'family:esim': 4 });
    expect(outbox.store.read.queueFacts().toSend).toMatchObject({ count: 4, paused: 4 });
  });

  it('is nothing for a key while another key may be used', async () => {
    await accept('1', 2, { variant: 'card' });
    const keys = ['a', 'b'].map((name) => ({ name, value: `secret-${name}` }));
    await outbox.store.adoptKeys({ keys, nowMs, whileRunning: false });
    await pause('key:a', 'invalid_key');
    expect(effects()).toEqual({ 'key:a': 0 });
    await pause('key:b', 'invalid_key');
    expect(effects()).toEqual({ 'key:a': 2, 'key:b': 2 });
  });
});
