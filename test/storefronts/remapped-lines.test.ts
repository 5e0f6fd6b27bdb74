import { stepsOf } from '../support/steps.ts';
import { describe, expect, it } from 'vitest';
import { performCommand } from '../../src/admin/perform-command.ts';
import type { CommandResult, StoreCommand } from '../../src/core/operator/operator-command.ts';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { readSkuFile } from '../../src/storefronts/sku-file.ts';
import { newRequestFor } from '../../src/storefronts/remapped-lines.ts';
import { close, fulfilled, nothing } from '../support/outbox.ts';
import { actOn, openShops, type OpenShops, wooOrder } from './storefront-shops.ts';

const clock = new SystemClock();
const who = { actor: 'cli:anna', reason: 'the map was wrong' };
const settings = {
  keyNames: ['main'],
  referenceExpiryMs: 86_400_000,
  lookupFamilies: ['gift_card'],
} as const;
const invalid = { code: 'invalid_variant', message: 'no such product', buffered: false };
const rejected: Settlement = {
  ...nothing,
  state: 'rejected',
  outcomeUnknown: false,
  row: 'invalid_variant',
  error: invalid,
};

const corrected = '{ STEAM-20: { type: gift_card_order, variant: steam-20-usd, quantity: 2 } }';
const oneLine = (sku: string) => ({ line_items: [{ id: 315, sku, quantity: 2, meta_data: [] }] });

async function settle(shops: OpenShops, settlement: Settlement): Promise<string> {
  const attempt = await shops.outbox.opened({ nowMs: Date.now() });
  await stepsOf(shops.outbox.store).closeAttempt(close(attempt, settlement));
  return attempt.entry.reference;
}

/** An order whose product the API does not sell. */
async function withRejected(
  changes: Parameters<typeof openShops>[0] = {},
): Promise<{ shops: OpenShops; reference: string }> {
  const shops = await openShops(changes);
  await shops.woo(wooOrder());
  return { shops, reference: await settle(shops, rejected) };
}

/** An order with a SKU that is not in the map. */
async function withFlagged(): Promise<{ shops: OpenShops; id: string }> {
  const shops = await openShops({ woo: { unmatched: 'review' } });
  await shops.woo(wooOrder(oneLine('NEW')));
  return { shops, id: shops.outbox.store.read.attention(10)[0]?.id ?? '' };
}

const perform = ({ outbox }: OpenShops, command: StoreCommand): Promise<CommandResult> =>
  performCommand(outbox.store, command, settings, clock);

const skusOf = ({ skuFile }: OpenShops) => readSkuFile(skuFile).map;

/** As `orders reorder --remap --confirm` does. */
async function remap(shops: OpenShops, reference: string): Promise<CommandResult> {
  const shop = shopOf(shops);
  const line = shops.outbox.store.read.mappedLine(reference);
  if (line === null) throw new Error(`${reference} is in the outbox`);
  const as = newRequestFor(line, { ...shop, shop }, skusOf(shops), Date.now());
  return await perform(shops, { action: 'reorder', reference, confirm: reference, as, ...who });
}

/** As a worker does some seconds after the map was changed. */
async function follow(
  shops: OpenShops,
  skus = '{ NEW: { type: gift_card_order, variant: new-1 } }',
): Promise<void> {
  shops.mapSkus(skus);
  await shops.intake.followMaps();
}

function shopOf({ intake }: OpenShops) {
  const handler = intake.handlerFor('woocommerce', 'main');
  if (handler === null) throw new Error('there is a shop');
  return handler.shop;
}

