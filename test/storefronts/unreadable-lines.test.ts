import { describe, expect, it } from 'vitest';
import { type Shops, shopifyOrder, startShops, wooOrder } from './storefront-shops.ts';

const card = (id: unknown, quantity: unknown = 1, sku: unknown = 'STEAM-20') => ({
  id,
  sku,
  quantity,
  meta_data: [],
});
const order = (lines: readonly unknown[], minute = 0, changes: Record<string, unknown> = {}) =>
  wooOrder({ line_items: lines, ...changes }, minute);

function resultOf({ outbox }: Shops, source = 'woo', orderId = '727') {
  const found = outbox.store.read.findOrder(source, orderId);
  return outbox.store.read.resultDocument(found?.requestId ?? 0).document;
}

const attentionOf = ({ outbox }: Shops) => outbox.store.read.attention(1000);

describe('a line that cannot be read', () => {
  it('stands in attention and in the result, with field, rule, value and next step, until it is corrected', async () => {
    const shops = await startShops();
    const { woo, bought } = shops;
    const answer = await woo(order([card(315), card(316, -1)]));
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { result: 'paid', accepted: 1, flagged: 1 },
    ]);
    const rule =
      'must be a positive whole number, but is "-1"; nothing was bought for it: correct the line in the shop, and the worker takes it in';
    expect(attentionOf(shops)).toMatchObject([
      {
        kind: 'storefront',
        orderId: '727',
        lineId: '316',
        code: 'unreadable_line',
        message: `line_items[1].quantity: ${rule}`,
      },
    ]);
    expect(resultOf(shops)).toMatchObject({
      state: 'in_progress',
      lines: [
        { line_id: '315', state: 'pending' },
        {
          line_id: '316',
          state: 'rejected',
          error: { code: 'unreadable_line', message: `line_items[1].quantity: ${rule}` },
        },
      ],
    });
    expect((await woo(order([card(315), card(316, -1)], 1))).json).toMatchObject({
      known: 1,
      flagged: 0,
    });
    expect((await woo(order([card(315), card(316, null)], 2))).json).toMatchObject({
      known: 1,
      flagged: 1,
    });
    expect(attentionOf(shops)).toHaveLength(1);
    expect((await woo(order([card(315), card(316, 3)], 3))).json).toMatchObject({
      accepted: 1,
      flagged: 0,
    });
    expect([bought(), attentionOf(shops)]).toEqual([
      ['315 1 x steam-usd-20 pending', '316 3 x steam-usd-20 pending'],
      [],
    ]);
    expect(resultOf(shops).lines).toMatchObject([
      { line_id: '315' },
      { line_id: '316', state: 'pending' },
    ]);
  });

  it('leaves attention and the result when the line left the order, or the order was cancelled', async () => {
    const shops = await startShops();
    await shops.woo(order([card(315), card(316, -1), card(null)]));
    expect(shops.flagged()).toEqual(['316 unreadable_line', 'null unreadable_line']);
    const before = resultOf(shops);
    await shops.woo(order([card(315), card(null)], 1));
    expect(shops.flagged()).toEqual(['null unreadable_line']);
    expect([before.lines.length, resultOf(shops).lines.length]).toEqual([3, 2]);
    await shops.woo(order([card(315), card(null)], 2, { status: 'cancelled' }));
    expect([shops.flagged(), shops.bought()]).toEqual([[], ['315 1 x steam-usd-20 cancelled']]);
  });

  it('that was ordered before is held until it is corrected, and flagged', async () => {
    const shops = await startShops();
    await shops.woo(order([card(315, 2), card(316, 2)]));
    expect((await shops.woo(order([card(315, 2), card(316, -2)], 1))).json).toMatchObject({
      known: 1,
      taken_back: 0,
      flagged: 2,
    });
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 pending', '316 2 x steam-usd-20 held']);
    expect(attentionOf(shops)).toMatchObject([
      {
        lineId: '316',
        code: 'held',
        message: expect.stringContaining('cannot be read in the newest state'),
      },
      {
        lineId: '316',
        message: expect.stringContaining('changes in the shop after the purchase are not applied'),
      },
    ]);
    await shops.woo(order([card(315, 2), card(316, 1)], 2));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['315 2 x steam-usd-20 pending', '316 1 x steam-usd-20 pending'],
      [],
    ]);
  });

  it('that was ordered before is flagged where refunds are ignored, too: it may have become more', async () => {
    const shops = await startShops({ woo: { onRefund: 'ignore' } });
    await shops.woo(order([card(315)]));
    await shops.woo(order([card(315, -1), card(316, -1)], 1));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['315 1 x steam-usd-20 held'],
      ['315 held', '315 unreadable_line', '316 unreadable_line'],
    ]);
  });

  it('is not taken for a removed line when its id cannot be read, and other lines are still removed', async () => {
    const shops = await startShops();
    const esim = card(316, 1, 'FR-7D');
    await shops.woo(order([card(315), esim]));
    await shops.woo(order([card(null)], 1));
    expect(shops.bought()).toEqual([
      '315 1 x steam-usd-20 held',
      '316 1 x fr-daily-1gb for 7 days cancelled',
    ]);
    expect(shops.flagged()).toEqual(['315 held', 'null unreadable_line']);
    // No line can be read: nothing is taken for removed.
    const others = await startShops();
    await others.woo(order([card(315), esim]));
    await others.woo(order([], 1, { line_items: 'Array' }));
    expect(others.bought()).toEqual([
      '315 1 x steam-usd-20 held',
      '316 1 x fr-daily-1gb for 7 days held',
    ]);
    expect(others.flagged()).toEqual(['315 held', '316 held', 'null unreadable_line']);
    // An odd line of another product hides no removal.
    const shirts = await startShops();
    await shirts.woo(order([card(315), esim]));
    await shirts.woo(order([card(315), card(null, -1, 'SHIRT')], 1));
    expect(shirts.bought()).toEqual([
      '315 1 x steam-usd-20 pending',
      '316 1 x fr-daily-1gb for 7 days cancelled',
    ]);
    expect(shirts.flagged()).toEqual([]);
  });

  it('of another product is flagged where the shop wants every unknown SKU reviewed', async () => {
    const shops = await startShops({ woo: { unmatched: 'review' } });
    await shops.woo(order([card(315), card(316, null, 'SHIRT'), card(317, 1, 'SHIRT')]));
    expect(shops.flagged()).toEqual(['316 unreadable_line', '317 unknown_sku']);
  });

  it('that is corrected within the same second is bought, and one that was ordered is not taken for removed', async () => {
    const shops = await startShops();
    await shops.woo(order([card(315, 2)]));
    await shops.woo(order([card(315, 'two'), card(316, 'one')], 1));
    await shops.woo(order([card(315, 2), card(316, 1)], 1));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['315 2 x steam-usd-20 pending', '316 1 x steam-usd-20 pending'],
      [],
    ]);
  });

  it('in an older state changes nothing', async () => {
    const shops = await startShops();
    await shops.woo(order([card(315)], 5));
    expect((await shops.woo(order([card(315, null)], 1))).json).toMatchObject({
      result: 'older_than_known',
      flagged: 0,
    });
    await shops.woo(order([card(316, null)], 6));
    await shops.woo(order([card(316, 1)], 4));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['315 1 x steam-usd-20 cancelled'],
      ['316 unreadable_line'],
    ]);
  });
});

