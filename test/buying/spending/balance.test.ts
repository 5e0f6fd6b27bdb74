import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/core/answers/outcome.ts';
import { spendSection } from '../../../src/buying/spending/settings.ts';
import { stepsOf } from '../../support/steps.ts';
import { delivered, ended, VirtualWorker } from '../../support/virtual-worker.ts';

const hourMs = 3_600_000;

const charged = (cost: string | null, shown: { balanceLeft?: string } = {}): Outcome => {
  const outcome = delivered();
  if (outcome.answer === null) throw new Error('an order is delivered');
  return { ...outcome, answer: { ...outcome.answer, cost, currency: 'USD', ...shown } };
};

/** A worker whose USD balance an operator has entered; each order costs 10.00. */
async function shopWith(amount: number, settings: object = {}) {
  const spending = spendSection.parse(settings);
  const worker = await VirtualWorker.start({ spending });
  const { store } = worker.outbox;
  worker.api.submit = () => ({ end: charged('10.00'), tookMs: 50 });
  const set = (units: number) =>
    store.operator.setBalance({
      currency: 'USD',
      millionths: units * 1e6,
      actor: 'cli:ann',
      reason: 'the supplier shows it',
      nowMs: worker.machine.wallMs(),
    });
  await set(amount);
  await worker.pass(1000);
  let orders = 0;
  const buy = async (count: number) => {
    orders += count;
    await worker.accept(Array.from({ length: count }, () => 'card'));
    await worker.until(() => worker.counts().fulfilled === orders, hourMs);
  };
  const watch = async () => {
    await store.writeTime();
    await stepsOf(store).watchMoney(spending, worker.machine.wallMs());
    return store.read
      .attention(10, { kind: 'money' })
      .map(({ scope, reason, message }) => [reason, scope, message]);
  };
  const balance = () => store.read.balances()[0];
  return { worker, set, buy, watch, balance };
}

describe('what is left of a balance', () => {
  it('is what was entered less charges since, also where an order was bought before that', async () => {
    const { worker, set, buy, balance } = await shopWith(100);
    await buy(3);
    expect(balance()).toMatchObject({ currency: 'USD', left: '70.00' });
    await worker.pass(1000);
    await set(500);
    await buy(1);
    expect(balance()).toMatchObject({ left: '490.00' });
    expect(worker.outbox.auditLog()).toMatchObject([
      { actor: 'cli:ann', action: 'set_balance', subject: 'balance:USD' },
      { action: 'set_balance', detail: '{"millionths":500000000}' },
    ]);
  });

  it('is less by what a call of unknown outcome will cost, until a lookup has found nothing', async () => {
    const { worker, buy, balance } = await shopWith(100);
    await buy(1);
    const { submit } = worker.api;
    worker.api.submit = () => ({ end: ended('deadline'), tookMs: 50 });
    await worker.accept(['card']);
    await worker.until(() => worker.counts().unknown === 1, 10_000);
    expect(balance()).toMatchObject({ left: '80.00' });
    worker.api.submit = submit;
    await worker.until(() => worker.counts().fulfilled === 2, hourMs);
    expect(balance()).toMatchObject({ left: '80.00' });
  });

  it('is read from the answer to the first call of an order, and from no copy of it', async () => {
    const { worker, set, buy, balance } = await shopWith(100);
    worker.api.submit = () => ({ end: charged('10.00', { balanceLeft: '300.00' }), tookMs: 50 });
    await buy(1);
    expect(balance()).toMatchObject({ left: '300.00' });
    const { submit } = worker.api;
    worker.api.submit = () => ({ end: ended('deadline'), tookMs: 50 });
    await worker.accept(['card']);
    await worker.until(() => worker.counts().unknown === 1, 10_000);
    await set(1000);
    // The API knows the order by its reference, and answers as it did first.
    worker.api.submit = submit;
    await worker.until(() => worker.counts().fulfilled === 2, hourMs);
    expect(balance()).toMatchObject({ left: '990.00' });
  });

  it('is what was entered while a call was under way, less its charge', async () => {
    const { worker, set, balance } = await shopWith(100);
    worker.api.submit = () => ({ end: charged('10.00', { balanceLeft: '90.00' }), tookMs: 3000 });
    await worker.accept(['card']);
    worker.dispatcher.notify();
    await worker.pass(1000);
    await set(500);
    await worker.until(() => worker.counts().fulfilled === 1, hourMs);
    expect(balance()).toMatchObject({ left: '490.00' });
  });

  it('stays right where charges of days are taken off for good', async () => {
    const { worker, buy, watch, balance } = await shopWith(1000);
    const known = () => worker.outbox.rows('SELECT millionths, set_by FROM balances')[0];
    await buy(3);
    await worker.pass(20 * hourMs, hourMs);
    await buy(2);
    await watch();
    expect(known()).toEqual({ millionths: 1e9, set_by: 'cli:ann' });
    await worker.pass(5.5 * hourMs, hourMs / 2);
    await buy(1);
    await watch();
    expect([known(), balance()?.left]).toEqual([
      { millionths: 950e6, set_by: 'cli:ann' },
      '940.00',
    ]);
  });

  it('is rather too low than too high where answers overtake each other', async () => {
    const { worker, buy, balance } = await shopWith(100);
    // The first one is charged first, and its answer comes last.
    const answers = [
      { end: charged('10.00', { balanceLeft: '90.00' }), tookMs: 3000 },
      { end: charged('10.00', { balanceLeft: '80.00' }), tookMs: 50 },
    ];
    worker.api.submit = () => answers.shift() ?? { end: ended('dropped'), tookMs: 50 };
    await buy(2);
    expect(Number(balance()?.left)).toBeLessThanOrEqual(80);
  });
});