describe('a rejected line whose SKU map was corrected', () => {
  it('is ordered as the map says now, under a new reference', async () => {
    const { shops, reference } = await withRejected();
    shops.mapSkus(corrected);
    const result = await remap(shops, reference);
    expect(result).toMatchObject({
      kind: 'entry',
      before: 'rejected',
      newReference: expect.stringMatching(/^os-/),
    });
    expect(shops.bought()).toEqual([
      '315 2 x steam-usd-20 rejected',
      '315 4 x steam-20-usd pending',
    ]);
    const sent = await shops.outbox.opened({ nowMs: Date.now() + 1000 });
    expect(sent.entry).toMatchObject({ variant: 'steam-20-usd', quantity: 4, generation: 1 });
    expect(shops.flagged()).toEqual([]);
    expect(shops.outbox.auditLog()).toMatchObject([{ action: 'reorder', actor: 'cli:anna' }]);
  });

  it('is not ordered anew by itself', async () => {
    const { shops } = await withRejected();
    shops.mapSkus(corrected);
    await shops.woo(wooOrder({}, 1));
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 rejected']);
  });

  it('is found by its new product, and known when the shop sends it again', async () => {
    const { shops, reference } = await withRejected();
    shops.mapSkus(corrected);
    await remap(shops, reference);
    expect(shops.outbox.store.read.listOrders({ search: 'steam-20-usd', limit: 10 })).toHaveLength(
      1,
    );
    expect(await shops.woo(wooOrder({}, 1))).toMatchObject({
      taken: { known: 1, accepted: 0, flagged: 0 },
    });
    expect(shops.bought()).toHaveLength(2);
  });

  it('takes the rules of the map, which alone can be what was corrected', async () => {
    const { shops, reference } = await withRejected();
    shops.mapSkus(
      '{ STEAM-20: { type: gift_card_order, variant: steam-usd-20, split: true, wait_h: 2 } }',
    );
    await remap(shops, reference);
    const { entry } = await shops.outbox.opened({ nowMs: Date.now() + 1000 });
    expect(entry.rules).toEqual({ split: true });
    expect((entry.notAfterMs ?? 0) - Date.now()).toBeGreaterThan(7_000_000);
  });

  it.each([
    [
      'says the same',
      '{ STEAM-20: { type: gift_card_order, variant: steam-usd-20 } }',
      /has the same product for "STEAM-20"/,
    ],
    [
      'does not know it',
      '{ OTHER: { type: gift_card_order, variant: steam-usd-20 } }',
      /has no "STEAM-20"/,
    ],
    [
      'says what cannot be ordered',
      '{ STEAM-20: { type: esim_order, plan: p, quantity: 30 } }',
      /quantity/,
    ],
    ['needs an eSIM', '{ STEAM-20: { type: esim_topup, plan: p } }', /iccid/],
  ])('stays as it is where the map %s', async (_, skus, why) => {
    const { shops, reference } = await withRejected();
    shops.mapSkus(skus);
    await expect(remap(shops, reference)).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: expect.stringMatching(why),
    });
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 rejected']);
  });

  it('is refused where it is a part of the line', async () => {
    const shops = await openShops();
    await shops.woo(wooOrder());
    const part = (number: number) => ({
      generation: 1,
      part: number,
      quantity: 1,
      currency: 'USD',
    });
    await settle(shops, { ...rejected, row: 'limit_exceeded', replacements: [part(0), part(1)] });
    const reference = await settle(shops, rejected);
    shops.mapSkus(corrected);
    await expect(remap(shops, reference)).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: /a part of a line/,
    });
  });

  it('is held where the shop has refunded a part of it meanwhile', async () => {
    const { shops, reference } = await withRejected();
    const refund = {
      refunds: [{ id: 1, total: '-20.00' }],
      line_items: [{ id: 315, sku: 'STEAM-20', quantity: 1, meta_data: [] }],
    };
    await shops.woo(wooOrder(refund, 1));
    shops.mapSkus(corrected);
    await remap(shops, reference);
    expect(
      await stepsOf(shops.outbox.store).openAttempt(
        shops.outbox.claim({ nowMs: Date.now() + 1000 }),
      ),
    ).toBeNull();
    expect(shops.bought()[1]).toBe('315 4 x steam-20-usd held');
  });
});

