import { describe, expect, it, onTestFinished } from 'vitest';
import type { Installation } from '../../support/worker-process.ts';
import { boughtBy, commandLine } from '../read-back/shop-worker.ts';
import type { RealShop, Shown } from './real-shop.ts';
import {
  attentionOf,
  folder,
  lineOf,
  placeFor,
  ShopAndWorker,
  whySkipped,
  within,
} from './shop-and-worker.ts';

/** Orders that were paid before the worker was there, by name. */
async function soldBefore(shop: RealShop): Promise<Readonly<Record<string, string>>> {
  const add = async (changes: Shown = {}) => await shop.order([lineOf(shop, 'STEAM-20')], changes);
  const byHand = await add();
  await shop.change(byHand, `$o->update_status('completed');`);
  const threeDays = await add();
  const past = 'time()-3*86400';
  const age = `$o->set_date_created(${past});$o->set_date_paid(${past});$o->save();`;
  await shop.change(threeDays, `${age}$o->update_status('completed');`);
  return {
    byHand,
    threeDays,
    processing: await add(),
    refunded: await add({ status: 'refunded' }),
  };
}

describe.skipIf(folder === undefined)(
  `the first start at a real WooCommerce${whySkipped}`,
  { timeout: 600_000 },
  () => {
    const open = async (
      ofShop: Shown,
      prepare: (shop: RealShop) => Promise<void>,
    ): Promise<ShopAndWorker> => {
      const both = await ShopAndWorker.open({}, ofShop, prepare);
      onTestFinished(() => both.close());
      return both;
    };

    it('buys nothing that was paid before, also when it is changed later, and says so in one row', async () => {
      let ids: Readonly<Record<string, string>> = {};
      let unpaid = '';
      const both = await open({}, async (shop) => {
        ids = await soldBefore(shop);
        for (let more = 0; more < 8; more += 1) await shop.order([lineOf(shop, 'STEAM-3PACK')]);
        unpaid = await shop.order([lineOf(shop, 'STEAM-20')], {
          status: 'on-hold',
          set_paid: false,
        });
      });
      const { shop } = both;
      const bought = () =>
        Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, both.boughtFor(id)]));
      const nothing = { byHand: 0, threeDays: 0, processing: 0, refunded: 0 };
      await both.afterReadBack();
      expect(bought()).toEqual(nothing);
      const { threeDays = '', processing = '', byHand = '' } = ids;
      // By webhook, then by read-back alone.
      await shop.call('PUT', `/orders/${threeDays}`, { billing: { phone: '555-1234' } });
      await shop.call('PUT', `/orders/${processing}`, { customer_note: 'where is it?' });
      await both.afterReadBack();
      await both.setWebhooks('paused');
      await shop.change(
        byHand,
        `$o->add_order_note('printed');$o->set_billing_phone('1');$o->save();`,
      );
      await shop.change(processing, `$o->update_status('completed');`);
      await both.afterReadBack();
      expect(bought()).toEqual(nothing);
      await shop.change(unpaid, '$o->payment_complete();');
      await both.settled(unpaid, 'fulfilled');
      expect(boughtBy(both.place)).toBe(1);
      expect(both.flagsOf(null)).toEqual(['old_sale']);
      const rows = await attentionOf(both.place);
      expect(rows.map(({ reason }) => reason)).toEqual(['old_sale']);
      expect(await shop.notes(threeDays, false)).toEqual([]);
    });

    it('buys what was paid within lookback_h before it, and nothing older', async () => {
      let ids: Readonly<Record<string, string>> = {};
      const both = await open(
        { lookback_h: 1 },
        async (shop) => void (ids = await soldBefore(shop)),
      );
      const { threeDays = '', processing = '', byHand = '', refunded = '' } = ids;
      await both.settled(processing, 'fulfilled');
      await both.settled(byHand, 'fulfilled');
      await both.shop.call('PUT', `/orders/${threeDays}`, { billing: { phone: '555-1234' } });
      await both.afterReadBack();
      expect([threeDays, refunded].map((id) => both.boughtFor(id))).toEqual([0, 0]);
      expect(both.flagsOf(null)).toEqual(['old_sale']);
    });
  },
);

