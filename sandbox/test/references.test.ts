import { describe, expect, it } from 'vitest';
import { giftCardOrderAnswer } from '../../test/support/sandbox-answers.ts';
import { buyEsim, callerOf, esim, giftCard, refusalOf, startSandbox } from './running-sandbox.ts';

describe('a reference identifies one order', () => {
  it('a repeat in the same family gets the same answer as long as nothing has changed, and buys nothing', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const iccid = await buyEsim(caller, 'e1');
    const calls: Array<[string, object]> = [
      ['/orders', giftCard('same', { quantity: 2 })],
      ['/esim/orders', esim('other')],
      [`/esim/esims/${iccid}/topups`, { reference: 'top', plan: 'es-1gb-7d', currency: 'USD' }],
    ];
    for (const [path, body] of calls) {
      const first = await caller.post(path, body);
      expect(first.status).toBe(201);
      const movements = sandbox.ledger().movements.length;
      const repeats = await Promise.all([1, 2, 3].map(() => caller.post(path, body)));
      for (const repeat of repeats) expect([repeat.status, repeat.text]).toEqual([200, first.text]);
      expect(sandbox.ledger().movements).toHaveLength(movements);
    }
  });

  it('fifty calls at once with one reference buy one order', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => caller.post('/orders', giftCard('race'))),
    );
    expect(new Set(replies.map((reply) => reply.text)).size).toBe(1);
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1);
    expect(sandbox.ledger().orders).toHaveLength(1);
  });

  it('the other family gets 409 reference_in_use and charges nothing', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const iccid = await buyEsim(caller, 'of-esims');
    await caller.post('/orders', giftCard('of-cards'));
    const movements = sandbox.ledger().movements.length;
    expect(refusalOf(await caller.post('/esim/orders', esim('of-cards')))).toBe(
      '409 reference_in_use',
    );
    expect(refusalOf(await caller.post('/orders', giftCard('of-esims')))).toBe(
      '409 reference_in_use',
    );
    const topup = { reference: 'of-cards', plan: 'es-1gb-7d', currency: 'USD' };
    expect(refusalOf(await caller.post(`/esim/esims/${iccid}/topups`, topup))).toBe(
      '409 reference_in_use',
    );
    expect(sandbox.ledger().movements).toHaveLength(movements);
  });

  it('the reference of a refused order is free again', async () => {
    const caller = callerOf(await startSandbox());
    const poor = giftCard('r', { variant: 'test-out-of-stock' });
    expect(refusalOf(await caller.post('/orders', poor))).toBe('409 out_of_stock');
    expect((await caller.post('/orders', giftCard('r'))).status).toBe(201);
  });

  it('a repeat with another body gets the existing order', async () => {
    const caller = callerOf(await startSandbox());
    const first = await caller.post('/orders', giftCard('r'));
    expect((await caller.post('/orders', giftCard('r', { quantity: 5 }))).text).toBe(first.text);
  });

  it('a repeat gets the order in its current state', async () => {
    const sandbox = await startSandbox({
      fulfilment: { mode: 'delayed', delay_ms: [1_000, 1_000] },
    });
    const caller = callerOf(sandbox);
    const first = await caller.post('/orders', giftCard('r'));
    expect(first.json).toMatchObject({ status: 'pending', codes: [] });
    await sandbox.operate((operator) => operator.advanceClock(1_000));
    expect((await caller.post('/orders', giftCard('r'))).json).toMatchObject({
      status: 'completed',
    });
    const { number } = giftCardOrderAnswer.parse(first.json);
    await sandbox.operate((operator) => operator.refundOrder(number));
    expect((await caller.post('/orders', giftCard('r'))).json).toMatchObject({
      status: 'refunded',
      codes: [],
    });
  });
});
