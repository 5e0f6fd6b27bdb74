import { describe, expect, it } from 'vitest';
import { customerIn } from '../../../src/core/order/customer.ts';
import type { Outcome } from '../../../src/core/answers/outcome.ts';
import { spendSection, type SpendSettings } from '../../../src/buying/spending/settings.ts';
import { stepsOf } from '../../support/steps.ts';
import { delivered, ended, VirtualWorker } from '../../support/virtual-worker.ts';

const hourMs = 3_600_000;

const limitsOf = (...limits: object[]): SpendSettings => spendSection.parse({ limits });

const charged = (cost: string | null): Outcome => {
  const outcome = delivered();
  if (outcome.answer === null) throw new Error('an order is delivered');
  return { ...outcome, answer: { ...outcome.answer, cost, currency: 'USD' } };
};

/** A worker whose API charges these costs, and remembers when. */
async function shop(
  spending: SpendSettings,
  costs: Record<string, number>,
  { tookMs = 50, maxIdleDelayMs = 1000 } = {},
) {
  const worker = await VirtualWorker.start({ spending, maxIdleDelayMs });
  const charges: { atMs: number; cost: number; product: string }[] = [];
  worker.api.submit = (product) => {
    const cost = costs[product] ?? 0;
    charges.push({ atMs: worker.machine.steadyMs(), cost, product });
    return { end: charged(cost.toFixed(2)), tookMs };
  };
  return { worker, charges };
}

/** The most that was charged within any such window. */
const mostWithin = (charges: readonly { atMs: number; cost: number }[], windowMs: number): number =>
  Math.max(
    0,
    ...charges.map(({ atMs: end }) =>
      charges
        .filter(({ atMs }) => atMs <= end && atMs > end - windowMs)
        .reduce((sum, { cost }) => sum + cost, 0),
    ),
  );

const facts = { sellable: true, maxQuantity: null };
const copies = (count: number, product = 'card') => Array.from({ length: count }, () => product);

