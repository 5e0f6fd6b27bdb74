import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it } from 'vitest';
import type { RecheckRule } from '../../../src/store/entries/rechecks.ts';
import type { OpenAttempt } from '../../../src/buying/queue/claim-sql.ts';
import type { RestSettings } from '../../../src/storefronts/shop/shop-settings.ts';
import { explain } from '../../../src/buying/queue/explain-queue.ts';
import {
  close,
  closeConfirmed,
  emptyBalance,
  line,
  nothing,
  rechecking,
} from '../../support/outbox.ts';
import { hour } from '../shop-settings.ts';
import { MovedClock } from './moved-clock.ts';
import {
  minutesAgo,
  numbersAsText,
  oneRefunded,
  readBackOf,
  shopifyBody,
  wooBody,
} from './running-read-back.ts';
import { send, StubShopify, type StubShop, StubWooCommerce } from './stub-shop.ts';

type PlatformName = 'woocommerce' | 'shopify';
const platforms: readonly PlatformName[] = ['woocommerce', 'shopify'];

const takenIn = 'storefront order taken in';
const waits = 'an order is not bought yet, because it could not be read again from the shop';

const bodyOf = (
  platform: PlatformName,
  changes: Record<string, unknown> = {},
): Record<string, unknown> =>
  platform === 'woocommerce' ? wooBody('315', changes) : shopifyBody('315', changes);

const lineOf = (id: string, quantity = 2) => ({
  id,
  sku: 'STEAM-20',
  quantity,
  meta_data: [],
  properties: [],
});

/** Which calls asked for one order. */
const readOnes = (stub: StubShop): string[] =>
  stub.asked().filter((call) => /\/orders\/\d+$|[?&]ids=/.test(call));

/** A shop whose only order was taken in two hours ago by the shop's list, and has waited since. */
async function waitingShop(
  platform: PlatformName,
  options: { rest?: Partial<RestSettings>; body?: object } = {},
) {
  const woocommerce = new StubWooCommerce();
  const shopify = new StubShopify();
  const stub = await (platform === 'woocommerce' ? woocommerce : shopify).open();
  const clock = new MovedClock();
  const order = stub.put({
    id: '727',
    modifiedMs: minutesAgo(5),
    body: bodyOf(platform, { ...options.body }),
  });
  const shop = await readBackOf(platform, stub, { clock, rest: { ...options.rest } });
  await shop.readBack.start();
  await shop.run();
  clock.aheadMs = 2 * hour;
  const steps = stepsOf(shop.outbox.store);
  const rule = ruleFor(shop.readBack);
  return {
    ...shop,
    stub,
    shopify,
    /** The order as the shop shows it. */
    shown: () => (platform === 'woocommerce' ? woocommerce : shopify).shown(order),
    clock,
    order,
    /** The shop changes the order, and sends no webhook. */
    change: (changes: Record<string, unknown>): void => {
      order.modifiedMs = minutesAgo(2);
      order.body = { ...order.body, ...changes };
    },
    claim: async (rechecks: RecheckRule | null = rule): Promise<OpenAttempt | null> =>
      await steps.openAttempt(
        shop.outbox.claim({
          nowMs: clock.wallMs(),
          ...(rechecks === null ? {} : rechecking(rechecks)),
        }),
      ),
  };
}

const ruleFor = (readBack: Pick<RecheckRule, 'onDelayed'>): RecheckRule => ({
  maxAgeMs: (source) => (source === 'main' ? hour : null),
  onDelayed: (source) => readBack.onDelayed(source),
});

const referenceIn = ({ outbox }: Awaited<ReturnType<typeof waitingShop>>): string =>
  outbox.store.read.showOrder('main', '727')?.entries[0]?.reference ?? '';

