import { stepsOf } from '../support/steps.ts';
import { describe, expect, it } from 'vitest';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import {
  answer as delivered,
  close,
  closeConfirmed,
  emptyBalance,
  fulfilled,
  nothing,
} from '../support/outbox.ts';
import {
  actOn,
  type OpenShops,
  openShops,
  type Shops,
  shopifyOrder,
  startShops,
  wooOrder,
  writeLongAgo,
} from './storefront-shops.ts';

const iccid = '8999901000000000013';
const modes = ['review', 'cancel_esim', 'ignore'] as const;
type Mode = (typeof modes)[number];

/** An order with a gift card (line 11) and an eSIM (line 12), as each platform sends it. */
const platforms = {
  woocommerce: {
    source: 'woo',
    deliver: (shops: OpenShops, body: Record<string, unknown>) => shops.woo(body),
    order: (changes: Record<string, unknown> = {}, minute = 0) =>
      wooOrder({ line_items: items({ 11: 2, 12: 1 }), ...changes }, minute),
    refunded: { status: 'refunded' },
    cancelled: { status: 'cancelled' },
  },
  shopify: {
    source: 'shopify',
    deliver: (shops: OpenShops, body: Record<string, unknown>) => shops.shopify(body),
    order: (changes: Record<string, unknown> = {}, minute = 0) =>
      shopifyOrder({ line_items: items({ 11: 2, 12: 1 }), ...changes }, minute),
    refunded: { financial_status: 'refunded' },
    cancelled: { cancelled_at: '2026-11-21T12:00:00Z' },
  },
} as const;
type Platform = (typeof platforms)[keyof typeof platforms];
const both = Object.values(platforms);

function items(quantities: Record<number, number>): object[] {
  return Object.entries(quantities).map(([id, quantity]) => ({
    id: Number(id),
    sku: id === '11' ? 'STEAM-20' : 'FR-7D',
    quantity,
    properties: [],
    meta_data: [],
  }));
}

const start = (onRefund: Mode): Promise<OpenShops> =>
  openShops({ woo: { onRefund }, shopify: { onRefund } });

/** Delivers the gift card and the eSIM. */
async function deliverBoth({ outbox }: OpenShops): Promise<void> {
  const card = await outbox.opened({ nowMs: Date.now() });
  await stepsOf(outbox.store).closeAttempt(close(card, fulfilled));
  const esim = await outbox.opened({ nowMs: Date.now() });
  await stepsOf(outbox.store).closeAttempt(
    close(esim, { ...fulfilled, answer: { ...delivered, units: [{ iccid }] } }),
  );
}

const cases = (platform: Platform) =>
  modes.flatMap((mode) => [
    [platform.source, mode, 'refunded', platform] as const,
    [platform.source, mode, 'cancelled', platform] as const,
  ]);

describe.each(both.flatMap(cases))(
  'an order of %s, with on_refund %s, that is %s',
  (_, mode, end, platform) => {
    const { deliver, order } = platform;
    const closed = platform[end];

    it('is not bought when that was its first state', async () => {
      const shops = await start(mode);
      await deliver(shops, order(closed));
      expect([shops.bought(), shops.flagged()]).toEqual([[], []]);
    });

    it('is taken back when it was not sent yet, unless refunds are ignored', async () => {
      const shops = await start(mode);
      await deliver(shops, order());
      await deliver(shops, order(closed, 1));
      await deliver(shops, order(closed, 2));
      const state = mode === 'ignore' ? 'pending' : 'cancelled';
      const expected = [`11 2 x steam-usd-20 ${state}`, `12 1 x fr-daily-1gb for 7 days ${state}`];
      expect([shops.bought(), shops.flagged()]).toEqual([expected, []]);
    });

    it('is flagged, cancelled or ignored once, as configured, when it was delivered', async () => {
      const shops = await start(mode);
      await deliver(shops, order());
      await deliverBoth(shops);
      await deliver(shops, order(closed, 1));
      await deliver(shops, order(closed, 2));
      const told = {
        review: ['11 refunded_in_storefront', '12 refunded_in_storefront'],
        cancel_esim: ['11 refunded_in_storefront'],
        ignore: [],
      };
      expect(shops.flagged()).toEqual(told[mode]);
      const cancels = shops.bought().filter((text) => text.startsWith(`12:cancel:${iccid}`));
      expect(cancels).toHaveLength(mode === 'cancel_esim' ? 1 : 0);
    });

    it('is flagged, not cancelled, while its eSIM is in flight, because its ICCID is not known yet', async () => {
      const shops = await start(mode);
      await deliver(shops, order({ line_items: items({ 12: 1 }) }));
      await shops.outbox.opened({ nowMs: Date.now() });
      await deliver(shops, order({ line_items: items({ 12: 1 }), ...closed }, 1));
      expect(shops.flagged()).toEqual(mode === 'ignore' ? [] : ['12 refunded_in_storefront']);
      expect(shops.bought()).toEqual(['12 1 x fr-daily-1gb for 7 days sending']);
    });
  },
);

