import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StorefrontOrder } from '../../../src/store/storefronts/storefront-order.ts';
import { line, Outbox } from '../../support/outbox.ts';

let box: Outbox;
let minFreeBytes = 0;
beforeEach(async () => {
  minFreeBytes = 0;
  box = await Outbox.open(undefined, () => minFreeBytes);
});
afterEach(() => box.close());

const buy = line({ source: 'main', orderId: '9', extra: { sku: 'CARD', shop_quantity: '1' } });
const shopOrder = (changes: Partial<StorefrontOrder>): StorefrontOrder => ({
  source: 'main',
  orderId: '9',
  modifiedMs: 1000,
  state: 'paid',
  status: 'processing',
  refundCount: 0,
  refundUnclear: false,
  onRefund: 'review',
  actor: 'woocommerce:main',
  nowMs: 1000,
  lines: [{ lineId: '1', sku: 'CARD', isMapped: true, hold: null, remaining: 1, buy }],
  unreadable: [],
  ...changes,
});
const post = (...lines: ReturnType<typeof line>[]) =>
  box.store.intake.acceptRequests(lines.map((one) => ({ nowMs: 1000, lines: [one] })));
const full = expect.objectContaining({
  code: 'DISK_FULL',
  message: expect.stringContaining('no new orders are accepted'),
});

describe('with less free space than is kept for the orders that are known', () => {
  it('new orders are refused: of a file, over HTTP, of a shop and of a command', async () => {
    minFreeBytes = Number.MAX_SAFE_INTEGER;
    await expect(box.accept([line()])).rejects.toEqual(full);
    expect(await post(line())).toEqual([{ kind: 'failed', error: full }]);
    await expect(box.store.storefronts.takeOrder(shopOrder({}))).rejects.toEqual(full);
    expect(box.store.read.findOrder('shop1', '1001')).toBeNull();
    minFreeBytes = 0;
    expect(await post(line())).toMatchObject([{ kind: 'accepted' }]);
    expect(await box.store.storefronts.takeOrder(shopOrder({}))).toMatchObject({ accepted: 1 });
  });

  it('a new line of a known order is refused, too', async () => {
    await box.accept([line()]);
    minFreeBytes = Number.MAX_SAFE_INTEGER;
    await expect(box.accept([line({ lineId: '2' })])).rejects.toEqual(full);
  });

  it('a repeated request is answered beside one that is refused, and a cancel is done', async () => {
    await post(line());
    minFreeBytes = Number.MAX_SAFE_INTEGER;
    expect(await post(line(), line({ orderId: '1002' }))).toEqual([
      expect.objectContaining({
        kind: 'accepted',
        orders: [expect.objectContaining({ status: 'known' })],
      }),
      { kind: 'failed', error: full },
    ]);
    const cancel = { source: 'shop1', orderId: '1001', actor: 'shop', reason: 'test', nowMs: 2000 };
    expect(await box.store.intake.cancelUnsent(cancel)).toMatchObject({
      kind: 'cancelled',
      cancelled: 1,
    });
  });

  it('a refund in the shop still takes back what was not sent', async () => {
    await box.store.storefronts.takeOrder(shopOrder({}));
    minFreeBytes = Number.MAX_SAFE_INTEGER;
    const lines = [
      { lineId: '1', sku: 'CARD', isMapped: true, hold: null, remaining: 0, buy: null },
    ];
    const refunded = shopOrder({ modifiedMs: 2000, nowMs: 2000, refundCount: 1, lines });
    expect(await box.store.storefronts.takeOrder(refunded)).toMatchObject({ takenBack: 1 });
  });
});