describe.each(platforms)(
  'an order of %s that has waited longer than its state may be old',
  (platform) => {
    it('is read once for all of its lines, and bought when nothing has changed', async () => {
      const line_items = [lineOf('315'), lineOf('316')];
      const { claim, logged, stub, flagged } = await waitingShop(platform, {
        body: { line_items },
      });
      expect(await claim()).toBeNull();
      await logged(takenIn, 2);
      expect((await claim())?.purpose).toBe('submit');
      expect((await claim())?.purpose).toBe('submit');
      expect(await claim()).toBeNull();
      expect([readOnes(stub).length, flagged()]).toEqual([1, []]);
    });

    it('is not bought when it was cancelled meanwhile', async () => {
      const { claim, logged, change, bought } = await waitingShop(platform);
      change(
        platform === 'woocommerce'
          ? { status: 'cancelled' }
          : { cancelled_at: new Date().toISOString() },
      );
      expect(await claim()).toBeNull();
      await logged(takenIn, 2);
      expect(await claim()).toBeNull();
      expect(bought()).toEqual([expect.stringMatching(/cancelled$/)]);
    });

    it('is held when it is not paid any more, and released when it is paid again', async () => {
      const { claim, logged, change, bought, run, order } = await waitingShop(platform);
      change(platform === 'woocommerce' ? { status: 'on-hold' } : { financial_status: 'pending' });
      expect(await claim()).toBeNull();
      await logged(takenIn, 2);
      expect(bought()).toEqual([expect.stringMatching(/held$/)]);
      order.body = bodyOf(platform);
      order.modifiedMs = minutesAgo(1);
      await run();
      expect((await claim())?.purpose).toBe('submit');
    });

    it('is bought in what is left of it after a refund', async () => {
      const { claim, logged, order } = await waitingShop(platform, {
        body: { line_items: [lineOf('315')] },
      });
      order.modifiedMs = minutesAgo(2);
      order.refunds =
        platform === 'woocommerce'
          ? oneRefunded('315')
          : [{ id: '9', refund_line_items: [{ line_item_id: '315', quantity: 1 }] }];
      expect(await claim()).toBeNull();
      await logged(takenIn, 2);
      expect((await claim())?.entry.quantity).toBe(1);
    });

    it('waits while the shop does not answer, lets others pass, says why, and is bought when the shop is back', async () => {
      const shop = await waitingShop(platform);
      const { claim, logged, stub, clock, outbox, readBack } = shop;
      stub.misbehave = (_, response) => send(response, 500, '');
      expect(await claim()).toBeNull();
      await logged(waits);
      await outbox.accept([line({ source: 'other' })], null, clock.wallMs());
      expect((await claim())?.entry.variant).toBe('steam-10');
      expect(await claim()).toBeNull();
      const explained = explain(
        {
          read: outbox.store.read,
          nowMs: clock.wallMs(),
          maxUnknownOutcomes: 8,
          minFreeBytes: 0,
          worker: null,
        },
        referenceIn(shop),
      );
      expect(explained).toMatchObject({
        kind: 'queued_entry',
        explanation: {
          reasons: [
            expect.stringMatching(/read again from the shop .* failed: GET .*: 500/),
            expect.any(String),
          ],
        },
      });
      const [entry] = outbox.store.read.showOrder('main', '727')?.entries ?? [];
      expect([entry?.state, entry?.nextAttemptAt, entry?.awaitsRecheck?.problem]).toEqual([
        'pending',
        null,
        expect.stringContaining('500'),
      ]);
      stub.misbehave = () => false;
      outbox.store.outbox.database.exec('UPDATE storefront_orders SET recheck_steady = 0');
      readBack.onDelayed('main');
      await logged(takenIn, 2);
      expect((await claim())?.entry.variant).toBe('steam-usd-20');
      expect(outbox.store.read.showOrder('main', '727')?.entries[0]?.awaitsRecheck).toBeNull();
    });

    it('is read after a restart, when the worker stopped before the shop answered', async () => {
      const first = await waitingShop(platform);
      const { stub, outbox, clock, readBack } = first;
      stub.misbehave = () => true;
      const before = stub.calls.length;
      expect(await first.claim()).toBeNull();
      await stub.asks(before + 1);
      await readBack.stop();
      stub.misbehave = ({ url }, response) =>
        platform === 'woocommerce' && url.pathname.endsWith('/orders')
          ? send(response, 500, '')
          : false;
      // The next worker finds it on disk; the rule of the claim still forbids to buy it unread.
      expect(await first.claim()).toBeNull();
      const next = await readBackOf(platform, stub, { clock, outbox });
      await next.readBack.start();
      await next.logged(takenIn);
      expect((await first.claim())?.purpose).toBe('submit');
    });

    it('waits, and cancels nothing, while the shop answers with something else', async () => {
      const { claim, logged, stub, bought } = await waitingShop(platform);
      stub.misbehave = (_, response) =>
        send(response, 404, { code: 'rest_no_route', message: 'No route', errors: 'Not Found' });
      expect(await claim()).toBeNull();
      await logged(waits);
      expect([await claim(), bought()]).toEqual([null, [expect.stringMatching(/pending$/)]]);
    });

    it('waits when the shop answers with another order', async () => {
      const { claim, logged, stub, bought, shown } = await waitingShop(platform);
      stub.misbehave = (_, response) => {
        const other = { ...shown(), id: 728 };
        return send(response, 200, platform === 'woocommerce' ? other : { orders: [other] });
      };
      expect(await claim()).toBeNull();
      await logged(waits);
      expect([await claim(), bought()]).toEqual([null, [expect.stringMatching(/pending$/)]]);
    });

    it('is held when it cannot be read any more, and bought when it was corrected', async () => {
      const { claim, logged, change, bought, flagged, run, order } = await waitingShop(platform);
      change(
        platform === 'woocommerce'
          ? { status: { name: 'processing' } }
          : { financial_status: { name: 'paid' } },
      );
      expect(await claim()).toBeNull();
      await logged('an order of the shop cannot be read and was not bought: review it in the shop');
      await logged(waits);
      expect([bought(), flagged()]).toEqual([
        [expect.stringMatching(/held$/)],
        ['727/315 held', '727/null awaits_recheck', '727/null unreadable_order'],
      ]);
      order.body = bodyOf(platform);
      order.modifiedMs = minutesAgo(1);
      await run();
      expect((await claim())?.purpose).toBe('submit');
    });

    it('waits when the shop shows an older state than the known state', async () => {
      const { claim, logged, order, outbox } = await waitingShop(platform);
      order.modifiedMs = minutesAgo(30);
      expect(await claim()).toBeNull();
      await logged(waits);
      expect(await claim()).toBeNull();
      const [entry] = outbox.store.read.showOrder('main', '727')?.entries ?? [];
      expect(entry?.awaitsRecheck?.problem).toContain('an older state');
    });
  },
);