describe.each(
  both.flatMap((platform) => modes.map((mode) => [platform.source, mode, platform] as const)),
)('an edited order of %s, with on_refund %s,', (_, mode, { deliver, order }) => {
  it('buys an added line and a quantity that was raised before it was sent, and holds a line whose SKU was changed', async () => {
    const shops = await start(mode);
    await deliver(shops, order({ line_items: items({ 11: 2 }) }));
    await deliver(shops, order({ line_items: items({ 11: 3, 12: 1 }) }, 1));
    const other = [{ ...items({ 11: 3 })[0], sku: 'STEAM-3PACK' }, ...items({ 12: 1 })];
    await deliver(shops, order({ line_items: other }, 2));
    await deliver(shops, order({ line_items: other }, 3));
    expect(shops.bought()).toEqual([
      '11 3 x steam-usd-20 held',
      '12 1 x fr-daily-1gb for 7 days pending',
    ]);
    expect(shops.flagged()).toEqual(['11 held']);
    expect(shops.reasons()[0]).toBe(
      '11 the line was ordered as "STEAM-20", and the storefront\'s order now has "STEAM-3PACK" there',
    );
  });

  it('takes back a removed line that was not sent yet, and flags one that was sent, once', async () => {
    const shops = await start(mode);
    await deliver(shops, order());
    await shops.outbox.opened({ nowMs: Date.now() });
    await deliver(shops, order({ line_items: [] }, 1));
    await deliver(shops, order({ line_items: [] }, 2));
    const left = mode === 'ignore' ? 'pending' : 'cancelled';
    expect(shops.bought()).toEqual([
      '11 2 x steam-usd-20 sending',
      `12 1 x fr-daily-1gb for 7 days ${left}`,
    ]);
    expect(shops.flagged()).toEqual(mode === 'ignore' ? [] : ['11 refunded_in_storefront']);
  });

  it('lowers a line that was not sent yet, and flags one that was sent', async () => {
    const shops = await start(mode);
    await deliver(shops, order());
    await deliver(shops, order({ line_items: items({ 11: 1, 12: 1 }) }, 1));
    const lowered = mode === 'ignore' ? 2 : 1;
    expect(shops.bought()[0]).toBe(`11 ${lowered} x steam-usd-20 pending`);
    const sent = await start(mode);
    await deliver(sent, order());
    await sent.outbox.opened({ nowMs: Date.now() });
    await deliver(sent, order({ line_items: items({ 11: 1, 12: 1 }) }, 1));
    expect(sent.bought()[0]).toBe('11 2 x steam-usd-20 sending');
    expect([shops.flagged(), sent.flagged()]).toEqual([
      [],
      mode === 'ignore' ? [] : ['11 refunded_in_storefront'],
    ]);
  });
});