describe('limits on spending', () => {
  it('are never exceeded in any hour or day by a shop that loops, and what is under them is bought', async () => {
    const limits = limitsOf(
      { amount: '100.00 USD', per: 'hour' },
      { amount: '450.00 USD', per: 'day' },
    );
    const { worker, charges } = await shop(
      limits,
      { card: 5 },
      { tookMs: 2000, maxIdleDelayMs: 60_000 },
    );
    await worker.accept(copies(200));
    await worker.pass(30 * hourMs, 20_000);
    expect(mostWithin(charges, hourMs)).toBe(100);
    expect(mostWithin(charges, 24 * hourMs)).toBe(450);
    // 20 in each of the first four hours, 10 in the fifth, and then as many as leave the day.
    expect(charges.length).toBeGreaterThanOrEqual(2 * 90 - 4);
    expect(worker.counts()).toMatchObject({
      held: 200 - charges.length,
      fulfilled: charges.length,
    });
  });

  it('hold what is over them with the limit as its cause, and buy it in its old order when a limit is raised', async () => {
    const { worker, charges } = await shop(limitsOf({ amount: '20.00 USD', per: 'day' }), {
      card: 8,
      cheap: 1,
    });
    await worker.accept(['card', 'cheap']);
    await worker.until(() => charges.length === 2, 10_000);
    await worker.accept(['card', 'card', 'cheap', 'card']);
    // The small order behind two that are too big has room.
    await worker.until(() => charges.length === 4, 10_000);
    await worker.pass(10_000);
    expect(charges.map(({ product }) => product)).toEqual(['card', 'cheap', 'card', 'cheap']);
    const rows = worker.outbox.rows(
      "SELECT reason, code, message FROM outbox_attention WHERE kind = 'held'",
    );
    expect(rows).toHaveLength(2);
    expect(rows[0]).toEqual({
      reason: 'over_limit',
      code: '20.00 USD per day',
      message:
        'over the limit 20.00 USD per day: 18.00 of it are spent or reserved, and this order costs about 8.00',
    });
    const raised = limitsOf({ amount: '40.00 USD', per: 'day' });
    await worker.dispatcher.reload({ concurrency: 8, maxUnknownOutcomes: 8, spending: raised });
    await worker.until(() => worker.counts().fulfilled === 6, 10_000);
    expect(worker.counts()).toMatchObject({ held: 0, fulfilled: 6 });
  });

  it('count a call of unknown outcome until a lookup has found nothing', async () => {
    const { worker, charges } = await shop(limitsOf({ amount: '10.00 USD', per: 'day' }), {
      card: 5,
    });
    await worker.accept(['card']);
    await worker.until(() => worker.counts().fulfilled === 1, 10_000);
    const { submit } = worker.api;
    worker.api.submit = () => ({ end: ended('deadline'), tookMs: 50 });
    await worker.accept(['card', 'card']);
    await worker.until(() => worker.counts().held === 1, 10_000);
    expect(worker.counts()).toMatchObject({ fulfilled: 1, held: 1 });
    expect(charges).toHaveLength(1);
    // One of both is bought, whichever it is; the other one stays over the limit.
    worker.api.submit = submit;
    await worker.until(() => charges.length === 2, hourMs);
    await worker.pass(60_000);
    expect(worker.counts()).toMatchObject({ fulfilled: 2, held: 1 });
  });

  it('count an order whose money came back: a refund frees nothing', async () => {
    const { worker, charges } = await shop(limitsOf({ amount: '10.00 USD', per: 'day' }), {
      card: 6,
    });
    const { submit } = worker.api;
    worker.api.submit = (product, reference) => {
      const { end, tookMs } = submit(product, reference);
      const answer = end.answer && { ...end.answer, units: [], status: 'refunded' };
      return { end: { ...end, answer: answer && { ...answer, statusClass: 'refunded' } }, tookMs };
    };
    await worker.accept(['card']);
    await worker.until(() => worker.counts().refunded === 1, 10_000);
    await worker.accept(['card']);
    await worker.until(() => worker.counts().held === 1, 10_000);
    expect(charges).toHaveLength(1);
  });

  it('let two orders at once be open whose cost nobody knows', async () => {
    const { worker, charges } = await shop(
      limitsOf({ amount: '10.00 USD', per: 'day' }),
      { a: 1, b: 1, c: 1, d: 1 },
      { tookMs: 30_000 },
    );
    await worker.accept(['a', 'b', 'c', 'd']);
    await worker.pass(20_000);
    expect(charges).toHaveLength(2);
    await worker.until(() => charges.length === 4, 120_000);
    expect(worker.counts()).toMatchObject({ held: 0 });
  });

  it('hold a single order that costs too much, which an operator may release', async () => {
    const { worker, charges } = await shop(limitsOf({ amount: '10.00 USD', per: 'order' }), {
      card: 4,
    });
    await worker.accept(['card']);
    await worker.until(() => charges.length === 1, 10_000);
    await worker.accept(['card'], { quantity: 3 });
    await worker.until(() => worker.counts().held === 1, 10_000);
    await worker.pass(10_000);
    const [{ reference } = { reference: '' }] = worker.outbox.rows<{ reference: string }>(
      "SELECT reference FROM outbox WHERE state = 'held'",
    );
    await worker.outbox.store.operator.actOnEntry({
      reference,
      order: { action: 'release' },
      actor: 'anna',
      reason: 'the customer called',
      nowMs: worker.machine.wallMs(),
      steadyMs: worker.machine.steadyMs(),
      referenceExpiryMs: 86_400_000,
      lookupFamilies: ['gift_card', 'esim'],
    });
    worker.dispatcher.notify();
    await worker.until(() => charges.length === 2, 10_000);
    expect(worker.counts()).toMatchObject({ held: 0 });
  });

  it('release an order of one product behind a thousand of another one', async () => {
    const limits = (amount: string) =>
      limitsOf({ amount: '4.00 USD', per: 'day', product: 'card' }, { amount, per: 'day' });
    const { worker, charges } = await shop(limits('8.00 USD'), { card: 4, other: 4 });
    await worker.accept(['card', 'other']);
    await worker.until(() => charges.length === 2, 10_000);
    await worker.accept(copies(1050));
    await worker.until(() => worker.counts().held === 1050, 120_000);
    await worker.accept(['other']);
    await worker.until(() => worker.counts().held === 1051, 10_000);
    expect(worker.counts()).toMatchObject({ held: 1051, pending: 0 });
    const spending = limits('12.00 USD');
    await worker.dispatcher.reload({ concurrency: 8, maxUnknownOutcomes: 8, spending });
    await worker.until(() => charges.length === 3, 10_000);
    expect(charges.map(({ product }) => product)).toEqual(['card', 'other', 'other']);
  });

  it('count for each customer, by e-mail address over all shops', async () => {
    const limits = limitsOf({ amount: '10.00 USD', per: 'day', customer: 'email' });
    const { worker, charges } = await shop(limits, { card: 4 });
    const ofShop = (email: string) => ({ customer: customerIn({ email }), source: 'shop' });
    await worker.accept(['card']);
    await worker.accept(copies(3), { metadata: { billing: { email: 'Eve@example.com' } } });
    await worker.accept(copies(3), { extra: { 'Billing Email': ' eve+2@EXAMPLE.com' } });
    await worker.accept(copies(3), ofShop('eve@example.com'));
    await worker.accept(copies(2), ofShop('bob@example.com'));
    await worker.pass(60_000);
    // One of nobody, two of each customer.
    expect(charges).toHaveLength(5);
    expect(worker.counts()).toMatchObject({ fulfilled: 5, held: 7 });
    expect(
      worker.outbox.rows(
        "SELECT DISTINCT code, message FROM outbox_attention WHERE reason = 'over_limit'",
      ),
    ).toEqual([
      {
        code: '10.00 USD per day for each customer by email',
        message:
          'over the limit 10.00 USD per day for each customer by email: 8.00 of it are spent or reserved, and this order costs about 4.00',
      },
    ]);
    const stored = worker.outbox.rows('SELECT email_mark, phone_mark FROM lines');
    expect(JSON.stringify(stored)).not.toContain('example');
    await worker.pass(24 * hourMs, 20_000);
    expect(charges).toHaveLength(7);
  });

  it('count only orders of their source, product and currency', async () => {
    const limits = limitsOf(
      { amount: '5.00 USD', per: 'day', source: 'other' },
      { amount: '5.00 USD', per: 'day', product: 'another' },
      { amount: '1.00 EUR', per: 'day' },
    );
    const { worker, charges } = await shop(limits, { card: 4, another: 4 });
    await worker.accept(['card', 'another']);
    await worker.until(() => charges.length === 2, 10_000);
    await worker.accept(['card', 'another', 'card']);
    await worker.until(() => charges.length === 4, 10_000);
    await worker.pass(10_000);
    expect(worker.counts()).toMatchObject({ fulfilled: 4, held: 1 });
  });
});