describe('an order that cannot be read', () => {
  it('is flagged once, makes older states stale, and is read again when it is corrected', async () => {
    const shops = await startShops();
    const odd = shopifyOrder({ financial_status: { name: 'paid' } }, 5);
    for (const flagged of [1, 0]) {
      const answer = await shops.shopify(odd);
      expect([answer.status, answer.json]).toEqual([
        200,
        { result: 'unreadable', order_id: '5678901234567', flagged },
      ]);
    }
    expect((await shops.shopify(shopifyOrder({}, 1))).json).toMatchObject({
      result: 'older_than_known',
      accepted: 0,
    });
    expect(resultOf(shops, 'shopify', '5678901234567').lines).toMatchObject([
      { line_id: null, error: { code: 'unreadable_order' } },
    ]);
    expect((await shops.shopify(shopifyOrder({}, 6))).json).toMatchObject({
      result: 'paid',
      accepted: 2,
    });
    expect([shops.flagged(), resultOf(shops, 'shopify', '5678901234567').lines.length]).toEqual([
      [],
      2,
    ]);
    // An older state that cannot be read says nothing about the newest one.
    expect((await shops.shopify({ ...odd, financial_status: 7 })).json).toMatchObject({
      flagged: 0,
    });
    expect(shops.flagged()).toEqual([]);
  });

  it('holds what is unsent until a state can be read, and changes nothing of what was sent', async () => {
    const shops = await startShops();
    await shops.woo(order([card(315), card(316)]));
    await shops.outbox.opened({ nowMs: Date.now() });
    await shops.woo(order([card(315), card(316)], 1, { status: null }));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['315 1 x steam-usd-20 sending', '316 1 x steam-usd-20 held'],
      ['316 held', 'null unreadable_order'],
    ]);
    // Each change that a shop leads to is in the audit log, once.
    await shops.woo(order([card(315), card(316)], 1, { status: null }));
    const reference = shops.outbox.store.read.showOrder('woo', '727')?.entries[1]?.reference ?? '';
    expect(shops.outbox.auditLog()).toMatchObject([
      {
        actor: 'woocommerce:main',
        action: 'hold',
        subject: 'woo/727',
        reason: expect.stringContaining(
          "the newest state of the storefront's order cannot be read",
        ),
        detail: JSON.stringify({ references: [reference] }),
      },
    ]);
    await shops.woo(order([card(315), card(316)], 2));
    expect([shops.bought(), shops.flagged()]).toEqual([
      ['315 1 x steam-usd-20 sending', '316 1 x steam-usd-20 pending'],
      [],
    ]);
  });

  it('without an id is flagged under the name of its shop, with the topic and a hash; only the newest are kept', async () => {
    const shops = await startShops();
    const topic = { 'X-WC-Webhook-Topic': `order.updated${'!'.repeat(500)}` };
    for (let minute = 0; minute < 30; minute += 1) {
      const body = order([card(315)], minute, { id: null });
      const answers = [await shops.woo(body, topic), await shops.woo(body, topic)];
      expect(answers.map(({ status, json }) => [status, json.flagged])).toEqual([
        [200, 1],
        [200, 0],
      ]);
    }
    const rows = attentionOf(shops);
    expect(rows).toHaveLength(20);
    expect(new Set(rows.map(({ message }) => message)).size).toBe(20);
    expect(rows[0]).toMatchObject({ source: 'woo', orderId: null, code: 'unreadable_order' });
    expect(rows[0]?.message).toMatch(/webhook order\.updated!+…, content [0-9a-f]{16}\)/);
    expect(rows[0]?.message?.length).toBeLessThan(400);
    expect(shops.bought()).toEqual([]);
  });
});

