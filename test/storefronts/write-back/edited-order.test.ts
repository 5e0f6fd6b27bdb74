import { StubWooCommerce } from '../read-back/stub-shop.ts';
import { describe, expect, it } from 'vitest';
import type { WooCommerceWriteBack } from '../../../src/storefronts/woocommerce/settings.ts';
import { minutesAgo, wooBody } from '../read-back/running-read-back.ts';
import { codeOf, WrittenShop, writtenWooShop } from './written-shop.ts';

const card = (quantity: number) => ({
  id: '71',
  name: 'Steam 20',
  sku: 'STEAM-20',
  quantity,
  meta_data: [],
});

/** A shop with order 7 of so many cards, which is taken in, and whose codes are mailed. */
async function shopWith(
  quantity: number,
  changes: Partial<WooCommerceWriteBack> = {},
  body: object = {},
) {
  const stub = await new StubWooCommerce().open();
  const shown = wooBody('1', { line_items: [card(quantity)], total: '40.00', ...body });
  const order = stub.put({ id: '7', modifiedMs: minutesAgo(30), body: shown });
  const written = await WrittenShop.open(
    writtenWooShop(stub.url, { deliverCodes: 'note', ...changes }),
    stub,
  );
  await written.takeIn(stub.shown(order));
  /** Staff of the shop change the order, and the worker hears of it. */
  const edit = async (change: () => void) => {
    change();
    order.modifiedMs += 1000;
    await written.takeIn(stub.shown(order), order.refunds);
  };
  return {
    stub,
    written,
    order,
    edit,
    setQuantity: async (now: number) => await edit(() => (order.body['line_items'] = [card(now)])),
    /** How many of the codes that were bought are in the mails. */
    mailed: () => {
      const [entry] = written.store.read.showOrder('main', '7')?.entries ?? [];
      const mails = stub.shop.mails.filter(({ kind }) => kind === 'note').map(({ text }) => text);
      const codes = Array.from({ length: entry?.unitCount ?? 0 }, (_, index) =>
        codeOf(entry?.reference ?? '', index),
      );
      return codes.map((code) => mails.join('').split(`${code}<`).length - 1);
    },
    notes: () =>
      stub.shop
        .notesOf('7')
        .flatMap(({ note, customer_note: isForCustomer }) => (isForCustomer ? [] : [note])),
  };
}

const refundOf = (id: string, quantity: number) => ({
  id,
  total: `-${quantity * 20}.00`,
  line_items: [{ quantity: -quantity, meta_data: [{ key: '_refunded_item_id', value: '71' }] }],
});
const flagsOf = ({ store }: WrittenShop) => store.read.attention(10).map(({ code }) => code);

it('an order that an operator released although it has no date of payment gives what was bought', async () => {
  const { written, order, edit, mailed } = await shopWith(1);
  await written.buy();
  await edit(() => (order.body['date_paid_gmt'] = null));
  await written.told();
  expect([mailed(), order.body['status']]).toEqual([[1], 'completed']);
});

describe('an order whose quantity is raised', () => {
  it('before it is sent is bought with the new quantity, and given and completed', async () => {
    const { written, order, setQuantity, mailed } = await shopWith(1);
    await setQuantity(3);
    await written.buy();
    await written.told();
    expect([mailed(), order.body['status'], flagsOf(written)]).toEqual([
      [1, 1, 1],
      'completed',
      [],
    ]);
  });

  it('after the purchase gives what was bought, says the difference in one note, and is not completed', async () => {
    const { written, order, setQuantity, mailed, notes } = await shopWith(1);
    await written.buy();
    await setQuantity(3);
    await written.told();
    expect([mailed(), order.body['status'], flagsOf(written)]).toEqual([
      [1],
      'processing',
      ['changed_after_purchase'],
    ]);
    expect(notes().map((note) => note.split('\n').slice(1, -1))).toEqual([
      [expect.stringMatching(/^Changed in the shop: .*was ordered as 1 of &quot;STEAM-20&quot;/)],
    ]);
  });
});