describe.each(modes)(
  'a WooCommerce order with a partial refund that names no line, with on_refund %s,',
  (mode) => {
    const partly = (minute: number) =>
      platforms.woocommerce.order({ refunds: [{ id: 9, total: '-5.00' }] }, minute);

    it('is flagged when it was not bought yet', async () => {
      const shops = await start(mode);
      await shops.woo(partly(0));
      expect([shops.bought(), shops.flagged()]).toEqual([
        [],
        ['11 partially_refunded', '12 partially_refunded'],
      ]);
    });

    it('is flagged when it was bought, and held when it was not sent yet, unless refunds are ignored', async () => {
      const shops = await start(mode);
      await shops.woo(platforms.woocommerce.order());
      await shops.outbox.opened({ nowMs: Date.now() });
      await shops.woo(partly(1));
      await shops.woo(partly(2));
      expect(shops.bought()[1]).toBe(
        `12 1 x fr-daily-1gb for 7 days ${mode === 'ignore' ? 'pending' : 'held'}`,
      );
      const lines = ['11 refunded_in_storefront', '12 held'];
      expect(shops.flagged()).toEqual(mode === 'ignore' ? [] : lines);
    });
  },
);

describe.each(both.map((platform) => [platform.source, platform] as const))(
  'an order of %s that is waiting, unknown or split',
  (_, { deliver, order, refunded }) => {
    it.each(modes)(
      'is taken back when it is refunded while it waits for balance, with on_refund %s',
      async (mode) => {
        const shops = await start(mode);
        await deliver(shops, order({ line_items: items({ 11: 2 }) }));
        const attempt = await shops.outbox.opened({ nowMs: Date.now() });
        await closeConfirmed(shops.outbox, attempt, emptyBalance, Date.now());
        await deliver(shops, order({ line_items: items({ 11: 2 }), ...refunded }, 1));
        const state = mode === 'ignore' ? 'waiting' : 'cancelled';
        expect([shops.bought(), shops.flagged()]).toEqual([[`11 2 x steam-usd-20 ${state}`], []]);
      },
    );

    it('is flagged when its outcome is unknown', async () => {
      const shops = await start('review');
      await deliver(shops, order({ line_items: items({ 11: 2 }) }));
      await stepsOf(shops.outbox.store).closeAttempt(
        close(await shops.outbox.opened({ nowMs: Date.now() - 3_600_000 }), nothing),
      );
      await deliver(shops, order({ line_items: items({ 11: 2 }), ...refunded }, 1));
      expect([shops.bought(), shops.flagged()]).toEqual([
        ['11 2 x steam-usd-20 unknown'],
        ['11 dropped', '11 refunded_in_storefront'],
      ]);
    });

    it('is taken back only in the parts that were not bought yet', async () => {
      const shops = await start('review');
      await deliver(shops, order({ line_items: items({ 11: 3 }) }));
      const part = (number: number) => ({
        generation: 1,
        part: number,
        quantity: 1,
        currency: 'USD',
      });
      const replacements = [part(0), part(1), part(2)];
      const split: Settlement = {
        ...emptyBalance,
        state: 'rejected',
        row: 'limit_exceeded',
        replacements,
      };
      await stepsOf(shops.outbox.store).closeAttempt(
        close(await shops.outbox.opened({ nowMs: Date.now() }), split),
      );
      await stepsOf(shops.outbox.store).closeAttempt(
        close(await shops.outbox.opened({ nowMs: Date.now() }), fulfilled),
      );
      const closed = order({ line_items: items({ 11: 3 }), ...refunded }, 1);
      expect(await deliver(shops, closed)).toMatchObject({ taken: { takenBack: 2, flagged: 1 } });
      expect(await deliver(shops, closed)).toMatchObject({ taken: { takenBack: 0, flagged: 0 } });
      expect(shops.bought().map((text) => text.split(' ').at(-1))).toEqual([
        'rejected',
        'fulfilled',
        'cancelled',
        'cancelled',
      ]);
      expect(shops.flagged()).toEqual(['11 refunded_in_storefront']);
    });

    it('is flagged once and not bought when it was taken back and is paid again', async () => {
      const shops = await start('review');
      await deliver(shops, order({ line_items: items({ 11: 2 }) }));
      await deliver(shops, order({ line_items: items({ 11: 2 }), ...refunded }, 1));
      await deliver(shops, order({ line_items: items({ 11: 2 }) }, 2));
      await deliver(shops, order({ line_items: items({ 11: 2 }) }, 3));
      expect([shops.bought(), shops.flagged()]).toEqual([
        ['11 2 x steam-usd-20 cancelled'],
        ['11 paid_after_taken_back'],
      ]);
    });
  },
);