describe.skipIf(folder === undefined)(
  `two workers at a real WooCommerce${whySkipped}`,
  { timeout: 600_000 },
  () => {
    const flags = (place: Installation): readonly string[] =>
      place
        .query<{ code: string }>('SELECT code FROM rejections WHERE order_id IS NULL')
        .map(({ code }) => code);
    const states = (place: Installation): readonly string[] =>
      place
        .query<{ state: string }>('SELECT state FROM entries ORDER BY id')
        .map(({ state }) => state);

    /** A worker with its own files, reference secret and account, that reads the same shop. */
    const secondOf = async (both: ShopAndWorker, ofShop: Shown = {}): Promise<Installation> => {
      const place = await placeFor(both.shop, {}, ofShop);
      onTestFinished(() => place.close());
      await place.start().started();
      return place;
    };
    const open = async (): Promise<ShopAndWorker> => {
      const both = await ShopAndWorker.open();
      onTestFinished(() => both.close());
      return both;
    };
    const readBack = async (place: Installation): Promise<void> => {
      expect((await commandLine(place, 'reconcile')).code).toBe(0);
    };
    const acknowledge = async (place: Installation): Promise<void> => {
      const row = (await attentionOf(place)).find(({ reason }) => reason === 'other_worker');
      const { code } = await commandLine(
        place,
        'orders',
        'ack',
        row?.id ?? 'no row',
        '--reason',
        'the other one has ended',
      );
      expect(code).toBe(0);
    };

    it('hold every purchase of the second, until an operator decides', async () => {
      const both = await open();
      const { shop } = both;
      const first = await shop.order([both.line('STEAM-20')]);
      await both.completed(first);
      const second = await secondOf(both);
      await readBack(second);
      const ids: string[] = [];
      for (let more = 0; more < 4; more += 1)
        ids.push(await shop.order([both.line('STEAM-20', 2)]));
      await readBack(second);
      for (const id of ids) await both.completed(id);
      await readBack(second);
      expect([boughtBy(second), flags(second)]).toEqual([
        0,
        expect.arrayContaining(['other_worker']),
      ]);
      expect(states(second).every((state) => state === 'held')).toBe(true);
      const rows = (await attentionOf(second)).filter(({ reason }) => reason === 'other_worker');
      expect(rows).toHaveLength(1);
      for (const id of ids) expect(both.timesMailed(id)).toEqual([1, 1]);
      expect([flags(both.place), boughtBy(both.place)]).toEqual([[], 5]);
      await both.worker.end('SIGTERM');
      await acknowledge(second);
      const later = await shop.order([both.line('STEAM-3PACK')]);
      await both.completed(later);
      expect(boughtBy(second)).toBe(1);
    });

    it('hold what the second one finds in the hours before it', async () => {
      const both = await open();
      const id = await both.shop.order([both.line('STEAM-20')]);
      await both.completed(id);
      const waiting = await both.shop.order([both.line('MUG'), both.line('STEAM-20')]);
      await both.settled(waiting, 'fulfilled');
      await expect.poll(() => both.shop.notes(waiting, true), within).toHaveLength(1);
      const second = await secondOf(both, { lookback_h: 2 });
      await readBack(second);
      await expect.poll(() => flags(second), within).toContain('other_worker');
      expect(boughtBy(second)).toBe(0);
    });

    it('hold what a worker finds that lost its files, although it runs alone', async () => {
      const both = await open();
      const id = await both.shop.order([both.line('STEAM-20')]);
      await both.completed(id);
      await both.worker.end('SIGTERM');
      const second = await secondOf(both);
      const next = await both.shop.order([both.line('STEAM-20')]);
      await readBack(second);
      expect([boughtBy(second), flags(second)]).toEqual([
        0,
        expect.arrayContaining(['other_worker']),
      ]);
      await acknowledge(second);
      await readBack(second);
      const after = await both.shop.order([both.line('STEAM-20')]);
      await both.completed(after);
      expect((await both.shop.notes(next, true)).length).toBeLessThanOrEqual(1);
    });
  },
);