describe('an order that the shop has no more when it is read again', () => {
  it('is cancelled, as by its webhook', async () => {
    const { claim, logged, stub, bought } = await waitingShop('woocommerce');
    stub.orders.length = 0;
    expect(await claim()).toBeNull();
    await logged(takenIn, 2);
    expect([await claim(), bought()]).toEqual([null, [expect.stringMatching(/cancelled$/)]]);
  });

  it('is cancelled when it was moved to the trash', async () => {
    const { claim, logged, change, bought } = await waitingShop('woocommerce');
    change({ status: 'trash' });
    expect(await claim()).toBeNull();
    await logged(takenIn, 2);
    expect(bought()).toEqual([expect.stringMatching(/cancelled$/)]);
  });

  it('is cancelled in Shopify only when the app would see it however old it is', async () => {
    const { claim, logged, shopify, bought, outbox, readBack } = await waitingShop('shopify');
    shopify.orders.length = 0;
    expect(await claim()).toBeNull();
    await logged(waits);
    expect(bought()).toEqual([expect.stringMatching(/pending$/)]);
    shopify.scopes = ['read_orders', 'read_all_orders'];
    outbox.store.outbox.database.exec('UPDATE storefront_orders SET recheck_steady = 0');
    readBack.onDelayed('main');
    await logged(takenIn, 2);
    expect(bought()).toEqual([expect.stringMatching(/cancelled$/)]);
  });
});

