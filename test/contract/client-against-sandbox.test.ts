import { z } from 'zod';
import { onTestFinished, describe, expect, it } from 'vitest';
import type { Operation, ReferencedPurchase } from '../../src/core/order/purchase.ts';
import { assert } from '../../src/core/order-sync-error.ts';
import type { LookupOutcome, Outcome } from '../../src/core/answers/outcome.ts';
import type { SandboxConfig } from '../../sandbox/settings/config.ts';
import type { CatalogueWalk } from '../../src/wholesale/catalogue/catalogue-walk.ts';
import type { WholesaleClient } from '../../src/wholesale/client.ts';
import { wireSchema, type WireOverrides } from '../../src/wholesale/connector/wire.ts';
import { mainKey, startSandbox } from '../../sandbox/test/running-sandbox.ts';
import { clientOf } from '../wholesale/api-calls.ts';

const keyed = { keyValue: mainKey };
const nothing = {
  variant: null,
  plan: null,
  iccid: null,
  quantity: null,
  days: null,
  currency: null,
};

function purchaseWith(
  operation: Operation,
  reference: string,
  some: Partial<ReferencedPurchase>,
): ReferencedPurchase {
  return { ...nothing, operation, reference, ...some };
}

const giftCards = (reference: string, some: Partial<ReferencedPurchase> = {}): ReferencedPurchase =>
  purchaseWith('gift_card_order', reference, {
    variant: 'steam-usd-10',
    quantity: 2,
    currency: 'USD',
    ...some,
  });
const esims = (reference: string, some: Partial<ReferencedPurchase> = {}): ReferencedPurchase =>
  purchaseWith('esim_order', reference, {
    plan: 'es-5gb-30d',
    quantity: 1,
    currency: 'EUR',
    ...some,
  });

async function place(
  client: WholesaleClient,
  facts: ReferencedPurchase,
  call = keyed,
): Promise<Outcome> {
  const { operation } = facts;
  const expectation = { ...facts, reference: operation === 'esim_cancel' ? null : facts.reference };
  return client.submit({ ...client.render(facts), ...call, operation, expect: expectation });
}

async function start(config: SandboxConfig = {}, wire: WireOverrides = {}) {
  const sandbox = await startSandbox(config);
  const client = clientOf(sandbox.url, { wire: wireSchema.parse(wire) });
  onTestFinished(async () => client.close());
  return { sandbox, client };
}

/** Orders one eSIM and returns its ICCID. */
async function esimOf(
  client: WholesaleClient,
  reference = 'esim-1',
  plan = 'es-5gb-30d',
): Promise<string> {
  const outcome = await place(client, esims(reference, { plan }));
  const iccid = outcome.answer?.units[0]?.iccid;
  assert(iccid !== undefined, `an eSIM is delivered: ${JSON.stringify(outcome)}`);
  return iccid;
}

async function all<T>(walk: CatalogueWalk<T>): Promise<{ items: T[]; requests: number }> {
  const items: T[] = [];
  let requests = 0;
  while (!walk.done) {
    const step = await walk.read(keyed);
    requests += 1;
    assert(step.kind === 'page', JSON.stringify(step));
    items.push(...step.items);
  }
  return { items, requests };
}

