import { stepsOf } from '../support/steps.ts';
import { describe, expect, it } from 'vitest';
import { shopifyOrder, startShops, wooOrder } from './storefront-shops.ts';

const hour = 3_600_000;
const line = (id: number, sku: string) => ({ id, sku, quantity: 1, properties: [], meta_data: [] });

describe('the lines of a shop', () => {
  it('have the rules of their shop, and those of their SKU before them', async () => {
    const shops = await startShops({ woo: { split: true, fallbackCurrency: 'EUR', waitH: 48 } });
    const order = wooOrder({ line_items: [line(1, 'STEAM-20'), line(2, 'STEAM-50')] });
    await shops.woo(order);
    const paidMs = Date.parse(`${String(order['date_paid_gmt'])}Z`);
    const first = await shops.outbox.opened({ nowMs: Date.now() });
    const second = await shops.outbox.opened({ nowMs: Date.now() });
    expect(first.entry).toMatchObject({
      variant: 'steam-usd-20',
      rules: { split: true, fallback_currency: 'EUR' },
      notAfterMs: paidMs + 48 * hour,
    });
    expect(second.entry).toMatchObject({
      variant: 'steam-usd-50',
      rules: { partial: true, fallback_currency: 'EUR' },
      notAfterMs: paidMs + 2 * hour,
    });
  });

  it('have none where neither says any', async () => {
    const shops = await startShops();
    await shops.shopify(shopifyOrder({ line_items: [line(1, 'STEAM-20')] }));
    const { entry } = await shops.outbox.opened({ nowMs: Date.now() });
    expect([entry.rules, entry.notAfterMs]).toEqual([{}, null]);
  });

  it('expire where somebody sees it, when the order comes after its time', async () => {
    const shops = await startShops({ shopify: { waitH: 1 } });
    const paidAt = new Date(Date.now() - 2 * hour).toISOString();
    await shops.shopify(shopifyOrder({ processed_at: paidAt, line_items: [line(1, 'STEAM-20')] }));
    expect(shops.bought()).toEqual(['1 1 x steam-usd-20 pending']);
    await stepsOf(shops.outbox.store).expireOverdue(Date.now(), 8);
    expect(shops.bought()).toEqual(['1 1 x steam-usd-20 expired']);
    expect(shops.outbox.store.read.counts()).toMatchObject({ expired: 1 });
  });
});