describe('flags', () => {
  it('of lines that cannot be read are limited in number and length', async () => {
    const shops = await startShops();
    const lines = Array.from({ length: 300 }, (_, index) => card(1000 + index, 'x'.repeat(3000)));
    expect((await shops.woo(order([card(315), ...lines]))).json).toMatchObject({
      accepted: 1,
      flagged: 21,
    });
    const rows = attentionOf(shops);
    expect(rows).toHaveLength(21);
    expect(rows.find(({ lineId }) => lineId === null)?.message).toContain('280 more lines');
    expect(Math.max(...rows.map(({ message }) => message?.length ?? 0))).toBeLessThan(400);
    await shops.woo(order([card(315), ...lines.map((line) => ({ ...line, quantity: 1 }))], 1));
    expect([attentionOf(shops), shops.bought().length]).toEqual([[], 301]);
  });

  it('of an order are limited in number: that there are more is one of them', async () => {
    const shops = await startShops({ woo: { unmatched: 'review' } });
    const lines = Array.from({ length: 300 }, (_, index) =>
      card(1000 + index, 1, `SHIRT-${'x'.repeat(2000)}-${index}`),
    );
    const odd = card(999, -1);
    await shops.woo(order([odd, ...lines]));
    const reasons = () => Map.groupBy(attentionOf(shops), ({ code }) => code);
    const counts = () =>
      Object.fromEntries([...reasons()].map(([reason, rows]) => [reason, rows.length]));
    expect(counts()).toEqual({ unreadable_line: 1, unknown_sku: 99, too_many_flags: 1 });
    const { version } = shops.outbox.store.read.findOrder('woo', '727') ?? { version: 0 };
    expect((await shops.woo(order([odd, ...lines], 1))).json.flagged).toBe(0);
    expect(shops.outbox.store.read.findOrder('woo', '727')?.version).toBe(version);
    // One leaves: another one takes its place.
    await shops.woo(order([card(999), ...lines], 2));
    expect(counts()).toEqual({ unknown_sku: 100, too_many_flags: 1 });
    expect(Math.max(...attentionOf(shops).map(({ message }) => message?.length ?? 0))).toBeLessThan(
      300,
    );
  });
});
