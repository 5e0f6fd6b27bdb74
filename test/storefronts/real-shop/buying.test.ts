import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Shown } from './real-shop.ts';
import { folder, ShopAndWorker, whySkipped, within } from './shop-and-worker.ts';

const unpaid = { set_paid: false };

describe.skipIf(folder === undefined)(
  `orders of a real WooCommerce${whySkipped}`,
  { timeout: 300_000 },
  () => {
    let both: ShopAndWorker;
    beforeAll(async () => void (both = await ShopAndWorker.open()));
    afterAll(() => both?.close());

    const refundOf = async (id: string, body: Shown): Promise<string> => {
      const { status, value } = await both.shop.call('POST', `/orders/${id}/refunds`, {
        api_refund: false,
        ...body,
      });
      expect(status).toBe(201);
      return String(value['id']);
    };
    const refundLine = async (id: string, quantity: number, amount: string): Promise<string> => {
      const [item] = await both.shop.linesOf(id);
      const lines = [{ id: item?.['id'], quantity, refund_total: Number(amount) }];
      return await refundOf(id, { amount, line_items: lines });
    };

    it('buys a paid order once, mails its codes, completes it, and ignores its own writes', async () => {
      const { shop, line } = { shop: both.shop, line: both.line.bind(both) };
      const id = await shop.order([line('STEAM-20', 2), line('STEAM-3PACK')]);
      await both.completed(id);
      expect(both.statesOf(id)).toEqual(['fulfilled', 'fulfilled']);
      await expect
        .poll(
          () =>
            shop.mails(id).filter((body) => both.codesOf(id).every((code) => body.includes(code))),
          within,
        )
        .toHaveLength(1);
      await both.afterReadBack();
      expect(both.entriesOf(id).map(({ quantity }) => quantity)).toEqual([2, 3]);
      expect(both.flagsOf(id)).toEqual([]);
      process.stdout.write(
        `${shop.versions}; mails for an order of two lines: ${shop.mails(id).length}\n`,
      );
    });

    it('buys nothing that is unpaid, on hold or cancelled, and buys when it is paid', async () => {
      const ids: string[] = [];
      for (const status of ['pending', 'on-hold', 'cancelled', 'failed'])
        ids.push(await both.shop.order([both.line('STEAM-20')], { status, ...unpaid }));
      const byTransfer = { status: 'on-hold', payment_method: 'bacs', ...unpaid };
      const onDelivery = { status: 'processing', payment_method: 'cod', ...unpaid };
      const bacs = await both.shop.order([both.line('STEAM-20')], byTransfer);
      const cod = await both.shop.order([both.line('STEAM-20')], onDelivery);
      await both.afterReadBack();
      expect([...ids, bacs, cod].map((id) => both.statesOf(id))).toEqual([[], [], [], [], [], []]);
      await both.shop.call('PUT', `/orders/${ids[0]}`, { status: 'processing', set_paid: true });
      await both.shop.change(bacs, `$o->update_status('processing');`);
      await both.shop.change(cod, `$o->update_status('completed');`);
      for (const id of [ids[0] ?? '', bacs, cod]) await both.settled(id, 'fulfilled');
    });

    it('reads back every kind of order whose webhook was lost, and buys what each asks for', async () => {
      await both.setWebhooks('paused');
      await both.worker.end('SIGTERM');
      const { shop } = both;
      const kinds: Record<string, { id: string; bought: number }> = {};
      const add = async (
        kind: string,
        bought: number,
        changes: Shown = {},
        quantity = 2,
      ): Promise<string> => {
        const id = await shop.order([both.line('STEAM-20', quantity)], changes);
        kinds[kind] = { id, bought };
        return id;
      };
      await add('plain', 2);
      await refundLine(await add('refunded in part', 1), 1, '20');
      await refundLine(await add('refunded as a whole', 0), 2, '40');
      await refundOf(await add('refunded as an amount', 0), { amount: '5' });
      const raised = await add('quantity changed', 3);
      await shop.change(
        raised,
        'foreach($o->get_items() as $i){$i->set_quantity(3);$i->save();}$o->calculate_totals();',
      );
      const swapped = `foreach($o->get_items() as $n=>$i){$p=$i->get_product();$o->remove_item($n);$o->add_product($p,2);}$o->calculate_totals();$o->save();`;
      await shop.change(await add('line removed and added again', 2), swapped);
      await add('paid by a coupon', 2, { coupon_lines: [{ code: 'free' }] });
      for (const status of ['cancelled', 'on-hold'])
        await shop.call('PUT', `/orders/${await add(status, 0)}`, { status });
      await shop.call('DELETE', `/orders/${await add('in the trash', 0)}`);
      await shop.call('DELETE', `/orders/${await add('deleted', 0)}?force=true`);
      await add('unpaid', 0, { status: 'pending', ...unpaid });
      await add('cash on delivery', 0, { status: 'processing', payment_method: 'cod', ...unpaid });
      const byHand = await add('set to processing by hand', 2, { status: 'pending', ...unpaid });
      await shop.change(byHand, `$o->update_status('processing');`);
      await add('of a customer with an account', 2, { customer_id: 3 });
      await both.start();
      await both.afterReadBack();
      const found = Object.fromEntries(
        Object.entries(kinds).map(([kind, { id }]) => [kind, both.boughtFor(id)]),
      );
      expect(found).toEqual(
        Object.fromEntries(Object.entries(kinds).map(([kind, { bought }]) => [kind, bought])),
      );
      expect(both.flagsOf(kinds['refunded as an amount']?.id ?? '')).toHaveLength(1);
      expect(await both.ask('/metrics')).toMatch(
        /orders_read_back_total\{[^}]*source="main"[^}]*\} [1-9]/,
      );
      await both.setWebhooks('active');
    });

    it('flags changes after the purchase once, buys nothing twice, and buys what is added', async () => {
      const { shop } = both;
      const changes: readonly (readonly [string, string, number])[] = [
        [
          'foreach($o->get_items() as $i){$i->set_quantity(5);$i->save();}$o->save();',
          'changed_after_purchase',
          1,
        ],
        [
          'foreach($o->get_items() as $n=>$i){$o->remove_item($n);}$o->save();',
          'refunded_in_storefront',
          1,
        ],
        [`$o->update_status('cancelled');`, 'refunded_in_storefront', 1],
        [`$o->delete(false);`, 'refunded_in_storefront', 1],
        [`$o->update_status('on-hold');`, '', 1],
        [`$o->add_product(wc_get_product(${shop.products['STEAM-3PACK']}),1);$o->save();`, '', 4],
      ];
      const ids: string[] = [];
      for (const [code] of changes) {
        const id = await shop.order([both.line('STEAM-20')]);
        ids.push(id);
        await both.completed(id);
        await both.nextSecond();
        await shop.change(id, code);
      }
      const final = changes.map(([, flag, bought]) => [flag === '' ? [] : [flag], bought]);
      const seen = () => ids.map((id) => [both.flagsOf(id), both.boughtFor(id)]);
      const twoStates = 'two_states_in_one_second';
      // There the time of an order does not move when only its lines change: a larger quantity waits
      // for its next change.
      const first = shop.keepsPosts
        ? final.with(0, [[twoStates], 1]).with(5, [[twoStates], 1])
        : final;
      await expect.poll(seen, within).toEqual(first);
      for (const index of [0, 1, 2, 5])
        await shop.call('PUT', `/orders/${ids[index]}`, { customer_note: 'changed again' });
      await both.afterReadBack();
      const also = shop.keepsPosts
        ? final.with(0, [[twoStates, 'changed_after_purchase'], 1]).with(5, [[twoStates], 4])
        : final;
      expect(seen()).toEqual(also);
    });

    it('takes the trash for a cancel before the purchase, and flags an order that was restored', async () => {
      const { sandbox } = both.place;
      await sandbox.operate((operator) => operator.change({ maintenance: true }));
      const add = async () => await both.shop.order([both.line('STEAM-20', 2)]);
      const [trashed, cancelled, lowered, refunded, kept] = [
        await add(),
        await add(),
        await add(),
        await add(),
        await add(),
      ];
      for (const id of [trashed, cancelled, lowered, refunded, kept])
        await expect.poll(() => both.statesOf(id).length, within).toBe(1);
      await both.shop.call('DELETE', `/orders/${trashed}`);
      await both.shop.call('PUT', `/orders/${cancelled}`, { status: 'cancelled' });
      const lower = 'foreach($o->get_items() as $i){$i->set_quantity(1);$i->save();}$o->save();';
      await both.shop.change(lowered, lower);
      await refundLine(refunded, 1, '20');
      await both.afterReadBack();
      await both.nextSecond();
      await both.shop.change(
        trashed,
        "method_exists($o,'untrash')?$o->untrash():wp_untrash_post($o->get_id());",
      );
      await sandbox.operate((operator) => operator.change({ maintenance: false }));
      await both.settled(kept, 'fulfilled');
      for (const id of [lowered, refunded])
        await expect.poll(() => both.statesOf(id), within).toContain('fulfilled');
      await both.afterReadBack();
      const bought = [trashed, cancelled, lowered, refunded, kept].map((id) => both.boughtFor(id));
      expect(bought).toEqual([0, 0, 1, 1, 2]);
      expect(both.flagsOf(trashed)).toEqual(['paid_after_taken_back']);
    });

    it('flags a refund after the purchase once, and tells it in the order', async () => {
      const id = await both.shop.order([both.line('STEAM-20', 2)]);
      await both.completed(id);
      await refundLine(id, 1, '20');
      await expect.poll(() => both.flagsOf(id), within).toEqual(['refunded_in_storefront']);
      await expect
        .poll(() => both.shop.notes(id, false), within)
        .toEqual([expect.stringContaining('Changed in the shop: Product STEAM-20 (STEAM-20) × 2')]);
      await both.shop.call('PUT', `/orders/${id}`, { customer_note: 'changed' });
      await both.afterReadBack();
      expect(both.flagsOf(id)).toEqual(['refunded_in_storefront']);
    });

    it('flags a line that was not bought because of a refund, when the refund was deleted', async () => {
      const { sandbox } = both.place;
      await sandbox.operate((operator) => operator.change({ maintenance: true }));
      const id = await both.shop.order([both.line('STEAM-20'), both.line('STEAM-3PACK')]);
      await expect.poll(() => both.statesOf(id).length, within).toBe(2);
      const refund = await refundLine(id, 1, '20');
      await expect.poll(() => both.statesOf(id), within).toContain('cancelled');
      await sandbox.operate((operator) => operator.change({ maintenance: false }));
      await expect.poll(() => both.statesOf(id), within).toContain('fulfilled');
      expect(
        (await both.shop.call('DELETE', `/orders/${id}/refunds/${refund}?force=true`)).status,
      ).toBe(200);
      await both.restart();
      // Two where the worker has written into the order within that second.
      await expect.poll(() => both.flagsOf(id).length, within).toBeGreaterThan(0);
      expect(both.boughtFor(id)).toBe(3);
    });

    it('keeps a line whose product got another SKU or was deleted', async () => {
      const product = {
        name: 'Renamed later',
        sku: 'TRIAL-NEW',
        regular_price: '20',
        virtual: true,
      };
      const made = await both.shop.call('POST', '/products', product);
      const id = await both.shop.order([{ product_id: made.value['id'], quantity: 1 }]);
      await both.completed(id);
      const shown = async () => (await both.shop.linesOf(id))[0]?.['sku'];
      await both.shop.call('PUT', `/products/${String(made.value['id'])}`, {
        sku: 'TRIAL-RENAMED',
      });
      await both.shop.call('PUT', `/orders/${id}`, { customer_note: 'renamed' });
      await both.afterReadBack();
      expect([await shown(), both.flagsOf(id), both.statesOf(id)]).toEqual([
        'TRIAL-RENAMED',
        [],
        ['fulfilled'],
      ]);
      await both.shop.call('DELETE', `/products/${String(made.value['id'])}?force=true`);
      await both.shop.call('PUT', `/orders/${id}`, { customer_note: 'deleted' });
      await both.afterReadBack();
      expect([await shown(), both.flagsOf(id), both.statesOf(id)]).toEqual([
        null,
        [],
        ['fulfilled'],
      ]);
    });

    it('keeps a line whose variation was deleted, which the shop then shows as its product', async () => {
      const parent = both.shop.products['STEAM-V'];
      const attributes = [{ name: 'Value', option: '20' }];
      const variation = { sku: 'TRIAL-NEW', regular_price: '20', virtual: true, attributes };
      const made = (await both.shop.call('POST', `/products/${parent}/variations`, variation))
        .value['id'];
      const id = await both.shop.order([{ product_id: parent, variation_id: made, quantity: 1 }]);
      await both.completed(id);
      await both.shop.call('DELETE', `/products/${parent}/variations/${String(made)}?force=true`);
      await both.shop.call('PUT', `/orders/${id}`, { customer_note: 'deleted' });
      await both.afterReadBack();
      const [shown] = await both.shop.linesOf(id);
      expect(shown).toMatchObject({ product_id: parent, variation_id: 0, sku: 'STEAM-V' });
      expect([both.flagsOf(id), both.statesOf(id)]).toEqual([[], ['fulfilled']]);
    });

    it('buys a variation by its own SKU, and flags one that shows the SKU of its product', async () => {
      const parent = both.shop.products['STEAM-V'];
      const own = {
        product_id: parent,
        variation_id: both.shop.products['STEAM-V-20'],
        quantity: 1,
      };
      const inherited = {
        product_id: parent,
        variation_id: both.shop.products['STEAM-V(inherits)'],
        quantity: 1,
      };
      const id = await both.shop.order([own, inherited]);
      await both.settled(id, 'fulfilled');
      expect(both.flagsOf(id)).toEqual(['variation_without_sku']);
    });

    it('delivers an eSIM, tops it up by the field of the line, and mails both', async () => {
      const bought = await both.shop.order([both.line('FR-7D')]);
      await both.completed(bought);
      const [, iccid = ''] =
        /ICCID: <code>(\d+)<\/code>/.exec((await both.shop.notes(bought, true))[0] ?? '') ?? [];
      const topUp = { ...both.line('TOPUP-FR'), meta_data: [{ key: 'ICCID', value: iccid }] };
      const id = await both.shop.order([topUp]);
      await both.completed(id);
      expect(await both.shop.notes(id, true)).toEqual([
        expect.stringContaining(`Topped up: <code>${iccid}</code>`),
      ]);
    });

    it('buys what a guest orders at the checkout, when it is paid', async () => {
      const id = await both.shop.checkout(both.line('STEAM-20', 2));
      await both.afterReadBack();
      expect([await both.shop.statusOf(id), both.statesOf(id)]).toEqual(['on-hold', []]);
      await both.shop.change(id, '$o->payment_complete();');
      await both.completed(id);
      expect(both.boughtFor(id)).toBe(2);
    });

    it('reads back orders and shows days in whatever zone the shop is', async () => {
      try {
        for (const zone of ['America/New_York', 'Asia/Kolkata']) {
          await both.shop.php(`update_option('timezone_string','${zone}');`);
          await both.setWebhooks('paused');
          const id = await both.shop.order([both.line('STEAM-20')]);
          await both.afterReadBack();
          expect([zone, both.boughtFor(id)]).toEqual([zone, 1]);
          await both.completed(id);
        }
      } finally {
        await both.shop.php(`update_option('timezone_string','');`);
        await both.setWebhooks('active');
      }
    });
  },
);
