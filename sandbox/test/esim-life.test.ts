import { describe, expect, it } from 'vitest';
import { luhnDigit } from '../orders/units.ts';
import {
  cancelAnswer,
  esimOrderAnswer,
  esimUnit,
  topupsAnswer,
} from '../../test/support/sandbox-answers.ts';
import {
  balanceOf,
  buyEsim,
  callerOf,
  esim,
  messageOf,
  operatorOf,
  refusalOf,
  startSandbox,
} from './running-sandbox.ts';

const dayMs = 86_400_000;

describe('the life of an eSIM', () => {
  it('a new eSIM has an ICCID with a valid check digit, and the LPA text of its SM-DP+ address and matching id', async () => {
    const sandbox = await startSandbox();
    const reply = await callerOf(sandbox).post('/esim/orders', esim('e', { quantity: 12 }));
    const { esims } = esimOrderAnswer.parse(reply.json);
    for (const unit of esims) {
      expect(unit.iccid).toMatch(/^89\d{17}$/);
      expect(luhnDigit(unit.iccid.slice(0, -1))).toBe(Number(unit.iccid.at(-1)));
      expect(unit.lpa).toBe(`LPA:1$${unit.smdp_address}$${unit.matching_id}`);
      expect(unit.state).toBe('new');
    }
    expect(new Set(esims.map((unit) => unit.matching_id)).size).toBe(12);
    // The common example of Luhn's formula.
    expect(luhnDigit('7992739871')).toBe(3);
  });

  it('an eSIM is cancelled and refunded once, and a second cancel is 409 not_cancellable', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const before = balanceOf(sandbox, 'USD');
    const iccid = await buyEsim(caller, 'e', { quantity: 2 });
    const cancelled = cancelAnswer.parse((await caller.post(`/esim/esims/${iccid}/cancel`)).json);
    expect(cancelled).toMatchObject({
      iccid,
      state: 'cancelled',
      status: 'refunded',
      refund: { amount: '9.50', currency: 'USD' },
    });
    expect(refusalOf(await caller.post(`/esim/esims/${iccid}/cancel`))).toBe('409 not_cancellable');
    expect(balanceOf(sandbox, 'USD')).toBe(before - 950);
    const refunds = sandbox.ledger().movements.filter((movement) => movement.kind === 'refund');
    expect(refunds).toEqual([expect.objectContaining({ iccid, amount_minor: 950 })]);
  });

  it('twenty cancels at once refund an eSIM once', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const iccid = await buyEsim(caller, 'e');
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => caller.post(`/esim/esims/${iccid}/cancel`)),
    );
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    expect(
      sandbox.ledger().movements.filter((movement) => movement.kind === 'refund'),
    ).toHaveLength(1);
  });

  it('an eSIM whose order the operator has refunded is not refunded again', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const before = balanceOf(sandbox, 'USD');
    const order = esimOrderAnswer.parse(
      (await caller.post('/esim/orders', esim('e', { quantity: 2 }))).json,
    );
    const [first, second] = order.esims.map((unit) => unit.iccid);
    await caller.post(`/esim/esims/${first}/cancel`);
    await sandbox.operate((operator) => operator.refundOrder(order.number));
    expect(refusalOf(await caller.post(`/esim/esims/${second}/cancel`))).toBe(
      '409 not_cancellable',
    );
    expect(balanceOf(sandbox, 'USD')).toBe(before);
  });

  it('an order whose eSIMs are all cancelled has the status refunded, which is a success', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const order = esimOrderAnswer.parse(
      (await caller.post('/esim/orders', esim('e', { quantity: 2 }))).json,
    );
    for (const [index, unit] of order.esims.entries()) {
      await caller.post(`/esim/esims/${unit.iccid}/cancel`);
      const now = esimOrderAnswer.parse((await caller.get('/esim/orders/e')).json);
      expect(now.status).toBe(index === 0 ? 'completed' : 'refunded');
    }
  });

  it('an eSIM that was installed or topped up or has expired cannot be cancelled', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const [installed, topped, expired] = [
      await buyEsim(caller, 'i'),
      await buyEsim(caller, 't'),
      await buyEsim(caller, 'x'),
    ];
    await sandbox.operate((operator) =>
      operator.esimEvent(installed, { event: 'install', times: 1 }),
    );
    await sandbox.operate((operator) => operator.esimEvent(expired, { event: 'expire', times: 1 }));
    await caller.post(`/esim/esims/${topped}/topups`, {
      reference: 'tt',
      plan: 'es-1gb-7d',
      currency: 'USD',
    });
    for (const [iccid, why] of [
      [installed, /installed/],
      [topped, /topped up/],
      [expired, /expired/],
    ] as const) {
      const reply = await caller.post(`/esim/esims/${iccid}/cancel`);
      expect(refusalOf(reply)).toBe('409 not_cancellable');
      expect(messageOf(reply)).toMatch(why);
    }
  });

  it('nothing makes a cancelled or an expired eSIM valid again, also not the operator', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const operator = operatorOf(sandbox);
    const [cancelled, expired] = [await buyEsim(caller, 'c'), await buyEsim(caller, 'x')];
    await caller.post(`/esim/esims/${cancelled}/cancel`);
    await operator.post(`/esims/${expired}`, { event: 'expire' });
    for (const [iccid, state, events] of [
      [cancelled, 'cancelled', ['install', 'expire']],
      [expired, 'expired', ['install']],
    ] as const) {
      const before = (await caller.get(`/esim/esims/${iccid}`)).json;
      expect(before).toMatchObject({ state, installed: false });
      for (const event of events) {
        const reply = await operator.post(`/esims/${iccid}`, { event });
        expect([reply.status, messageOf(reply)]).toEqual([
          422,
          `event: the eSIM ${iccid} is ${state}, which is final, so "${event}" cannot happen to it`,
        ]);
      }
      expect((await caller.get(`/esim/esims/${iccid}`)).json).toEqual(before);
    }
  });

  it('a cancelled eSIM has its list of top-up plans, and no top-up of it is accepted', async () => {
    const caller = callerOf(await startSandbox());
    const iccid = await buyEsim(caller, 'c');
    const before = await caller.get(`/esim/esims/${iccid}/topups`);
    await caller.post(`/esim/esims/${iccid}/cancel`);
    const { topups } = topupsAnswer.parse((await caller.get(`/esim/esims/${iccid}/topups`)).json);
    expect(topups).toEqual(topupsAnswer.parse(before.json).topups);
    const topup = { reference: 't', plan: topups[0]?.plan, currency: 'USD' };
    expect(refusalOf(await caller.post(`/esim/esims/${iccid}/topups`, topup))).toBe(
      '422 topup_not_allowed',
    );
  });

  it('a refund by the operator cancels an installed eSIM, and leaves the eSIM of a top-up as it is', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const operator = operatorOf(sandbox);
    const iccid = await buyEsim(caller, 'e');
    await operator.post(`/esims/${iccid}`, { event: 'install' });
    const topup = { reference: 't', plan: 'es-1gb-7d', currency: 'USD' };
    const { number } = esimOrderAnswer.parse(
      (await caller.post(`/esim/esims/${iccid}/topups`, topup)).json,
    );
    expect((await operator.post(`/orders/${number}/refund`)).status).toBe(200);
    expect((await caller.get('/esim/orders/t')).json).toMatchObject({ status: 'refunded' });
    expect((await caller.get(`/esim/esims/${iccid}`)).json).toMatchObject({ state: 'topped_up' });
    const bought = esimOrderAnswer.parse((await caller.get('/esim/orders/e')).json);
    expect((await operator.post(`/orders/${bought.number}/refund`)).status).toBe(200);
    expect((await caller.get(`/esim/esims/${iccid}`)).json).toMatchObject({
      state: 'cancelled',
      installed: true,
    });
  });

  it('an eSIM cannot be cancelled while its state cannot be checked, and can be cancelled afterwards', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const iccid = await buyEsim(caller, 'u', { plan: 'test-plan-unchecked' });
    const first = await caller.post(`/esim/esims/${iccid}/cancel`);
    expect(refusalOf(first)).toBe('409 not_cancellable');
    expect(messageOf(first)).toMatch(/could not be checked/);
    expect((await caller.post(`/esim/esims/${iccid}/cancel`)).status).toBe(200);
    const never = await buyEsim(caller, 'n', { plan: 'test-plan-never-checked' });
    for (let count = 0; count < 3; count += 1) {
      expect(messageOf(await caller.post(`/esim/esims/${never}/cancel`))).toMatch(
        /could not be checked/,
      );
    }
    await sandbox.operate((operator) =>
      operator.esimEvent(never, { event: 'fail_state_checks', times: 0 }),
    );
    expect((await caller.post(`/esim/esims/${never}/cancel`)).status).toBe(200);
  });

  it('an eSIM has a list of top-up plans, and a top-up with one of them extends an installed eSIM', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const iccid = await buyEsim(caller, 'e');
    await sandbox.operate((operator) => operator.esimEvent(iccid, { event: 'install', times: 1 }));
    const { topups } = topupsAnswer.parse((await caller.get(`/esim/esims/${iccid}/topups`)).json);
    expect(topups.map((plan) => plan.plan)).toContain('es-1gb-7d');
    const before = esimUnit.parse((await caller.get(`/esim/esims/${iccid}`)).json);
    await caller.post(`/esim/esims/${iccid}/topups`, {
      reference: 't',
      plan: 'es-1gb-7d',
      currency: 'USD',
    });
    const after = esimUnit.parse((await caller.get(`/esim/esims/${iccid}`)).json);
    expect(after).toMatchObject({ state: 'topped_up', installed: true, topped_up: true });
    expect(Date.parse(after.expires_at) - Date.parse(before.expires_at)).toBe(7 * dayMs);
  });

  it('a plan that goes off sale leaves the lists and can no longer be ordered or used as a top-up', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const iccid = await buyEsim(caller, 'e');
    await sandbox.operate((operator) => operator.itemEvent('es-1gb-7d', { on_sale: false }));
    expect((await caller.get('/esim/destinations/spain/plans')).text).not.toContain('es-1gb-7d');
    expect((await caller.get(`/esim/esims/${iccid}/topups`)).text).not.toContain('es-1gb-7d');
    expect(refusalOf(await caller.post('/esim/orders', esim('o', { plan: 'es-1gb-7d' })))).toBe(
      '422 invalid_plan',
    );
    const topup = { reference: 't', plan: 'es-1gb-7d', currency: 'USD' };
    expect(refusalOf(await caller.post(`/esim/esims/${iccid}/topups`, topup))).toBe(
      '422 topup_not_allowed',
    );
  });

  it('an installed eSIM expires after the days of its plan, and another one when the time to install it is over', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const [installed, waiting] = [await buyEsim(caller, 'i'), await buyEsim(caller, 'w')];
    await sandbox.operate((operator) =>
      operator.esimEvent(installed, { event: 'install', times: 1 }),
    );
    const stateOf = async (iccid: string) =>
      esimUnit.parse((await caller.get(`/esim/esims/${iccid}`)).json).state;
    await sandbox.operate((operator) => operator.advanceClock(30 * dayMs));
    expect([await stateOf(installed), await stateOf(waiting)]).toEqual(['expired', 'new']);
    await sandbox.operate((operator) => operator.advanceClock(150 * dayMs));
    expect(await stateOf(waiting)).toBe('expired');
  });
});
