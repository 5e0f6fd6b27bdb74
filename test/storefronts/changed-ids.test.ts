import { stepsOf } from '../support/steps.ts';
import { describe, expect, it } from 'vitest';
import {
  answer as delivered,
  close,
  closeConfirmed,
  emptyBalance,
  fulfilled,
} from '../support/outbox.ts';
import { actOn, shopifyOrder, type Shops, startShops, wooOrder } from './storefront-shops.ts';

const card = (id: number, quantity = 1) => ({
  id,
  sku: 'STEAM-20',
  quantity,
  meta_data: [],
  properties: [],
});
const esim = (id: number) => ({ ...card(id), sku: 'FR-7D' });
const open = ({ outbox }: Shops) => outbox.opened({ nowMs: Date.now() });
const tryToSend = ({ outbox }: Shops) =>
  stepsOf(outbox.store).openAttempt(outbox.claim({ nowMs: Date.now() + 1000 }));
const woo = (shops: Shops, minute: number, ...line_items: object[]) =>
  shops.woo(wooOrder({ line_items }, minute));
const states = (shops: Shops) => shops.bought().map((text) => text.replace(/ .* /, ' '));

async function buy(shops: Shops, ...line_items: object[]): Promise<void> {
  await woo(shops, 0, ...line_items);
  await stepsOf(shops.outbox.store).closeAttempt(close(await open(shops), fulfilled));
}

const same = { action: 'cancel' } as const;
const another = { action: 'release' } as const;

describe('a line that staff removed and added again, under another id,', () => {
  it('is held with both when the first one was bought, and an operator says that it is the same', async () => {
    const shops = await startShops();
    await buy(shops, card(1));
    const reference =
      shops.outbox.store.read.showOrder('woo', '727')?.entries[0]?.reference ?? 'none';
    await woo(shops, 1, card(2));
    await woo(shops, 2, card(2));
    expect([states(shops), shops.flagged()]).toEqual([['1 fulfilled', '2 held'], ['2 held']]);
    expect(shops.reasons()[0]).toContain(
      `the line 1 with the same SKU vanished from the order, and was ordered under ${reference}`,
    );
    expect(await tryToSend(shops)).toBeNull();
    await actOn(shops, '2', same);
    await woo(shops, 3, card(2));
    expect([states(shops), shops.flagged()]).toEqual([['1 fulfilled', '2 cancelled'], []]);
    // From now on the new line speaks for the old one.
    await shops.woo(wooOrder({ line_items: [card(2)], status: 'refunded' }, 4));
    expect([states(shops), shops.flagged()]).toEqual([
      ['1 fulfilled', '2 cancelled'],
      ['1 refunded_in_storefront'],
    ]);
  });

  it('is bought, too, when an operator says that it is another purchase, and the first one is flagged', async () => {
    const shops = await startShops();
    await buy(shops, card(1));
    await woo(shops, 1, card(2));
    await actOn(shops, '2', another);
    expect((await tryToSend(shops))?.entry.state).toBe('pending');
    await woo(shops, 2, card(2));
    expect(shops.flagged()).toEqual(['1 refunded_in_storefront']);
  });

  it('is bought alone when an operator says that it is another purchase, and the first one came back unbought', async () => {
    const shops = await startShops();
    await woo(shops, 0, card(1));
    const attempt = await open(shops);
    await woo(shops, 1, card(2));
    await stepsOf(shops.outbox.store).closeAttempt(close(attempt, emptyBalance));
    await actOn(shops, '2', another);
    expect(states(shops)).toEqual(['1 held', '2 pending']);
    expect(shops.reasons()[0]).toContain('1 the line vanished from the order');
    const [, held] = shops.outbox.auditLog().toReversed();
    expect(held).toMatchObject({ action: 'hold', actor: 'test', subject: attempt.entry.reference });
    await woo(shops, 2, card(1), card(2));
    expect(states(shops)).toEqual(['1 waiting', '2 pending']);
  });

  it('takes the place of the first one when nothing of that was bought', async () => {
    for (const onRefund of ['review', 'ignore'] as const) {
      const shops = await startShops({ woo: { onRefund } });
      await woo(shops, 0, card(1));
      await woo(shops, 1, card(2, 2));
      expect([states(shops), shops.flagged()]).toEqual([['1 cancelled', '2 pending'], []]);
    }
    const waiting = await startShops();
    await woo(waiting, 0, card(1));
    await closeConfirmed(waiting.outbox, await open(waiting), emptyBalance, Date.now());
    await woo(waiting, 1, card(2));
    expect(states(waiting)).toEqual(['1 cancelled', '2 pending']);
  });

  it('is held when an operator holds or cancelled the first one, or its call is in flight', async () => {
    const inFlight = await startShops();
    await woo(inFlight, 0, card(1));
    const attempt = await open(inFlight);
    await woo(inFlight, 1, card(2));
    expect(states(inFlight)).toEqual(['1 sending', '2 held']);
    // Its call comes back without a purchase: it is still the one that is bought.
    await stepsOf(inFlight.outbox.store).closeAttempt(close(attempt, emptyBalance));
    await woo(inFlight, 2, card(2));
    expect((await tryToSend(inFlight))?.entry.reference).toBe(attempt.entry.reference);
    for (const action of ['hold', 'cancel'] as const) {
      const shops = await startShops();
      await woo(shops, 0, card(1));
      await actOn(shops, '1', { action });
      await woo(shops, 1, card(2));
      expect(states(shops)[1]).toBe('2 held');
    }
  });

  it('is held when the first one vanished in an earlier state', async () => {
    const shops = await startShops();
    await buy(shops, card(1), esim(9));
    await woo(shops, 1, esim(9));
    await woo(shops, 2, esim(9), card(2));
    expect([states(shops)[0], states(shops)[2]]).toEqual(['1 fulfilled', '2 held']);
    expect(shops.flagged()).toEqual(['1 refunded_in_storefront', '2 held']);
  });

  it('is one for one: a second new line is bought', async () => {
    const shops = await startShops();
    await buy(shops, card(1));
    await woo(shops, 1, card(2), card(3), esim(4));
    expect(states(shops)).toEqual(['1 fulfilled', '2 held', '3 pending', '4 pending']);
  });

  it('cancels no eSIM, although a refund would', async () => {
    const shops = await startShops({ woo: { onRefund: 'cancel_esim' } });
    await woo(shops, 0, esim(1));
    const answer = { ...delivered, units: [{ iccid: '8999901000000000013' }] };
    await stepsOf(shops.outbox.store).closeAttempt(
      close(await open(shops), { ...fulfilled, answer }),
    );
    await woo(shops, 1, esim(2));
    await woo(shops, 2, esim(2));
    expect(states(shops)).toEqual(['1 fulfilled', '2 held']);
  });

  it('is recognised in Shopify, which keeps the removed line with nothing left', async () => {
    const shops = await startShops();
    await shops.shopify(shopifyOrder({ line_items: [card(11)] }));
    await stepsOf(shops.outbox.store).closeAttempt(close(await open(shops), fulfilled));
    const line_items = [{ ...card(11), current_quantity: 0 }, card(12)];
    await shops.shopify(shopifyOrder({ line_items }, 1));
    await shops.shopify(shopifyOrder({ line_items }, 2));
    expect([states(shops), shops.flagged()]).toEqual([['11 fulfilled', '12 held'], ['12 held']]);
  });
});