describe('the client and the sandbox read the same specification', () => {
  it('a gift card order is accepted with all its codes, and found again by reference and by number', async () => {
    const { client } = await start();
    const outcome = await place(client, giftCards('gc-1'));
    expect(outcome).toMatchObject({
      row: 'accepted',
      answer: { reference: 'gc-1', statusClass: 'done', cost: '18.90', currency: 'USD' },
    });
    expect(outcome.answer?.units).toHaveLength(2);
    expect(outcome.answer?.units.every((unit) => unit.code !== undefined)).toBe(true);
    for (const key of ['gc-1', outcome.answer?.orderNumber ?? '']) {
      const found = await client.lookUp({
        ...keyed,
        family: 'gift_card',
        key,
        expectReference: 'gc-1',
      });
      expect(found).toMatchObject({ kind: 'found', answer: { units: outcome.answer?.units } });
    }
  });

  it('an eSIM order is accepted with its activation code, also for a daily plan', async () => {
    const { client } = await start();
    const outcome = await place(
      client,
      esims('es-1', { plan: 'es-daily-1gb', quantity: 3, days: 4 }),
    );
    expect(outcome).toMatchObject({
      row: 'accepted',
      answer: { reference: 'es-1', currency: 'EUR' },
    });
    expect(outcome.answer?.units).toHaveLength(3);
    for (const unit of outcome.answer?.units ?? []) {
      expect(unit).toMatchObject({
        lpa: `LPA:1$${unit.smdp_address}$${unit.matching_id}`,
        status: 'new',
      });
    }
    const missing = await place(client, esims('es-2', { plan: 'es-daily-1gb' }));
    expect(missing).toMatchObject({ row: 'plan_unorderable', http: 422, code: 'invalid_plan' });
  });

  it('an order is found only in its own family, and is absent in the other', async () => {
    const { client } = await start();
    await place(client, giftCards('gc-1'));
    const lookUp = async (family: 'gift_card' | 'esim', key: string): Promise<LookupOutcome> =>
      client.lookUp({ ...keyed, family, key, expectReference: key });
    expect(await lookUp('esim', 'gc-1')).toMatchObject({ kind: 'absent' });
    expect(await lookUp('gift_card', 'gc-2')).toMatchObject({ kind: 'absent' });
    expect(await lookUp('gift_card', '../products')).toMatchObject({ kind: 'absent' });
    expect(
      await client.lookUp({
        keyValue: 'wrong-key',
        family: 'gift_card',
        key: 'gc-1',
        expectReference: null,
      }),
    ).toMatchObject({
      kind: 'failed',
      outcome: { row: 'invalid_key', http: 401 },
    });
  });

  it('a reference buys once: a repeated order gets the same codes', async () => {
    const { sandbox, client } = await start();
    const first = await place(client, giftCards('gc-1'));
    const second = await place(client, giftCards('gc-1'));
    expect(second.answer).toEqual(first.answer);
    expect(sandbox.ledger().orders).toHaveLength(1);
  });

  it('a repeated reference with another content is a mismatch, not a success', async () => {
    const { client } = await start();
    await place(client, giftCards('gc-1'));
    expect(await place(client, giftCards('gc-1', { quantity: 1 }))).toMatchObject({
      row: 'answer_mismatch',
    });
    // A smaller quantity may be what was delivered so far: there are not enough units.
    expect(await place(client, giftCards('gc-1', { quantity: 3 }))).toMatchObject({
      row: 'accepted',
      answer: { units: [{}, {}] },
    });
    expect(await place(client, giftCards('gc-1', { variant: 'steam-usd-20' }))).toMatchObject({
      row: 'answer_mismatch',
    });
    expect(await place(client, esims('gc-1'))).toMatchObject({
      row: 'reference_in_use',
      http: 409,
    });
  });

  it('an eSIM is topped up with a plan of its list, and the top-up is found as an eSIM order', async () => {
    const { client, sandbox } = await start();
    const iccid = await esimOf(client);
    const headers = { authorization: `Bearer ${keyed.keyValue}` };
    const answer = await fetch(`${sandbox.url}/esim/esims/${iccid}/topups`, { headers });
    const plans = z.object({
      topups: z.array(z.object({ plan: z.string(), min_days: z.int().nullish() })),
    });
    const [plan] = plans.parse(await answer.json()).topups;
    assert(plan !== undefined, 'the eSIM has top-up plans');
    const topup = purchaseWith('esim_topup', 'top-1', {
      plan: plan.plan,
      iccid,
      currency: 'USD',
      days: plan.min_days ?? null,
    });
    expect(await place(client, topup)).toMatchObject({
      row: 'accepted',
      answer: { reference: 'top-1' },
    });
    const found = await client.lookUp({
      ...keyed,
      family: 'esim',
      key: 'top-1',
      expectReference: 'top-1',
    });
    expect(found.kind).toBe('found');
    const refused = { ...topup, reference: 'top-2', plan: 'fr-5gb-30d' };
    expect(await place(client, refused)).toMatchObject({ row: 'topup_not_allowed', http: 422 });
    const unknown = { ...topup, reference: 'top-3', iccid: '8900000000000000007' };
    expect(await place(client, unknown)).toMatchObject({ row: 'not_found', http: 404 });
  });

  it('an eSIM is cancelled once, without a reference, and its order is refunded afterwards', async () => {
    const { client } = await start();
    const iccid = await esimOf(client, 'esim-1');
    const cancel = purchaseWith('esim_cancel', 'never-sent', { iccid });
    expect(client.render(cancel).body).toBe('{}');
    expect(await place(client, cancel)).toMatchObject({
      row: 'accepted',
      answer: { statusClass: 'refunded' },
    });
    expect(await place(client, cancel)).toMatchObject({ row: 'not_cancellable', http: 409 });
    const origin = await client.lookUp({
      ...keyed,
      family: 'esim',
      key: 'esim-1',
      expectReference: 'esim-1',
    });
    expect(origin).toMatchObject({
      kind: 'found',
      answer: { statusClass: 'refunded', units: [{ iccid, status: 'cancelled' }] },
    });
  });

  it.each([
    ['test-refunded', { row: 'accepted', answer: { statusClass: 'refunded' } }],
    ['test-delayed', { row: 'accepted', answer: { statusClass: 'pending', units: [] } }],
    ['test-refused', { row: 'order_refused', http: 422 }],
    ['test-website-only', { row: 'not_api_sellable', http: 422 }],
    ['no-such-variant', { row: 'invalid_variant', http: 404 }],
  ])(
    'the test product %s has the outcome that its documentation says',
    async (variant, expected) => {
      const { client } = await start();
      expect(await place(client, giftCards('gc-1', { variant }))).toMatchObject(expected);
    },
  );

  it('a product that is sold on the website only is refused with the address of the website', async () => {
    const { url } = await startSandbox({});
    const shopUrl = 'https://shop.example.com';
    const client = clientOf(url, { shopUrl });
    onTestFinished(async () => client.close());
    const refused = await place(client, giftCards('gc-1', { variant: 'test-website-only' }));
    expect(refused.message).toContain(`(${shopUrl})`);
    const unknown = await place(client, giftCards('gc-2', { variant: 'no-such-variant' }));
    expect(unknown.message).not.toContain(shopUrl);
  });

  it('rejections because of the account and because of the balance are different outcomes', async () => {
    const { client } = await start({
      accounts: [
        { id: 'acme', balances: { USD: '1.00' }, keys: [{ name: 'main', value: mainKey }] },
        { id: 'gone', blocked: true, keys: [{ name: 'gone', value: 'sandbox-key-gone' }] },
        {
          id: 'far',
          keys: [{ name: 'far', value: 'sandbox-key-far', allow_list: ['192.0.2.1'] }],
        },
      ],
    });
    const order = giftCards('gc-1');
    expect(await place(client, order)).toMatchObject({ row: 'insufficient_balance', http: 402 });
    expect(await place(client, giftCards('gc-2', { currency: 'GBP' }))).toMatchObject({
      row: 'currency_unavailable',
    });
    expect(await place(client, order, { keyValue: 'sandbox-key-gone' })).toMatchObject({
      row: 'account_not_allowed',
    });
    for (const question of ['lookup', 'products'] as const) {
      const far = { question, keyValue: 'sandbox-key-far' };
      expect(await client.probe(far)).toMatchObject({
        verdict: 'closed',
        outcome: { row: 'ip_not_allowed', http: 403 },
      });
    }
    expect(await client.probe({ question: 'products', ...keyed })).toMatchObject({
      verdict: 'open',
      outcome: { row: 'accepted', answer: null },
    });
    expect(await client.probe({ question: 'lookup', ...keyed })).toMatchObject({
      verdict: 'open',
      outcome: { row: 'not_found', http: 404 },
    });
  });

  it('a call over the limit is rate-limited, with the time to wait', async () => {
    const { client } = await start({ limits: { enabled: true, requests: 1 } });
    const probe = { question: 'products', ...keyed } as const;
    expect(await client.probe(probe)).toMatchObject({ verdict: 'open' });
    expect(await client.probe(probe)).toMatchObject({
      verdict: 'cannot_tell',
      outcome: { row: 'rate_limited', http: 429, retryAfterMs: expect.any(Number) },
    });
  });

  it('every call during maintenance ends as api_disabled', async () => {
    const { client } = await start({ maintenance: true });
    expect(await client.probe({ question: 'lookup', ...keyed })).toMatchObject({
      verdict: 'closed',
      outcome: { row: 'api_disabled', http: 503 },
    });
    expect(await place(client, giftCards('gc-1'))).toMatchObject({
      row: 'api_disabled',
      http: 503,
    });
  });

  it('the whole catalogue is read: products, destinations and plans', async () => {
    const { client } = await start();
    const products = await all(client.products());
    expect(products.requests).toBe(1);
    expect(products.items.find((product) => product.variant === 'steam-usd-100')).toMatchObject({
      currencies: ['USD', 'EUR'],
      maxQuantity: 10,
      sellable: true,
    });
    expect(
      products.items.find((product) => product.variant === 'test-website-only')?.sellable,
    ).toBe(false);
    const destinations = await all(client.destinations());
    expect(destinations.items).toContainEqual({ destination: 'spain' });
    const plans = await all(client.plans('spain'));
    expect(plans.items.find((plan) => plan.plan === 'es-daily-unlimited')).toMatchObject({
      daily: true,
      minDays: 3,
      maxDays: 15,
      currencies: ['USD', 'EUR'],
    });
    const nowhere = client.plans('atlantis');
    expect(await nowhere.read(keyed)).toMatchObject({
      kind: 'failed',
      outcome: { row: 'not_found', http: 404 },
    });
    expect(nowhere.done, 'a failed page may be read again').toBe(false);
  });

  it('a catalogue in pages is read whole with a mapping for pages, and is called incomplete without', async () => {
    const whole = await start();
    const expected = await all(whole.client.products());
    for (const mode of ['page', 'next'] as const) {
      const { client } = await start(
        { products_per_page: 40 },
        { catalogue: { paging: { mode } } },
      );
      const paged = await all(client.products());
      expect(paged.items.map((product) => product.variant)).toEqual(
        expected.items.map((product) => product.variant),
      );
      expect(paged.requests).toBe(Math.ceil(expected.items.length / 40));
    }
    const { client } = await start({ products_per_page: 40 });
    const walk = client.products();
    await all(walk);
    expect(walk.incomplete).toMatch(/paging/);
  });
});
