import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { parseExactJson } from '../../src/core/exact-json.ts';
import { close, emptyBalance, fulfilled } from '../support/outbox.ts';
import { stepsOf } from '../support/steps.ts';
import { restSettings } from './shop-settings.ts';
import { type OpenShops, openShops, wooOrder } from './storefront-shops.ts';

const states = ({ bought }: OpenShops) => bought().map((text) => text.split(' ').at(-1));
const hoursAhead = (hours: number): string =>
  new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 19);
const at = (hours: number, changes: Record<string, unknown> = {}) =>
  wooOrder({ ...changes, date_modified_gmt: hoursAhead(hours) });
const rest = {
  ...restSettings('http://127.0.0.1:9'),
  ca: null,
  consumerKey: 'ck_x',
  consumerSecret: 'cs_x',
};
const cancelled = { status: 'cancelled' };

async function readNow({ intake }: OpenShops, body: unknown): Promise<void> {
  const handler = intake.handlerFor('woocommerce', 'main');
  await handler?.take({
    document: parseExactJson(JSON.stringify(body)),
    isTest: false,
    topic: null,
    isListed: true,
    refunds: [],
  });
}

/** The states that came in so far came in before the shop was read. */
function passTime({ outbox }: OpenShops): void {
  const database = new SqliteDatabase(outbox.path);
  database.exec('UPDATE storefront_orders SET seen_at_ms = seen_at_ms - 300000');
  database.close();
}

describe('a state whose time is ahead of its receipt', () => {
  it('does not hide that the shop cancels the order', async () => {
    const shops = await openShops();
    await shops.woo(at(2));
    await shops.woo(at(0, cancelled));
    expect(states(shops)).toEqual(['cancelled']);
  });

  it('does not hide that the shop holds the order', async () => {
    const shops = await openShops();
    await shops.woo(at(2));
    await shops.woo(at(0, { status: 'on-hold' }));
    expect(states(shops)).toEqual(['held']);
  });

  it('does not hide that the customer keeps less', async () => {
    const shops = await openShops();
    await shops.woo(at(2));
    const line = { id: 315, name: 'Steam 20', product_id: 93, quantity: 1, sku: 'STEAM-20' };
    await shops.woo(at(0, { line_items: [line] }));
    expect(shops.bought()).toEqual(['315 1 x steam-usd-20 pending']);
  });

  it('does not hide that the order was paid again: it is flagged', async () => {
    const shops = await openShops();
    await shops.woo(at(2, cancelled));
    await shops.woo(at(0));
    expect([states(shops), shops.flagged()]).toEqual([[], ['315 paid_and_closed']]);
  });

  it('does not undo the end of its order when it comes late: it is flagged', async () => {
    const shops = await openShops();
    await shops.woo(at(0, cancelled));
    await shops.woo(at(2));
    expect([states(shops), shops.flagged()]).toEqual([[], ['315 paid_and_closed']]);
  });

  it('is followed in its order where each time of the shop is ahead by as much', async () => {
    const shops = await openShops();
    await shops.woo(at(2));
    await shops.woo(at(2.01, cancelled));
    await shops.woo(at(2));
    expect(states(shops)).toEqual(['cancelled']);
  });

  it('gives way to what is read in the shop now', async () => {
    const shops = await openShops();
    await shops.woo(at(2, cancelled));
    passTime(shops);
    await readNow(shops, at(-0.01));
    expect([states(shops), shops.flagged()]).toEqual([['pending'], []]);
    await shops.woo(at(2));
    passTime(shops);
    await readNow(shops, at(0, cancelled));
    expect(states(shops)).toEqual(['cancelled']);
  });

  it('does not give way to what was read in the shop before it came in', async () => {
    const shops = await openShops();
    await shops.woo(at(2, cancelled));
    await readNow(shops, at(0));
    expect([states(shops), shops.flagged()]).toEqual([[], ['315 paid_and_closed']]);
  });
});

describe('a closed state is older than that of the newest state than the paid one', () => {
  it('holds what is not sent, until a newer state shows it as paid', async () => {
    const shops = await openShops();
    await shops.woo(at(-0.1));
    await shops.woo(at(-0.2, cancelled));
    expect(states(shops)).toEqual(['held']);
    expect(shops.reasons()).toEqual([
      expect.stringContaining('is older than that of the newest state'),
    ]);
    await shops.woo(at(-0.05));
    expect([states(shops), shops.flagged()]).toEqual([['pending'], []]);
  });

  it('counts where it is read in the shop now', async () => {
    const shops = await openShops();
    await shops.woo(at(-0.1));
    await readNow(shops, at(-0.2, cancelled));
    expect(states(shops)).toEqual(['held']);
    passTime(shops);
    await readNow(shops, at(-0.2, cancelled));
    expect(states(shops)).toEqual(['cancelled']);
  });

  it('makes the worker read the order where the shop can be asked', async () => {
    const shops = await openShops({ woo: { rest } });
    await shops.woo(at(-0.1));
    expect((await shops.woo(at(-0.2, cancelled))).kind).toBe('needs_refunds');
    expect(states(shops)).toEqual(['held']);
    const { storefronts } = shops.outbox.store;
    expect(await storefronts.awaitedOrders('woo')).toEqual([{ source: 'woo', orderId: '727' }]);
    await readNow(shops, at(-0.1));
    expect([states(shops), await storefronts.awaitedOrders('woo')]).toEqual([['pending'], []]);
  });

  it('flags what is bought', async () => {
    const shops = await openShops();
    const { outbox } = shops;
    await shops.woo(at(-0.1));
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened({ nowMs: Date.now() }), fulfilled),
    );
    await shops.woo(at(-0.2, cancelled));
    expect([states(shops), shops.flagged()]).toEqual([['fulfilled'], ['315 closed_before']]);
  });

  it('holds what waits to be sent again', async () => {
    const shops = await openShops();
    const { outbox } = shops;
    await shops.woo(at(-0.1));
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened({ nowMs: Date.now() }), emptyBalance),
    );
    await shops.woo(at(-0.2, cancelled));
    expect(states(shops)).toEqual(['held']);
  });
});