describe('a WooCommerce order that was taken back', () => {
  it('is flagged when it is paid again with a refund that names no line', async () => {
    const shops = await startShops();
    const line_items = items({ 11: 2 });
    await shops.woo(wooOrder({ line_items }));
    await shops.woo(wooOrder({ line_items, status: 'cancelled' }, 1));
    await shops.woo(wooOrder({ line_items, refunds: [{ id: 9, total: '-5.00' }] }, 2));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['11 2 x steam-usd-20 cancelled'],
      ['11 partially_refunded'],
    ]);
  });
});

describe('a line that was bought, and whose units nobody has', () => {
  it('waits for them no more when the shop refunds it', async () => {
    const shops = await openShops();
    const line_items = items({ 11: 2 });
    await shops.woo(wooOrder({ line_items }));
    const inReview: Settlement = {
      ...nothing,
      state: 'needs_review',
      reviewReason: 'somebody must look',
    };
    await stepsOf(shops.outbox.store).closeAttempt(
      close(await shops.outbox.opened({ nowMs: Date.now() }), inReview),
    );
    await actOn(shops, '11', {
      action: 'resolve',
      as: 'fulfilled',
      orderNumber: 'GC-1',
      note: null,
      units: [],
    });
    expect(shops.flagged()).toEqual(['11 needs_manual_delivery']);
    await shops.woo(wooOrder({ line_items, status: 'refunded' }, 1));
    expect(shops.flagged()).toEqual(['11 refunded_in_storefront']);
  });
});

describe('a line of a WooCommerce shop that is sold by weight', () => {
  const piece = (id: number, sku: string, quantity: number) => ({
    id,
    sku,
    quantity,
    meta_data: [],
  });

  it('is flagged when its SKU is in the map, and delays no other line of the order', async () => {
    const shops = await startShops();
    const line_items = [
      piece(11, 'STEAM-20', 1),
      piece(12, 'CHEESE', 0.25),
      piece(13, 'FR-7D', 1.5),
    ];
    await shops.woo(wooOrder({ line_items }));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['11 1 x steam-usd-20 pending'],
      ['13 unreadable_line'],
    ]);
  });
});

describe('a line that is lowered before it was sent', () => {
  it('is held when its SKU stands for another product now', async () => {
    const shops = await startShops();
    await shops.shopify(shopifyOrder({ line_items: items({ 11: 2 }) }));
    await new Promise((resolve) => void setTimeout(resolve, 1050));
    writeLongAgo(
      shops.skuFile,
      'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-50 } }',
    );
    const { json } = await shops.shopify(shopifyOrder({ line_items: items({ 11: 1 }) }, 1));
    // Nothing of it was taken back: an operator decides.
    expect(json.taken_back).toBe(0);
    const why =
      '11 1 of 2 pieces were refunded or removed in the storefront after the line was ordered';
    expect([shops.bought(), shops.reasons()]).toEqual([['11 2 x steam-usd-20 held'], [why]]);
  });

  it('is held when its request was made already, which never changes', async () => {
    const shops = await startShops();
    await shops.shopify(shopifyOrder({ line_items: items({ 11: 2 }) }));
    const attempt = await shops.outbox.opened({ nowMs: Date.now() });
    const neverLeft = {
      ...nothing,
      state: 'pending',
      nextStep: 'send',
      outcomeUnknown: false,
      counted: false,
    } as const;
    await stepsOf(shops.outbox.store).closeAttempt(close(attempt, neverLeft));
    const { json } = await shops.shopify(shopifyOrder({ line_items: items({ 11: 1 }) }, 1));
    expect([json.taken_back, shops.bought()]).toEqual([0, ['11 2 x steam-usd-20 held']]);
  });

  it('is lowered by an edit of a Shopify order, which has no refund', async () => {
    const shops = await startShops();
    const edited = [{ id: 11, sku: 'STEAM-20', quantity: 3, current_quantity: 1, properties: [] }];
    await shops.shopify(shopifyOrder({ line_items: edited }));
    expect(shops.bought()).toEqual(['11 1 x steam-usd-20 pending']);
    const refunded = [
      { id: 11, sku: 'STEAM-20', quantity: 3, current_quantity: 0, properties: [] },
    ];
    const refunds = [{ id: 1, refund_line_items: [{ line_item_id: 11, quantity: 1 }] }];
    await shops.shopify(shopifyOrder({ line_items: refunded, refunds }, 1));
    expect(shops.bought()).toEqual(['11 1 x steam-usd-20 cancelled']);
  });
});

