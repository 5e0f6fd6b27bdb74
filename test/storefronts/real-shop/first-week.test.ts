import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { commandLine } from '../read-back/shop-worker.ts';
import type { Shown } from './real-shop.ts';
import { folder, ShopAndWorker, whySkipped, within } from './shop-and-worker.ts';

/** Writes into orders, and nothing else. */
const writes = '(PUT .*/orders/|POST .*/notes)';

describe.skipIf(folder === undefined)(
  `orders of a first week in a real WooCommerce${whySkipped}`,
  { timeout: 600_000 },
  () => {
    let both: ShopAndWorker;
    beforeAll(async () => void (both = await ShopAndWorker.open()));
    afterAll(() => both?.close());
    afterEach(async () => {
      both.shop.setFault(null);
      await setBuying(true);
    });

    /** An order that was bought, and into which the shop lets nothing be written yet. */
    const boughtUnwritten = async (...lines: readonly Shown[]): Promise<string> => {
      both.shop.setFault({ match: writes, status: 500, times: -1 });
      const id = await both.shop.order(lines);
      await both.settled(id, ...lines.map(() => 'fulfilled'));
      return id;
    };
    /** The operator pauses and resumes everything: meanwhile nothing is sent. */
    const setBuying = async (isOn: boolean): Promise<void> => {
      const why = ['--reason', 'it is tried'];
      await commandLine(both.place, 'queue', isOn ? 'resume' : 'pause', 'account', ...why);
    };
    /** An order that was taken in, and of which nothing was sent. */
    const takenIn = async (...lines: readonly Shown[]): Promise<string> => {
      await setBuying(false);
      const id = await both.shop.order(lines);
      await expect.poll(() => both.statesOf(id).length, within).toBe(lines.length);
      return id;
    };
    /** The shop's people stop an order, change it, and release it. */
    const edit = async (id: string, code: string): Promise<void> => {
      await both.nextSecond();
      await both.shop.change(id, `$o->update_status('on-hold');`);
      await both.nextSecond();
      await both.shop.change(id, code);
      await both.nextSecond();
      await both.shop.change(id, `$o->update_status('processing');`);
    };
    const setQuantity = (quantity: number): string =>
      `foreach($o->get_items() as $i){$i->set_quantity(${quantity});$i->set_subtotal(20*${quantity});$i->set_total(20*${quantity});$i->save();}$o->calculate_totals();$o->set_date_modified(time());$o->save();`;
    const refund = async (id: string, quantity: number): Promise<string> => {
      const [item] = await both.shop.linesOf(id);
      const amount = String(20 * quantity);
      const line_items = [{ id: item?.['id'], quantity, refund_total: Number(amount) }];
      const body = { api_refund: false, amount, line_items };
      const { status, value } = await both.shop.call('POST', `/orders/${id}/refunds`, body);
      expect(status).toBe(201);
      return String(value['id']);
    };
    const order = async (...argv: string[]) =>
      await commandLine(both.place, 'orders', ...argv, '--reason', 'it is tried');
    const referenceOf = (id: string): string =>
      both.place.query<{ reference: string }>(
        `SELECT e.reference FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
         WHERE r.order_id = '${id}' AND e.state = 'fulfilled'`,
      )[0]?.reference ?? '';
    const mailed = (id: string): number =>
      both.timesMailed(id).reduce((sum, times) => sum + times, 0);
    /** All that the worker has to say about an order stands in the shop. */
    const written = async (id: string): Promise<void> => {
      both.shop.setFault(null);
      const due = `SELECT count(*) AS n FROM deliveries d JOIN requests r ON r.id = d.request_id
        WHERE r.order_id = '${id}' AND d.done_version < d.due_version AND d.due_steady < 9000000000000000`;
      await expect.poll(() => both.place.query<{ n: number }>(due)[0]?.n, within).toBe(0);
    };
    const privateNotes = async (id: string): Promise<string> =>
      (await both.shop.notes(id, false)).join('\n\n');

    // W6: edited between the purchase and the mail.

    it('gives what was bought when its quantity was raised before the mail, and flags the rest', async () => {
      const id = await boughtUnwritten(both.line('STEAM-20'));
      await edit(id, setQuantity(3));
      await both.afterReadBack();
      await written(id);
      await expect.poll(() => both.timesMailed(id), within).toEqual([1]);
      expect(both.boughtFor(id)).toBe(1);
      expect(await both.rowsOf(id)).not.toEqual([]);
      expect((await both.shop.notes(id, false)).length).toBeLessThanOrEqual(1);
      expect(await both.shop.statusOf(id)).toBe('processing');
    });

    it('says why it does not give what was refunded in part before the mail, and gives what an operator says', async () => {
      const id = await boughtUnwritten(both.line('STEAM-20', 2));
      await refund(id, 1);
      await both.afterReadBack();
      await written(id);
      expect(mailed(id)).toBe(0);
      const note = await privateNotes(id);
      expect(note).toMatch(/bought, not given/i);
      expect(note).not.toMatch(/Delivered: /);
      const rows = await both.rowsOf(id);
      expect(rows.map(({ message }) => message).join()).toMatch(/refund/i);
      const given = await order('resolve', referenceOf(id), '--give', '1');
      expect([given.code, given.stdout]).toEqual([0, expect.any(String)]);
      await expect.poll(() => mailed(id), within).toBe(1);
      await written(id);
      expect(mailed(id)).toBe(1);
    });

    it('gives by itself what was put back before the mail', async () => {
      const id = await boughtUnwritten(both.line('STEAM-20', 2));
      await edit(id, setQuantity(1));
      await both.afterReadBack();
      await written(id);
      expect(mailed(id)).toBe(0);
      await edit(id, setQuantity(2));
      await both.afterReadBack();
      await expect.poll(() => both.timesMailed(id), within).toEqual([1, 1]);
      await both.completed(id);
    });

    it('gives by itself what was refunded and is not any more', async () => {
      const id = await boughtUnwritten(both.line('STEAM-20', 2));
      const refunded = await refund(id, 1);
      await both.afterReadBack();
      await written(id);
      expect(mailed(id)).toBe(0);
      await both.nextSecond();
      await both.shop.call('DELETE', `/orders/${id}/refunds/${refunded}?force=true`);
      await both.shop.call('PUT', `/orders/${id}`, { customer_note: 'kept' });
      await expect.poll(() => both.timesMailed(id), within).toEqual([1, 1]);
    });

    it('buys the new quantity where nothing was sent yet', async () => {
      const id = await takenIn(both.line('STEAM-20'));
      await edit(id, setQuantity(3));
      await both.afterReadBack();
      await setBuying(true);
      await both.completed(id);
      expect(both.boughtFor(id)).toBe(3);
      await expect.poll(() => both.timesMailed(id), within).toEqual([1, 1, 1]);
    });

    // W7: downloadable products have no date of payment when somebody sets them to processing.

    it('holds a downloadable product that was set to processing by hand, and buys it with a date of payment', async () => {
      const product = {
        sku: 'TRIAL-DOWN',
        regular_price: '20',
        virtual: true,
        downloadable: true,
        name: 'Downloadable',
      };
      const made = (await both.shop.call('POST', '/products', product)).value['id'];
      const add = async (): Promise<string> => {
        const onHold = { status: 'on-hold', set_paid: false, payment_method: 'bacs' };
        const id = await both.shop.order([{ product_id: made, quantity: 1 }], onHold);
        await both.shop.change(id, `$o->update_status('processing');`);
        return id;
      };
      try {
        const [completed, dated, released] = [await add(), await add(), await add()];
        expect((await both.shop.call('GET', `/orders/${dated}`)).value['date_paid']).toBe(null);
        for (const id of [completed, dated, released]) {
          await both.settled(id, 'held');
          expect((await both.rowsOf(id)).map(({ message }) => message).join()).toMatch(/payment/i);
        }
        // The owner completes one, and a plugin adds the date to another one.
        await both.nextSecond();
        await both.shop.change(completed, `$o->update_status('completed');`);
        await both.shop.change(
          dated,
          `$o->set_date_paid(time());$o->set_date_modified(time());$o->save();`,
        );
        const [row] = await both.rowsOf(released);
        expect((await order('release', row?.id ?? '')).code).toBe(0);
        for (const id of [completed, dated, released]) {
          await both.settled(id, 'fulfilled');
          await expect.poll(() => both.timesMailed(id), within).toEqual([1]);
        }
      } finally {
        await both.shop.call('DELETE', `/products/${String(made)}?force=true`);
      }
    });

    it('still buys nothing that is paid on delivery', async () => {
      const onDelivery = { status: 'processing', payment_method: 'cod', set_paid: false };
      const id = await both.shop.order([both.line('STEAM-20')], onDelivery);
      await both.afterReadBack();
      expect([both.statesOf(id), await both.rowsOf(id)]).toEqual([[], []]);
    });

    // W8: a full refund right after the delivery.

    const refundAll = `wc_create_refund(['amount'=>$o->get_total(),'order_id'=>$o->get_id(),'refund_payment'=>false,'restock_items'=>false]);`;
    /** Once, for one order. @param hooked what calls the function `f` with its id */
    const refundsAt = (hooked: string): void => {
      const isMarked = `get_option('trial_refund')===(string)$id`;
      const made = `delete_option('trial_refund');$o=wc_get_order($id);${refundAll}`;
      both.shop.setPlugin('refund', `$f=function($id){if(${isMarked}){${made}}};${hooked}`);
    };
    const refundedOrder = async () => {
      try {
        const id = await takenIn(both.line('STEAM-20'));
        await both.shop.php(`update_option('trial_refund','${id}',false);`);
        await setBuying(true);
        await both.settled(id, 'fulfilled');
        await expect
          .poll(() => both.shop.php(`echo get_option('trial_refund','done');`), within)
          .toBe('done');
        await written(id);
        await both.afterReadBack();
        await written(id);
        return { status: await both.shop.statusOf(id), isFlagged: both.flagsOf(id).length > 0 };
      } finally {
        both.shop.setPlugin('refund', null);
      }
    };

    it('leaves an order refunded that the owner refunded right after its mail', async () => {
      refundsAt(
        `add_action('woocommerce_new_customer_note',function($note)use($f){$f($note['order_id']);},99);`,
      );
      expect(await refundedOrder()).toEqual({ status: 'refunded', isFlagged: true });
    });

    it('puts "refunded" back when the refund came while the status was written', async () => {
      const isStatus = `$r->get_method()==='PUT'&&$r->get_param('status')==='completed'`;
      const ofOrder = `preg_match('#/orders/(\\d+)#',$r->get_route(),$m)`;
      refundsAt(
        `add_filter('rest_pre_dispatch',function($x,$s,$r)use($f){if(${isStatus}&&${ofOrder})$f($m[1]);return $x;},10,3);`,
      );
      expect(await refundedOrder()).toEqual({ status: 'refunded', isFlagged: true });
    });

    // W11: the words and the number of private notes.

    it('leaves no note about a partial refund before the purchase', async () => {
      const id = await takenIn(both.line('STEAM-20', 3));
      await refund(id, 1);
      await both.afterReadBack();
      await both.nextSecond();
      await refund(id, 1);
      await both.afterReadBack();
      await setBuying(true);
      await expect.poll(() => both.statesOf(id), within).toContain('fulfilled');
      await written(id);
      expect(both.boughtFor(id)).toBe(1);
      expect(await privateNotes(id)).not.toMatch(/held|was not asked/);
      expect((await both.shop.notes(id, false)).length).toBeLessThanOrEqual(1);
    });

    it('does not say that something was bought which was never sent', async () => {
      const id = await takenIn(both.line('STEAM-20', 2));
      await both.shop.change(id, `wc_create_refund(['amount'=>'5','order_id'=>$o->get_id()]);`);
      await both.settled(id, 'held');
      await both.afterReadBack();
      await setBuying(true);
      await written(id);
      const rows = await both.rowsOf(id);
      expect(rows).not.toEqual([]);
      const texts = [await privateNotes(id), ...rows.map(({ message }) => message)].join('\n');
      expect(texts).not.toMatch(/after it was (?:bought|ordered)/);
    });

    it('tells a raised quantity in one private note', async () => {
      const id = await both.shop.order([both.line('STEAM-20')]);
      await both.completed(id);
      await edit(id, setQuantity(3));
      await both.afterReadBack();
      await written(id);
      await both.shop.call('PUT', `/orders/${id}`, { customer_note: 'changed again' });
      await both.afterReadBack();
      await both.shop.change(id, `$o->update_status('completed');`);
      await both.afterReadBack();
      await written(id);
      expect(await both.shop.notes(id, false)).toHaveLength(1);
      expect(both.timesMailed(id)).toEqual([1]);
    });

    it('says that the order was deleted, and does not blame a receiver', async () => {
      const id = await boughtUnwritten(both.line('STEAM-20'));
      await both.shop.call('DELETE', `/orders/${id}?force=true`);
      both.shop.setFault(null);
      await expect.poll(async () => (await both.rowsOf(id)).length, within).toBeGreaterThan(0);
      await both.afterReadBack();
      await written(id);
      const { stdout } = await commandLine(both.place, 'queue', 'status');
      const rows = await both.rowsOf(id);
      expect(rows.map(({ message }) => message).join()).toMatch(/delete|gone|no (?:more|longer)/i);
      expect(stdout).not.toContain('repair the receiver');
    });

    // W12: plugins mark the parts of a bundle in the data of the lines.

    it.each([
      [
        'Product Bundles',
        { key: '_bundle_cart_key', value: 'a1' },
        { key: '_bundled_by', value: 'a1' },
      ],
      [
        'WPC Product Bundles',
        { key: '_woosb_ids', value: '1/1/1' },
        { key: '_woosb_parent_id', value: 'PARENT' },
      ],
      [
        'Mix and Match',
        { key: '_mnm_config', value: 'b2' },
        { key: '_mnm_container', value: 'b2' },
      ],
      [
        'Composite Products',
        { key: '_composite_cart_key', value: 'c3' },
        { key: '_composite_parent', value: 'c3' },
      ],
      [
        'YITH Product Bundles',
        { key: '_cartstamp', value: 'd4' },
        { key: '_bundled_by', value: 'd4' },
      ],
    ])(
      'buys a bundle of %s once, and not its parts as well',
      async (_plugin, ofContainer, ofPart) => {
        const container = both.line('STEAM-3PACK');
        const part = {
          ...ofPart,
          value: ofPart.value === 'PARENT' ? String(container['product_id']) : ofPart.value,
        };
        const id = await both.shop.order([
          { ...container, meta_data: [ofContainer] },
          { ...both.line('STEAM-20', 3), meta_data: [part] },
        ]);
        await expect.poll(() => both.statesOf(id), within).toContain('fulfilled');
        await both.afterReadBack();
        expect(both.boughtFor(id)).toBe(3);
      },
    );

    it('buys a bundle once whose parts have a price of zero, and a gift beside another product', async () => {
      const free = { ...both.line('STEAM-20', 3), subtotal: '0', total: '0' };
      const bundle = {
        ...both.line('STEAM-3PACK'),
        meta_data: [{ key: '_bundle_items', value: '3' }],
      };
      const id = await both.shop.order([bundle, free]);
      const gift = await both.shop.order([both.line('STEAM-3PACK'), free]);
      await expect.poll(() => both.statesOf(id), within).toContain('fulfilled');
      await both.settled(gift, 'fulfilled', 'fulfilled');
      await both.afterReadBack();
      expect([both.boughtFor(id), both.boughtFor(gift)]).toEqual([3, 6]);
    });

    // W14

    it('says that nobody was mailed when a customer has no e-mail address', async () => {
      const billing = { first_name: 'By phone', phone: '555-1234' };
      const id = await both.shop.order([both.line('STEAM-20')], { billing });
      await both.settled(id, 'fulfilled');
      await written(id);
      const texts = [
        await privateNotes(id),
        ...(await both.rowsOf(id)).map(({ message }) => message),
      ].join('\n');
      expect(texts).toMatch(/e-?mail/i);
    });

    it('finds an order by the number that the shop shows', async () => {
      both.shop.setPlugin('number', `add_filter('woocommerce_order_number',fn($n)=>'SO-'.$n);`);
      try {
        const id = await both.shop.order([both.line('STEAM-20')]);
        await both.completed(id);
        const search = await commandLine(
          both.place,
          'orders',
          'list',
          '--search',
          `SO-${id}`,
          '--json',
        );
        expect(JSON.parse(search.stdout).orders).toHaveLength(1);
        const { code, stdout } = await commandLine(
          both.place,
          'orders',
          'show',
          `SO-${id}`,
          '--json',
        );
        expect(code).toBe(0);
        expect(JSON.parse(stdout)).toMatchObject({ order_id: id });
      } finally {
        both.shop.setPlugin('number', null);
      }
    });

    it('buys nothing of an order that was deleted for good while it waited', async () => {
      const id = await takenIn(both.line('STEAM-20'));
      await both.shop.call('DELETE', `/orders/${id}?force=true`);
      both.place.change('UPDATE storefront_orders SET current_at_ms = current_at_ms - 300000');
      await setBuying(true);
      await expect.poll(() => both.statesOf(id), within).toEqual(['cancelled']);
      expect(both.boughtFor(id)).toBe(0);
    });
  },
);