describe('how long a balance lasts', () => {
  it('is not known before anything was charged', async () => {
    const { balance, watch } = await shopWith(100);
    expect(balance()).toEqual({ currency: 'USD', left: '100.00', hoursLeft: null });
    expect(await watch()).toEqual([]);
  });

  it('follows the day while few orders came within an hour, and the hour in a loop', async () => {
    const { worker, buy, balance } = await shopWith(1000);
    await buy(4);
    // 40 within six hours, as long as a shop is taken to be there at least.
    expect(balance()?.hoursLeft).toBeCloseTo(960 / (40 / 6), 1);
    await buy(1);
    expect(balance()?.hoursLeft).toBeCloseTo(950 / 50, 1);
    await worker.pass(18 * hourMs, 60_000);
    await worker.outbox.store.writeTime();
    expect(balance()?.hoursLeft).toBeCloseTo(950 / (50 / 18), 0);
    await worker.pass(7 * hourMs, 60_000);
    await worker.outbox.store.writeTime();
    expect(balance()?.hoursLeft).toBeNull();
  });
});

describe('money that is nearly used up', () => {
  it('needs attention below an amount, with a sentence that seldom changes, until there is more', async () => {
    const { worker, set, buy, watch } = await shopWith(153, {
      balance_alerts: ['100.00 USD', '9.00 EUR'],
    });
    await buy(5);
    expect(await watch()).toEqual([]);
    await buy(1);
    expect(await watch()).toEqual([
      ['balance_low', 'balance:USD', "about 93 USD are left, enough for about 2 h at today's pace"],
    ]);
    const noted = () => worker.outbox.rows("SELECT value FROM meta WHERE name LIKE 'money:%'");
    const [first] = noted();
    await worker.pass(10_000);
    await watch();
    expect(noted()).toEqual([first]);
    await set(120);
    expect(await watch()).toHaveLength(1);
    await set(126);
    expect(await watch()).toEqual([]);
  });

  it('needs attention where what is left lasts for fewer hours, by default for 24', async () => {
    const { buy, watch } = await shopWith(1300);
    await buy(5);
    expect(await watch()).toEqual([]);
    const low = [
      'balance_low',
      'balance:USD',
      "about 1200 USD are left, enough for about 21 h at today's pace",
    ];
    await buy(1);
    expect(await watch()).toEqual([low]);
  });

  it('needs attention from a share of a limit on, and not any more well below it', async () => {
    const limits = [
      { amount: '100.00 USD', per: 'hour' },
      { amount: '10.00 USD', per: 'order' },
      { amount: '100.00 USD', per: 'day', alert_at: 95 },
    ];
    const { worker, buy, watch } = await shopWith(1e6, { limits });
    await buy(7);
    expect(await watch()).toEqual([]);
    await worker.pass(hourMs / 2, 60_000);
    await buy(1);
    const near = [
      'limit_near',
      '100.00 USD per hour',
      'about 80 % of the limit is spent or reserved',
    ];
    expect(await watch()).toEqual([near]);
    await worker.pass(hourMs / 2 + 1000, 60_000);
    expect(await watch()).toEqual([]);
    await buy(2);
    expect(await watch()).toMatchObject(
      [['limit_near', '100.00 USD per day', {}]].map(([a, b]) => [a, b, expect.any(String)]),
    );
  });
});