describe('a price that rises', () => {
  it('costs one order of the product, which is paused until an operator accepts the price', async () => {
    const prices = { card: 9.45, other: 1 };
    const { worker, charges } = await shop(limitsOf(), prices);
    await worker.accept(['card', 'other']);
    await worker.until(() => charges.length === 2, 10_000);
    prices.card = 11;
    await worker.accept(['card']);
    await worker.until(() => charges.length === 3, 10_000);
    await worker.pass(2000);
    expect(await worker.pauses()).toEqual([]);
    prices.card = 94.5;
    await worker.accept(['card']);
    await worker.until(() => worker.counts().fulfilled === 4, 10_000);
    await worker.accept(['card', 'card', 'other']);
    await worker.pass(6 * hourMs, 5000);
    expect(worker.counts()).toMatchObject({ fulfilled: 5, pending: 2 });
    expect(
      worker.outbox.rows(
        "SELECT reason, scope, message FROM outbox_attention WHERE kind = 'pause'",
      ),
    ).toEqual([
      {
        reason: 'price_rose',
        scope: 'variant:card',
        message: 'a unit cost 11.00 USD before, and costs 94.50 USD now',
      },
    ]);
    await worker.outbox.store.operator.resumeScope({
      scope: 'variant:card',
      actor: 'anna',
      reason: 'the shop sells it for 100',
      nowMs: worker.machine.wallMs(),
    });
    await worker.dispatcher.pausesChanged();
    await worker.until(() => worker.counts().fulfilled === 7, 10_000);
    expect(charges).toHaveLength(7);
  });

  it('costs nothing where the catalogue or max_cost of the order knew', async () => {
    const prices = { card: 9, other: 1 };
    const { worker, charges } = await shop(limitsOf(), prices);
    const steps = stepsOf(worker.outbox.store);
    const showCatalogue = (price: number) =>
      steps.rememberPrices(
        {
          products: [{ variant: 'card', prices: { USD: price }, currencies: ['USD'], ...facts }],
          productsProblem: null,
          plans: [],
          plansProblem: null,
        },
        { maxRisePercent: 20, nowMs: worker.machine.wallMs() },
      );
    await worker.accept(['card', 'other']);
    await worker.until(() => worker.counts().fulfilled === 2, 10_000);
    expect(await steps.watchedProducts()).toEqual({ variants: ['card', 'other'], plans: [] });
    // The list price of the supplier is above what this reseller pays.
    expect(await showCatalogue(12)).toBe(false);
    expect(await showCatalogue(120)).toBe(true);
    await worker.dispatcher.pausesChanged();
    expect(await worker.pauses()).toMatchObject([
      {
        scope: 'variant:card',
        reason: 'price_rose',
        message: 'in the catalogue a unit cost 12.00 USD before, and costs 120.00 USD now',
      },
    ]);
    prices.card = 90;
    await worker.accept(['card']);
    await worker.pass(hourMs, 5000);
    expect(charges).toHaveLength(2);
    await worker.outbox.store.operator.resumeScope({
      scope: 'variant:card',
      actor: 'anna',
      reason: 'the shop sells it for 100',
      nowMs: worker.machine.wallMs(),
    });
    await worker.dispatcher.pausesChanged();
    await worker.accept(['card'], { quantity: 2, rules: { max_cost: '10.00' } });
    await worker.until(() => charges.length === 3, 10_000);
    await worker.pass(5000);
    // The new price is accepted, but not by the order that names the most that it may cost.
    expect(charges).toHaveLength(3);
    expect(
      worker.outbox.rows("SELECT code, message FROM outbox_attention WHERE reason = 'over_limit'"),
    ).toEqual([
      {
        code: 'max_cost of card',
        message: 'over max_cost: the order may cost 20.00, and costs about 180.00',
      },
    ]);
    expect(await worker.pauses()).toEqual([]);
    // An answer shows that it is cheap again.
    prices.card = 9;
    await worker.accept(['card']);
    await worker.until(() => worker.counts().fulfilled === 5, 10_000);
    expect(worker.counts()).toMatchObject({ held: 0 });
  });

  it('pauses a product whose first order costs more than its max_cost', async () => {
    const { worker, charges } = await shop(limitsOf(), { card: 94.5 });
    await worker.accept(['card'], { rules: { max_cost: 10 } });
    await worker.until(() => worker.counts().fulfilled === 1, 10_000);
    await worker.accept(['card']);
    await worker.pass(60_000);
    expect(charges).toHaveLength(1);
    expect(await worker.pauses()).toMatchObject([
      { reason: 'price_rose', message: 'a unit costs 94.50 USD, but the order allows 10.00 USD' },
    ]);
  });

  it('is not seen again in an older order of the product that is read later', async () => {
    const prices = { card: 5 };
    const { worker, charges } = await shop(limitsOf(), prices);
    await worker.accept(['card']);
    await worker.until(() => charges.length === 1, 10_000);
    // The units of an order at the old price come after another one was bought at the new price.
    const { submit } = worker.api;
    const placed = charged('5.00').answer;
    if (placed === null) throw new Error('an order is shown');
    const pending = { ...placed, status: 'processing', statusClass: 'pending', units: [] } as const;
    worker.api.submit = () => ({ end: { ...charged('5.00'), answer: pending }, tookMs: 50 });
    await worker.accept(['card']);
    await worker.until(() => worker.counts().placed === 1, 10_000);
    worker.api.submit = submit;
    prices.card = 5.9;
    await worker.accept(['card']);
    await worker.until(() => worker.counts().fulfilled === 2, 10_000);
    worker.api.lookUp = () => ({ end: { kind: 'found', answer: placed }, tookMs: 50 });
    await worker.until(() => worker.counts().fulfilled === 3, hourMs);
    prices.card = 6.5;
    await worker.accept(['card']);
    await worker.until(() => worker.counts().fulfilled === 4, 10_000);
    expect(await worker.pauses()).toEqual([]);
  });
});