describe('the state of an order', () => {
  it('is current when the shop shows it in its list, and not when an old webhook is delivered again', async () => {
    const { claim, run, clock, handler, shown } = await waitingShop('woocommerce');
    const document = numbersAsText(shown());
    await handler.take({
      document,
      isTest: false,
      topic: null,
      isListed: false,
      refunds: 'not_read',
    });
    const stopped: RecheckRule = { maxAgeMs: () => hour, onDelayed: () => undefined };
    expect(await claim(stopped)).toBeNull();
    await run();
    expect((await claim(stopped))?.purpose).toBe('submit');
    expect(clock.aheadMs).toBe(2 * hour);
  });

  it('is current when a webhook brings a new change, also while the shop cannot be read', async () => {
    const { claim, clock, handler, order, shown, stub } = await waitingShop('woocommerce');
    stub.misbehave = () => true;
    expect(await claim()).toBeNull();
    order.modifiedMs = Math.floor(clock.wallMs() / 1000) * 1000;
    const document = numbersAsText(shown());
    await handler.take({
      document,
      isTest: false,
      topic: null,
      isListed: false,
      refunds: 'not_read',
    });
    expect((await claim())?.purpose).toBe('submit');
  });

  it('is not current when the clock was set back since it was read', async () => {
    const { claim, clock, logged } = await waitingShop('woocommerce');
    clock.aheadMs = -2 * hour;
    expect(await claim()).toBeNull();
    await logged(takenIn, 2);
    expect((await claim())?.purpose).toBe('submit');
  });

  it('does not matter where nothing is read again, for what is settled, and for what an operator released', async () => {
    const none = await waitingShop('woocommerce');
    const steps = stepsOf(none.outbox.store);
    const attempt = await none.claim({ maxAgeMs: () => null, onDelayed: () => undefined });
    if (attempt === null) throw new Error('it is due');
    // Its outcome is unknown: it is settled, not bought.
    const nowMs = none.clock.wallMs();
    const sendAgain = {
      ...nothing,
      nextStep: 'send',
      inFlightWindowEndMs: null,
      inFlightWindowMs: null,
    } as const;
    await steps.closeAttempt(close(attempt, { ...sendAgain, dueAtMs: nowMs }, { nowMs }));
    expect((await none.claim())?.entry.outcomeUnknown).toBe(true);

    const held = await waitingShop('woocommerce');
    held.change({ status: 'on-hold' });
    await held.run();
    held.clock.aheadMs += 2 * hour;
    await held.outbox.store.operator.actOnEntry({
      reference: referenceIn(held),
      order: { action: 'release' },
      actor: 'test',
      reason: 'for the test',
      nowMs: held.clock.wallMs(),
      steadyMs: 1000,
      referenceExpiryMs: 86_400_000,
      lookupFamilies: ['gift_card', 'esim'],
    });
    expect((await held.claim())?.purpose).toBe('submit');
    expect(readOnes(held.stub)).toEqual([]);
  });

  it('does not matter for what a lost outbox may have sent, and for the cancel of an eSIM', async () => {
    const lost = await waitingShop('woocommerce');
    const nowMs = lost.clock.wallMs();
    await lost.outbox.store.operator.beginAfterLoss({
      actor: 'test',
      reason: 'for the test',
      nowMs,
      untilMs: nowMs + 1,
    });
    // It is looked up first; only then it is sent.
    expect(await lost.claim()).toBeNull();
    expect(lost.outbox.rows('SELECT state, next_step FROM entries')).toEqual([
      { state: 'unknown', next_step: 'lookup' },
    ]);

    const { claim, outbox, clock } = await waitingShop('woocommerce');
    const product = { variant: null, quantity: null, currency: null, iccid: '8901260852290847431' };
    const cancel = line({
      source: 'main',
      orderId: '727',
      lineId: '2',
      operation: 'esim_cancel',
      ...product,
    });
    await outbox.accept([cancel], null, clock.wallMs());
    expect((await claim())?.entry.operation).toBe('esim_cancel');
  });

  it('counts again when a line that was refused is tried again much later', async () => {
    const { claim, logged, clock, outbox, change, bought } = await waitingShop('woocommerce');
    const attempt = await claim(null);
    if (attempt === null) throw new Error('it is due');
    const nowMs = clock.wallMs();
    await closeConfirmed(outbox, attempt, { ...emptyBalance, dueAtMs: nowMs }, nowMs);
    change({ status: 'cancelled' });
    expect(await claim()).toBeNull();
    await logged(takenIn, 2);
    expect(bought()).toEqual([expect.stringMatching(/cancelled$/)]);
  });
});