describe('an order of which fewer are left than were bought', () => {
  it('gets nothing, says why, and is delivered by itself when it fits again, also after an acknowledgement', async () => {
    const { written, order, setQuantity, mailed, notes } = await shopWith(2);
    await written.buy();
    await setQuantity(1);
    await written.told();
    expect([mailed(), order.body['status'], flagsOf(written)]).toEqual([
      [0, 0],
      'processing',
      ['refunded_in_storefront'],
    ]);
    expect(notes()).toHaveLength(1);
    expect(notes()[0]).toMatch(
      /^Bought, not given: STEAM-20 × 2 \(line 71\), .* because the order has 1 of 2 now\.$/m,
    );
    expect(notes()[0]).not.toContain('Delivered');
    const who = { actor: 'test', reason: 'for the test', nowMs: Date.now() };
    await written.store.operator.acknowledge({ ...who, which: { code: 'refunded_in_storefront' } });
    await setQuantity(2);
    await written.told();
    expect([mailed(), order.body['status']]).toEqual([[1, 1], 'completed']);
  });

  it('is delivered by itself when its cancellation was taken back', async () => {
    const { written, order, edit, mailed, notes } = await shopWith(2);
    await written.buy();
    await edit(() => (order.body['status'] = 'cancelled'));
    await written.told();
    expect([mailed(), notes()[0]]).toEqual([
      [0, 0],
      expect.stringContaining('because the order is &quot;cancelled&quot;'),
    ]);
    await edit(() => (order.body['status'] = 'processing'));
    await written.told();
    expect([mailed(), order.body['status']]).toEqual([[1, 1], 'completed']);
  });

  it.each(['note', 'meta'] as const)(
    'gets as many as an operator decides, once, with deliver_codes: %s',
    async (mode) => {
      const { stub, written, order, edit, mailed } = await shopWith(3, {
        deliverCodes: mode,
        lineMeta: mode === 'meta',
      });
      const fields = () => [
        stub.shop.fieldsOf('7')['_order_sync_codes'],
        stub.shop.fieldsOf('7', '71')['Code'],
      ];
      /** How many codes stand in the mails, in the field of the order, and in that of its line. */
      const given = () => [
        mailed().join(),
        ...fields().map((text) => (String(text).match(/CODE-/g) ?? []).length),
      ];
      const two = mode === 'note' ? ['1,1,0', 0, 0] : ['0,0,0', 2, 2];
      await written.buy();
      await edit(() => void order.refunds.push(refundOf('9', 1)));
      await written.told();
      await expect(written.decideGiven('71', 4)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
      // The webhook of our own note: it does not say how many were refunded, so the order waits to
      // be read back.
      order.modifiedMs += 60_000;
      await written.takeIn(stub.shown(order), 'not_read');
      await written.decideGiven('71', 2);
      await written.told();
      expect([given(), flagsOf(written), order.body['status']]).toEqual([two, [], 'completed']);
      await expect(written.decideGiven('71', 3)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
      // A later change gives nothing more by itself.
      await edit(() => (order.refunds = [refundOf('9', 1), refundOf('10', 1)]));
      await written.told();
      expect(given()).toEqual(two);
      const decided = written.outbox.auditLog().filter(({ action }) => action === 'give');
      expect(decided.map(({ detail }) => JSON.parse(String(detail)).pieces)).toEqual([2]);
    },
  );
});

describe('an order that is refunded while it is completed', () => {
  it('is not completed when it was refunded after it was read', async () => {
    const { stub, written, order } = await shopWith(1);
    stub.shop.onMail = ({ kind }) => {
      if (kind !== 'note') return;
      order.refunds = [refundOf('9', 1)];
      order.body['status'] = 'refunded';
    };
    await written.buy();
    await written.told();
    expect(order.body['status']).toBe('refunded');
    expect(stub.calls.filter(({ body }) => body.includes('"status"'))).toEqual([]);
  });

  it('is refunded again when the refund came between the read and the status', async () => {
    const { stub, written, order } = await shopWith(1, {}, { total: '20.00' });
    stub.faultOf = ({ method, body }) => {
      if (method === 'PUT' && body.includes('"status":"completed"'))
        order.refunds = [refundOf('9', 1)];
      return { kind: 'none' };
    };
    await written.buy();
    await written.told();
    expect(order.body['status']).toBe('refunded');
    expect(written.logged('wrote the result into the order of the shop')[0]?.['written']).toEqual(
      expect.arrayContaining(['status completed', 'status refunded']),
    );
  });
});

describe('a private note', () => {
  it('does not say that the shop held a line, and that it was refunded after a purchase that never was', async () => {
    const { written, order, edit, notes } = await shopWith(2);
    // An amount without a line: nobody knows what is left, so the line is held.
    await edit(() => void order.refunds.push({ id: '9', total: '-5.00', line_items: [] }));
    await written.told();
    const [entry] = written.store.read.showOrder('main', '7')?.entries ?? [];
    expect([entry?.state, notes()]).toEqual(['held', []]);
    expect(entry?.reviewReason).toContain('refunded in part');
    expect(entry?.reviewReason).not.toContain('bought');
  });

  it('says each change of the shop once', async () => {
    const { written, setQuantity, notes } = await shopWith(1);
    await written.buy();
    await written.told();
    for (const quantity of [3, 4]) {
      await setQuantity(quantity);
      await written.told();
    }
    const said = notes().map((note) => note.split('\n').slice(1, -1));
    expect(said.map((lines) => lines.length)).toEqual([1, 1]);
    expect(said.flat().map((text) => /order now has (\d)/.exec(text)?.[1])).toEqual(['3', '4']);
  });

  it('says that an order without an e-mail address has codes that nobody was mailed, as the attention list does', async () => {
    const { written, order, notes } = await shopWith(
      1,
      {},
      { billing: { first_name: 'Phone', email: '' } },
    );
    await written.buy();
    await written.told();
    expect(order.body['status']).toBe('processing');
    expect(notes()).toEqual([
      expect.stringContaining('Needs review: the order: has no e-mail address'),
    ]);
    const [row] = written.store.read.attention(10);
    expect(row).toMatchObject({ reason: 'nobody_mailed', canAcknowledge: true });
    const who = { actor: 'test', reason: 'for the test', nowMs: Date.now() };
    await written.store.operator.acknowledge({ ...who, which: { ids: [row?.id ?? ''] } });
    expect(written.store.read.attention(10)).toEqual([]);
  });
});