describe('the shops of both platforms', () => {
  it('keep lines of one SKU apart, accept a rotated secret, and keep references', async () => {
    const shops = await startShops({
      shopify: { secrets: ['an-older-shopify-secret', 'shopify-client-secret-1'] },
    });
    const two = [
      { id: 21, sku: 'STEAM-20', quantity: 1 },
      { id: 22, sku: 'STEAM-20', quantity: 2 },
    ];
    const body = shopifyOrder({ line_items: two, note: 'Grüße \u6ce8\u6587 /' });
    const text = JSON.stringify(body).replaceAll('/', '\\/');
    const deliver = (secret: string) => shops.shopify(text, {}, secret);
    expect((await deliver('an-older-shopify-secret')).json.accepted).toBe(2);
    expect((await deliver('shopify-client-secret-1')).json.known).toBe(2);
    expect((await deliver('a-secret-that-was-never-ours')).status).toBe(401);
    expect(shops.bought()).toEqual(['21 1 x steam-usd-20 pending', '22 2 x steam-usd-20 pending']);
    const again = await startShops();
    await again.shopify(body);
    const referencesOf = ({ outbox }: Shops) =>
      outbox.store.read
        .showOrder('shopify', '5678901234567')
        ?.entries.map(({ reference }) => reference);
    expect(referencesOf(again)).toEqual(referencesOf(shops));
  });

  it('ignore older states of a Shopify order, and hold an order that was placed long ago', async () => {
    const shops = await startShops();
    await shops.shopify(shopifyOrder({ financial_status: 'refunded' }, 10));
    expect((await shops.shopify(shopifyOrder({}, 1))).json.result).toBe('older_than_known');
    const old = { id: 7, processed_at: '2020-01-01T00:00:00Z' };
    await shops.shopify(shopifyOrder(old));
    expect(shops.bought()).toEqual([
      expect.stringMatching(/^11 .* held$/),
      expect.stringMatching(/^12 .* held$/),
    ]);
    expect(shops.reasons()[0]).toContain('but does not say since when');
  });

  it('flag an order that was paid more than a day ahead of our clock', async () => {
    const shops = await startShops();
    const later = new Date(Date.now() + 25 * 3_600_000).toISOString();
    await shops.shopify(
      shopifyOrder({ line_items: items({ 11: 1 }), processed_at: later, created_at: later }),
    );
    await shops.woo(wooOrder({ line_items: items({ 11: 1 }), date_paid_gmt: later.slice(0, 19) }));
    expect([shops.bought(), shops.flagged()]).toEqual([
      [],
      ['11 paid_in_future', '11 paid_in_future'],
    ]);
  });

  it('buy orders in the configured statuses, top up the eSIM that a customer named, and flag a wrong ICCID', async () => {
    const shops = await startShops({ woo: { paidStatuses: ['wc-ready'] } });
    await shops.woo(wooOrder());
    await shops.woo(wooOrder({ id: 728, status: 'wc-ready' }));
    expect(shops.bought()).toHaveLength(1);
    const topup = (id: number, value: unknown) => ({
      id,
      sku: 'TOPUP',
      quantity: 1,
      properties: [{ name: 'ICCID', value }],
    });
    await shops.shopify(
      shopifyOrder({ line_items: [topup(31, ` ${iccid} `), topup(32, '8999'), topup(33, null)] }),
    );
    expect(shops.bought().slice(1)).toEqual([expect.stringMatching(/^31 .* pending$/)]);
    expect(shops.flagged()).toEqual(['32 invalid_line', '33 invalid_line']);
  });

  it('buy a completed WooCommerce order that has a date of payment, without having seen it before', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder({ status: 'completed' }));
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 pending']);
  });
});