describe('lines that wait for their order to be read again', () => {
  it('expire at their deadline', async () => {
    const { claim, outbox, stub, clock, bought } = await waitingShop('woocommerce', {
      body: { line_items: [{ ...lineOf('315'), sku: 'STEAM-50' }] },
    });
    stub.misbehave = () => true;
    expect(await claim()).toBeNull();
    clock.aheadMs += hour;
    expect(await stepsOf(outbox.store).expireOverdue(clock.wallMs(), 8)).toBe(1);
    expect(bought()).toEqual([expect.stringMatching(/expired$/)]);
  });

  it('are bought without it when the shop is not read back any more', async () => {
    const { claim, shop, stub, readBack } = await waitingShop('woocommerce');
    stub.misbehave = () => true;
    expect(await claim()).toBeNull();
    readBack.prepare([{ ...shop, rest: null }])();
    expect(await claim({ maxAgeMs: () => null, onDelayed: () => undefined })).toBeNull();
    await readBack.flagStranded();
    expect((await claim({ maxAgeMs: () => null, onDelayed: () => undefined }))?.purpose).toBe(
      'submit',
    );
  });

  it('are asked again when nobody has read their order, and go back to their place when it was read', async () => {
    const { claim, clock, outbox } = await waitingShop('woocommerce');
    const { storefronts } = outbox.store;
    const silent: RecheckRule = { maxAgeMs: () => hour, onDelayed: () => undefined };
    const dueAt = () => stepsOf(outbox.store).nextDueAt('send', clock.wallMs());
    expect(await claim(silent)).toBeNull();
    expect((await dueAt()) ?? 0).toBeGreaterThan(clock.wallMs());
    clock.aheadMs += 700_000;
    expect(await claim(silent)).toBeNull();
    expect((await dueAt()) ?? 0).toBeGreaterThan(clock.wallMs());
    expect(await storefronts.endRechecksOfOthers([])).toBe(1);
    expect(await dueAt()).toBeLessThanOrEqual(clock.wallMs());
    // Its place: before a line that came in after it, and before it was read.
    await outbox.accept(
      [line({ source: 'main', variant: 'steam-usd-20', lineId: '9' })],
      null,
      clock.wallMs() - 1000,
    );
    expect((await claim(null))?.entry.quantity).toBe(2);
  });

  it('do not make one claim long, however many there are', async () => {
    const stub = await new StubWooCommerce().open();
    const clock = new MovedClock();
    for (let id = 1; id <= 60; id += 1) {
      stub.put({ id: String(id), modifiedMs: minutesAgo(5), body: wooBody(`${id}1`) });
    }
    const { run, outbox } = await readBackOf('woocommerce', stub, { clock });
    await run();
    clock.aheadMs = 2 * hour;
    let delayed = 0;
    const rechecks: RecheckRule = { maxAgeMs: () => hour, onDelayed: () => void (delayed += 1) };
    const claim = () =>
      stepsOf(outbox.store).openAttempt(
        outbox.claim({ nowMs: clock.wallMs(), ...rechecking(rechecks) }),
      );
    for (const so of [25, 50, 60, 60]) expect([await claim(), delayed]).toEqual([null, so]);
    const ask = { source: 'main', steadyMs: clock.steadyMs(), limit: 50 };
    expect(await outbox.store.storefronts.dueRechecks(ask)).toHaveLength(50);
  });
});

describe('a shop that cannot be read for its waiting orders', () => {
  it('is not asked for each of them, makes the health check warn, and is read by itself when it is back', async () => {
    const stub = await new StubWooCommerce().open();
    const clock = new MovedClock();
    for (let id = 1; id <= 8; id += 1) {
      stub.put({ id: String(id), modifiedMs: minutesAgo(5), body: wooBody(`${id}1`) });
    }
    const { run, outbox, readBack, logged } = await readBackOf('woocommerce', stub, { clock });
    await readBack.start();
    await run();
    clock.aheadMs = 2 * hour;
    stub.misbehave = (_, response) => send(response, 502, '');
    const claim = () =>
      stepsOf(outbox.store).openAttempt(
        outbox.claim({ nowMs: clock.wallMs(), ...rechecking(ruleFor(readBack)) }),
      );
    expect(await claim()).toBeNull();
    await logged('orders that must be read again from the shop cannot be read');
    // Calls take turns: another one for an order would come before the end of these.
    await run();
    await run();
    expect([readOnes(stub).length, readBack.health()]).toEqual([3, 'warn']);
    stub.misbehave = () => false;
    // By its own back-off of five seconds; the three that failed wait longer.
    await logged(takenIn, 8 + 5);
    expect(readBack.health()).toBe('pass');
    for (let bought = 0; bought < 5; bought += 1) expect((await claim())?.purpose).toBe('submit');
  });

  it('is not asked for an order that no line waits for any more', async () => {
    const { claim, outbox, clock, stub, bought } = await waitingShop('woocommerce');
    const silent: RecheckRule = { maxAgeMs: () => hour, onDelayed: () => undefined };
    expect(await claim(silent)).toBeNull();
    await outbox.store.storefronts.takeOrder({
      source: 'main',
      orderId: '727',
      modifiedMs: minutesAgo(0),
      state: 'closed',
      status: 'cancelled',
      refundCount: 0,
      refundUnclear: false,
      onRefund: 'review',
      actor: 'test',
      nowMs: clock.wallMs(),
      lines: [],
      unreadable: [],
    });
    const ask = { source: 'main', steadyMs: clock.steadyMs(), limit: 50 };
    expect(await outbox.store.storefronts.dueRechecks(ask)).toEqual([]);
    expect(await outbox.store.storefronts.nextRecheckAt('main')).toBeNull();
    expect([bought(), readOnes(stub)]).toEqual([[expect.stringMatching(/cancelled$/)], []]);
  });
});