describe('a flagged line whose SKU is in the map now', () => {
  it('is bought once, and leaves the attention list', async () => {
    const { shops } = await withFlagged();
    expect(shops.flagged()).toEqual(['315 unknown_sku']);
    await follow(shops);
    expect([shops.bought(), shops.flagged()]).toEqual([['315 2 x new-1 pending'], []]);
    expect(await shops.woo(wooOrder(oneLine('NEW'), 1))).toMatchObject({ taken: { known: 1 } });
    expect(shops.bought()).toHaveLength(1);
  });

  it('changes nothing of the other lines of its order', async () => {
    const both =
      '{ STEAM-20: { type: gift_card_order, variant: steam-usd-20 }, NEW: { type: gift_card_order, variant: new-1 } }';
    const shops = await openShops({ woo: { unmatched: 'review' } });
    const line = (id: number, sku: string) => ({ id, sku, quantity: 2, meta_data: [] });
    const unreadable = { id: 317, sku: 'STEAM-20', quantity: 'two', meta_data: [] };
    await shops.woo(
      wooOrder({ line_items: [line(315, 'STEAM-20'), line(316, 'NEW'), unreadable] }),
    );
    await settle(shops, fulfilled);
    await follow(shops, both);
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 fulfilled', '316 2 x new-1 pending']);
    expect(shops.flagged()).toEqual(['317 unreadable_line']);
  });

  it.each([
    [
      'has a status that nobody has explained',
      wooOrder({ ...oneLine('NEW'), status: 'packed' }, 1),
    ],
    ['is on hold now', wooOrder({ ...oneLine('NEW'), status: 'on-hold' }, 1)],
    ['is cancelled now', wooOrder({ ...oneLine('NEW'), status: 'cancelled' }, 1)],
    ['has another SKU there now', wooOrder(oneLine('OTHER'), 1)],
    ['cannot be read any more', wooOrder({ ...oneLine('NEW'), status: { name: 'processing' } }, 1)],
  ])('is not bought where the order %s', async (_, state) => {
    const { shops } = await withFlagged();
    await shops.woo(state);
    await follow(shops);
    expect(shops.bought()).toEqual([]);
  });

  it('is bought as the newest state says', async () => {
    const { shops } = await withFlagged();
    await shops.woo(
      wooOrder({ line_items: [{ id: 315, sku: 'NEW', quantity: 1, meta_data: [] }] }, 1),
    );
    await follow(shops);
    expect(shops.bought()).toEqual(['315 1 x new-1 pending']);
  });

  it('is bought where the shop sent the same state again', async () => {
    const { shops } = await withFlagged();
    await shops.woo(wooOrder(oneLine('NEW')));
    await follow(shops);
    expect(shops.bought()).toEqual(['315 2 x new-1 pending']);
  });

  it('is not bought where one of two states in the same second has less of it', async () => {
    const { shops } = await withFlagged();
    await shops.woo(
      wooOrder({ line_items: [{ id: 315, sku: 'NEW', quantity: 1, meta_data: [] }] }, 1),
    );
    await shops.woo(wooOrder(oneLine('NEW'), 1));
    await follow(shops);
    expect(shops.bought()).toEqual([]);
  });

  it('is held where it may stand for a line that was bought and vanished, until an operator decides', async () => {
    const shops = await openShops({ woo: { unmatched: 'review' } });
    await shops.woo(wooOrder());
    await settle(shops, fulfilled);
    shops.mapSkus('{ OTHER: { type: gift_card_order, variant: other } }');
    const line_items = [{ id: 316, sku: 'STEAM-20', quantity: 2, meta_data: [] }];
    await shops.woo(wooOrder({ line_items }, 1));
    expect(shops.flagged()).toContain('316 unknown_sku');
    await follow(shops, '{ STEAM-20: { type: gift_card_order, variant: steam-usd-20 } }');
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 fulfilled', '316 2 x steam-usd-20 held']);
    await actOn(shops, '316', { action: 'cancel' });
    expect(shops.bought()[1]).toBe('316 2 x steam-usd-20 cancelled');
  });

  it('is not bought where it took the place of a line that was taken back', async () => {
    const shops = await openShops({ woo: { unmatched: 'review' } });
    await shops.woo(wooOrder());
    await shops.woo(wooOrder({ status: 'cancelled' }, 1));
    await shops.woo(wooOrder(oneLine('NEW'), 2));
    await follow(shops);
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 cancelled']);
    expect(shops.flagged()).toContain('315 paid_after_taken_back');
  });

  it('is bought when the shop sends it again', async () => {
    const { shops } = await withFlagged();
    shops.mapSkus('{ NEW: { type: gift_card_order, variant: new-1 } }');
    await shops.woo(wooOrder(oneLine('NEW'), 1));
    expect([shops.bought(), shops.flagged()]).toEqual([['315 2 x new-1 pending'], []]);
  });

  it('is held when the shop sends it again, where an operator who acknowledged it may have bought it elsewhere', async () => {
    const { shops, id } = await withFlagged();
    await perform(shops, { action: 'acknowledge', which: { ids: [id] }, ...who });
    await follow(shops);
    expect(shops.bought()).toEqual([]);
    await shops.woo(wooOrder(oneLine('NEW'), 1));
    expect(shops.bought()).toEqual(['315 2 x new-1 held']);
  });

  it('is not taken in again while the map lacks its SKU', async () => {
    const { shops } = await withFlagged();
    const state = () => shops.outbox.rows('SELECT * FROM storefront_orders');
    const before = state();
    await follow(shops, '{ OTHER: { type: gift_card_order, variant: other } }');
    expect([state(), shops.flagged()]).toEqual([before, ['315 unknown_sku']]);
  });

  it('keeps nothing of the customer', async () => {
    const { shops } = await withFlagged();
    const kept = await shops.outbox.store.storefronts.keptOrder('woo', '727');
    expect(kept).toContain('"NEW"');
    expect(kept).not.toMatch(/zoe|Zoë/);
  });
});
