import { describe, expect, it } from 'vitest';
import { giftCardOrderAnswer, esimOrderAnswer } from '../../test/support/sandbox-answers.ts';
import { balanceOf, callerOf, esim, giftCard, refusalOf, startSandbox } from './running-sandbox.ts';

describe('orders of both families', () => {
  it('a gift card order delivers its codes and charges the named balance exactly', async () => {
    const sandbox = await startSandbox();
    const before = { USD: balanceOf(sandbox, 'USD'), EUR: balanceOf(sandbox, 'EUR') };
    const reply = await callerOf(sandbox).post(
      '/orders',
      giftCard('g1', { quantity: 3, currency: 'EUR' }),
    );
    expect(reply.status).toBe(201);
    const order = giftCardOrderAnswer.parse(reply.json);
    expect(order).toMatchObject({
      reference: 'g1',
      status: 'completed',
      quantity: 3,
      currency: 'EUR',
      total: '52.17',
    });
    expect(new Set(order.codes.map((unit) => unit.code)).size).toBe(3);
    expect(balanceOf(sandbox, 'EUR')).toBe(before.EUR - 5217);
    expect(balanceOf(sandbox, 'USD')).toBe(before.USD);
  });

  it('one API key works for both families, and an eSIM order delivers as many eSIMs as were ordered', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    expect((await caller.post('/orders', giftCard('g1'))).status).toBe(201);
    const order = esimOrderAnswer.parse(
      (await caller.post('/esim/orders', esim('e1', { quantity: 30 }))).json,
    );
    expect(order.esims).toHaveLength(30);
    expect(order.total).toBe('285.00');
  });

  it('a daily plan is charged by the day', async () => {
    const sandbox = await startSandbox();
    const before = balanceOf(sandbox, 'USD');
    const reply = await callerOf(sandbox).post(
      '/esim/orders',
      esim('d1', { plan: 'es-daily-1gb', quantity: 2, days: 7 }),
    );
    expect(esimOrderAnswer.parse(reply.json)).toMatchObject({ days: 7, total: '16.80' });
    expect(balanceOf(sandbox, 'USD')).toBe(before - 1680);
  });

  it('an order is found by number and by reference, under its own family only', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const card = giftCardOrderAnswer.parse((await caller.post('/orders', giftCard('g:1.a'))).json);
    const sim = esimOrderAnswer.parse((await caller.post('/esim/orders', esim('e1'))).json);
    for (const key of [card.number, card.reference]) {
      expect((await caller.get(`/orders/${encodeURIComponent(key)}`)).json).toEqual(card);
      expect(refusalOf(await caller.get(`/esim/orders/${encodeURIComponent(key)}`))).toBe(
        '404 not_found',
      );
    }
    for (const key of [sim.number, sim.reference]) {
      expect((await caller.get(`/esim/orders/${key}`)).json).toEqual(sim);
      expect(refusalOf(await caller.get(`/orders/${key}`))).toBe('404 not_found');
    }
  });

  it('an account sees nothing of another account', async () => {
    const sandbox = await startSandbox({
      accounts: [
        { id: 'one', keys: [{ name: 'one', value: 'key-of-one' }] },
        { id: 'two', keys: [{ name: 'two', value: 'key-of-two' }] },
      ],
    });
    const [one, two] = [callerOf(sandbox, 'key-of-one'), callerOf(sandbox, 'key-of-two')];
    const order = esimOrderAnswer.parse((await one.post('/esim/orders', esim('same'))).json);
    expect(refusalOf(await two.get('/esim/orders/same'))).toBe('404 not_found');
    expect(refusalOf(await two.get(`/esim/orders/${order.number}`))).toBe('404 not_found');
    expect(refusalOf(await two.get(`/esim/esims/${order.esims[0]?.iccid}/topups`))).toBe(
      '404 not_found',
    );
    // A reference is unique for one account (Spec 1), so the other account can use it too.
    expect((await two.post('/orders', giftCard('same'))).status).toBe(201);
  });

  it('a delayed order is pending first and delivers its units when it is due', async () => {
    const sandbox = await startSandbox({
      fulfilment: { mode: 'delayed', delay_ms: [60_000, 60_000] },
    });
    const caller = callerOf(sandbox);
    const placed = giftCardOrderAnswer.parse(
      (await caller.post('/orders', giftCard('later', { quantity: 2 }))).json,
    );
    expect(placed).toMatchObject({ status: 'pending', codes: [] });
    await sandbox.operate((operator) => operator.advanceClock(59_000));
    expect((await caller.get('/orders/later')).json).toMatchObject({
      status: 'pending',
      codes: [],
    });
    await sandbox.operate((operator) => operator.advanceClock(1_500));
    const ready = giftCardOrderAnswer.parse((await caller.get('/orders/later')).json);
    expect(ready.status).toBe('completed');
    expect(ready.codes).toHaveLength(2);
  });

  it('an order that the operator refunds is a success, and the money is back in the balance', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const before = balanceOf(sandbox, 'USD');
    const order = giftCardOrderAnswer.parse((await caller.post('/orders', giftCard('r1'))).json);
    await sandbox.operate((operator) => operator.refundOrder(order.number));
    const reply = await caller.get('/orders/r1');
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({ status: 'refunded', refunded_amount: '18.90' });
    expect(balanceOf(sandbox, 'USD')).toBe(before);
    expect(await sandbox.operate((operator) => operator.refundOrder(order.number))).toBe(false);
  });
});
