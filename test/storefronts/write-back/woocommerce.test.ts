import { StubWooCommerce } from '../read-back/stub-shop.ts';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { WooCommerceWriteBack } from '../../../src/storefronts/woocommerce/settings.ts';
import { minutesAgo, wooBody } from '../read-back/running-read-back.ts';
import { codeOf, type End, WrittenShop, writtenWooShop } from './written-shop.ts';
import { redeliver } from '../../support/redeliver.ts';

const card = (id: string, quantity = 1) => ({
  id,
  name: 'Steam <20>',
  sku: 'STEAM-20',
  quantity,
  meta_data: [],
});
const other = (id: string) => ({ id, name: 'A book', sku: 'BOOK', quantity: 1, meta_data: [] });

/** A shop with order 7, which is taken in. */
async function shopWith(
  items: readonly object[],
  changes: Partial<WooCommerceWriteBack> = {},
  totalMs?: number,
): Promise<{
  stub: StubWooCommerce;
  written: WrittenShop;
  order: ReturnType<StubWooCommerce['put']>;
}> {
  const stub = await new StubWooCommerce().open();
  const order = stub.put({
    id: '7',
    modifiedMs: minutesAgo(30),
    body: wooBody('1', { line_items: items, total: '40.00', order_key: 'wc_order_7' }),
  });
  const written = await WrittenShop.open(writtenWooShop(stub.url, changes, totalMs), stub);
  await written.takeIn(stub.shown(order));
  return { stub, written, order };
}

async function told(written: WrittenShop, end: End = 'fulfilled'): Promise<void> {
  await written.buy(() => end);
  await written.told();
}

const referencesOf = (written: WrittenShop): readonly string[] =>
  (written.store.read.showOrder('main', '7')?.entries ?? []).map(({ reference }) => reference);
const codesOf = (written: WrittenShop, count = 1): readonly string[] =>
  referencesOf(written).flatMap((reference) =>
    Array.from({ length: count }, (_, index) => codeOf(reference, index)),
  );
const deliveriesOf = (written: WrittenShop) =>
  written.store.read.showOrder('main', '7')?.deliveries ?? [];
/** The outbox is another one, which knows nothing of posted notes. */
function forgetPosts(written: WrittenShop): void {
  const database = new SqliteDatabase(written.outbox.path);
  database.prepare('UPDATE deliveries SET note_posts = NULL').run();
  database.close();
}

const written7 = (stub: StubWooCommerce) =>
  stub.calls
    .filter(({ method }) => method !== 'GET')
    .map(({ method, url }) => `${method} ${url.pathname.slice(21)}`);

describe('a result in an order of WooCommerce', () => {
  it('is not given to the customer of another sale that the shop gave the same id', async () => {
    const { stub, written, order } = await shopWith([card('71')], { deliverCodes: 'note' });
    await written.buy(() => 'fulfilled');
    order.body['order_key'] = 'wc_order_of_another_sale';
    await written.takeIn(stub.shown(order));
    await written.told();
    expect([written7(stub), stub.shop.mails]).toEqual([[], []]);
    expect(deliveriesOf(written)).toMatchObject([
      { lastError: expect.stringContaining('another sale') },
    ]);
  });

  it('stands in its fields before it is completed, and a private note says so', async () => {
    const { stub, written, order } = await shopWith([card('71', 2)]);
    await told(written);
    const [code = '', second = ''] = codesOf(written, 2);
    expect(order.body['status']).toBe('completed');
    const [mail] = stub.shop.mails;
    expect([stub.shop.mails.length, mail?.kind]).toEqual([1, 'completed']);
    expect(mail?.text).toContain(code);
    expect(mail?.text).toContain(second);
    expect(stub.shop.notesOf('7').map(({ customer_note: isForCustomer }) => isForCustomer)).toEqual(
      [false],
    );
    expect(stub.shop.notesOf('7')[0]?.note).toContain(
      `Delivered: STEAM-20 × 2 (line 71), ordered as ${referencesOf(written)[0]}`,
    );
    expect(written7(stub)).toEqual(['PUT /7', 'PUT /7', 'POST /7/notes']);
    // With its lines, the shop would calculate its total anew.
    expect(stub.calls.filter(({ body }) => body.includes('line_items'))).toEqual([]);
    expect(JSON.stringify([stub.shop.notesOf('7'), written.log])).not.toContain(code);
    expect(deliveriesOf(written)).toMatchObject([
      { sink: 'woocommerce:main', givenUpAt: null, done: true },
    ]);
  });

  it('is neither written nor mailed over the result of another worker, which flags the shop', async () => {
    const { stub, written, order } = await shopWith([card('71')], { deliverCodes: 'note' });
    const lines = [
      { line_id: '71', state: 'fulfilled', references: ['os-aaaaaaaaaaaaaaaaaaaaaaaaaa'] },
    ];
    const value = JSON.stringify({ sandbox: true, lines });
    order.body['meta_data'] = [{ id: 1, key: '_order_sync_result', value }];
    await told(written);
    expect([written7(stub), stub.shop.mails]).toEqual([[], []]);
    expect(written.store.read.attention(10).map(({ reason }) => reason)).toContain('other_worker');
    expect(deliveriesOf(written)).toMatchObject([
      { lastError: expect.stringContaining('another worker') },
    ]);
  });

  it('is not written before something was delivered or needs review', async () => {
    const { stub, written } = await shopWith([card('71')]);
    await written.told();
    expect(stub.calls).toEqual([]);
  });

  it('changes nothing when it is written again, and intake takes its echo for nothing new', async () => {
    const { stub, written, order } = await shopWith([card('71'), card('72', 3)], {
      deliverCodes: 'note',
      lineMeta: true,
    });
    const taken: unknown[] = [];
    stub.shop.onUpdated = (changed) => void taken.push(written.takeIn(stub.shown(changed)));
    await told(written);
    const shown = structuredClone([order.body, stub.shop.notesOf('7')]);
    await redeliver(written.store, { source: 'main' }, Date.now());
    const calls = written7(stub).length;
    await written.told();
    expect([order.body, stub.shop.notesOf('7'), stub.shop.addedLines]).toEqual([...shown, []]);
    expect(written7(stub)).toHaveLength(calls);
    expect(await Promise.all(taken)).toEqual(taken.map(() => [0, 0, 0]));
    expect(taken).not.toEqual([]);
    expect(await written.takeIn(stub.shown(order))).toEqual([0, 0, 0]);
    expect(referencesOf(written)).toHaveLength(2);
  });

  it('does not complete an order with a line that is not ours, refunded, or not delivered', async () => {
    const mixed = await shopWith([card('71'), other('72')]);
    await told(mixed.written);
    expect([mixed.order.body['status'], mixed.stub.shop.mails]).toEqual(['processing', []]);
    expect(mixed.stub.shop.fieldsOf('7')['_order_sync_codes']).toContain(codesOf(mixed.written)[0]);

    const failed = await shopWith([card('71'), card('72')]);
    await failed.written.buy((lineId) => (lineId === '71' ? 'fulfilled' : 'rejected'));
    await failed.written.told();
    expect(failed.order.body['status']).toBe('processing');
    expect(failed.stub.shop.notesOf('7')[0]?.note).toContain(
      'Needs review: STEAM-20 × 1 (line 72)',
    );
    expect(failed.stub.shop.notesOf('7')[0]?.note).toContain('rejected: no such product');

    const refunded = await shopWith([card('71'), card('72')]);
    await refunded.written.buy();
    const items = [{ quantity: -1, meta_data: [{ key: '_refunded_item_id', value: '72' }] }];
    refunded.order.refunds = [{ id: '9', line_items: items }];
    await refunded.written.told();
    expect(refunded.order.body['status']).toBe('processing');
    const [kept = '', taken = ''] = codesOf(refunded.written);
    expect(refunded.stub.shop.fieldsOf('7')['_order_sync_codes']).toContain(kept);
    expect(refunded.stub.shop.fieldsOf('7')['_order_sync_codes']).not.toContain(taken);
  });

  it('keeps the status and writes no codes, as configured', async () => {
    const { stub, written, order } = await shopWith([card('71')], {
      status: 'keep',
      deliverCodes: 'off',
    });
    await told(written);
    expect([order.body['status'], stub.shop.mails]).toEqual(['processing', []]);
    expect(stub.shop.fieldsOf('7')['_order_sync_state']).toBe('completed');
    expect(JSON.stringify([order.body, stub.shop.notesOf('7')])).not.toContain(codesOf(written)[0]);
  });

  it('reaches the customer in one note, each value as it is', async () => {
    const { stub, written } = await shopWith([card('71')], { deliverCodes: 'note' });
    await told(written);
    const [code = ''] = codesOf(written);
    expect(stub.shop.mails.map(({ kind }) => kind)).toEqual(['note', 'completed']);
    const [mail] = stub.shop.mails;
    expect(mail?.text).toContain(
      `<strong>Steam &lt;20&gt; × 1</strong>\nCode: <code>${code}</code>`,
    );
    // Nobody sees the marker, and no second note repeats what the first one says.
    expect(mail?.text).toMatch(/<\/code><!--order-sync:[0-9a-f]{16}-->$/);
    expect([stub.shop.notesOf('7').length, stub.calls.map(({ method }) => method)]).toEqual([
      1,
      // It may have been refunded while the note was posted.
      ['GET', 'PUT', 'POST', 'GET', 'PUT'],
    ]);
    expect(JSON.stringify([stub.order('7').body, written.log])).not.toContain(code);
  });

  it('says a new state in a new note, and the same state in no second one', async () => {
    const { stub, written, order } = await shopWith([card('71')]);
    await told(written, 'needs_review');
    expect(stub.shop.notesOf('7').map(({ note }) => note.includes('Needs review'))).toEqual([true]);
    await redeliver(written.store, {}, Date.now());
    await written.told();
    expect([stub.shop.notesOf('7').length, order.body['status']]).toEqual([1, 'processing']);
  });
});

describe('an order that changed in the shop meanwhile', () => {
  it('gets its codes only when an operator has released it', async () => {
    const { stub, written, order } = await shopWith([card('71')]);
    order.body['status'] = 'on-hold';
    await written.buy();
    await written.start();
    await written.untilLogged('a result could not be delivered', 2);
    expect(written.logged('a result could not be delivered')[0]?.['err']).toContain(
      'has the status "on-hold"',
    );
    expect(JSON.stringify(order.body)).not.toContain(codesOf(written)[0]);
    expect(stub.shop.notesOf('7').map(({ note }) => note)).toEqual([
      expect.stringMatching(/^Bought, not given: .* because the order is &quot;on-hold&quot;\.$/m),
    ]);
    order.body['status'] = 'processing';
    await written.told();
    expect([order.body['status'], stub.shop.notesOf('7').length]).toEqual(['completed', 2]);
    expect(JSON.stringify(order.body)).toContain(codesOf(written)[0]);
  });

  it('is only noted when it was cancelled, not touched in the trash, and given up when it was deleted', async () => {
    const cancelled = await shopWith([card('71')]);
    cancelled.order.body['status'] = 'cancelled';
    await told(cancelled.written);
    expect([cancelled.order.body['status'], cancelled.stub.shop.notesOf('7').length]).toEqual([
      'cancelled',
      1,
    ]);
    expect(Object.keys(cancelled.stub.shop.fieldsOf('7'))).toEqual(['_order_sync_notes']);

    const trash = await shopWith([card('71')]);
    trash.order.body['status'] = 'trash';
    await told(trash.written);
    expect(written7(trash.stub)).toEqual([]);

    const deleted = await shopWith([card('71')]);
    deleted.stub.orders.length = 0;
    await told(deleted.written);
    const [delivery] = deliveriesOf(deleted.written);
    expect(delivery).toMatchObject({ givenUpAt: expect.any(String) });
    expect(deleted.written.store.read.attention(10)[0]?.reason).toBe('gone_in_shop');
    expect(deleted.written.store.read.attention(10).map(({ message }) => message)).toEqual([
      expect.stringContaining('the shop no longer has the order 7'),
    ]);
  });

  it('is not completed with a quantity that was raised, and keeps what people wrote', async () => {
    const { stub, written, order } = await shopWith([card('71', 2)]);
    await written.buy();
    order.body['line_items'] = [card('71', 3)];
    order.body['meta_data'] = [
      { id: 1, key: 'gift_message', value: 'Hi' },
      { id: 2, key: '_order_sync_state', value: 'old' },
    ];
    await written.told();
    expect(stub.shop.fieldsOf('7')).toMatchObject({
      gift_message: 'Hi',
      _order_sync_state: 'completed',
    });
    expect([order.body['status'], '_order_sync_codes' in stub.shop.fieldsOf('7')]).toEqual([
      'processing',
      true,
    ]);
  });

  it('is completed with the line that an operator said to be the one that was bought', async () => {
    const { stub, written, order } = await shopWith([card('71')]);
    await written.buy();
    order.body['line_items'] = [card('72')];
    order.modifiedMs += 60_000;
    await written.takeIn(stub.shown(order));
    await written.decideSame('72');
    await written.told();
    expect(order.body['status']).toBe('completed');
    expect(JSON.parse(String(stub.shop.fieldsOf('7')['_order_sync_codes']))).toMatchObject([
      { line_id: '72', units: [{}] },
    ]);
  });
});

describe('a shop that does not answer as it should', () => {
  it('gets a note once although the answer was lost, also when it posts it late', async () => {
    for (const fault of [
      { kind: 'unanswered' },
      { kind: 'late', ms: 150 },
      { kind: 'lost' },
    ] as const) {
      const { stub, written } = await shopWith([card('71')], { deliverCodes: 'note' }, 150);
      const faulty = new Set<number>();
      stub.faultOf = ({ method, number }) => {
        if (method !== 'POST' || faulty.size >= 2) return { kind: 'none' };
        faulty.add(number);
        return fault;
      };
      await told(written);
      await stub.settled();
      expect([fault.kind, stub.shop.notesOf('7').length, stub.shop.mails.length]).toEqual([
        fault.kind,
        1,
        2,
      ]);
      expect(stub.order('7').body['status']).toBe('completed');
    }
  });

  it('gets a note once although a late write removed what the order says of its notes', async () => {
    const { stub, written, order } = await shopWith([card('71')], { deliverCodes: 'note' });
    await told(written);
    expect(stub.shop.notesOf('7')).toHaveLength(1);
    forgetPosts(written);
    // As an earlier write leaves the fields when the shop processes it last.
    order.body['meta_data'] = [{ key: '_order_sync_state', value: 'in_progress' }];
    await redeliver(written.store, { source: 'main' }, Date.now());
    await written.told();
    expect(stub.shop.notesOf('7')).toHaveLength(1);
    expect(order.body['meta_data']).toContainEqual(
      expect.objectContaining({ key: '_order_sync_state', value: 'completed' }),
    );
  });

  it('gets a note once although it posts it late, and the outbox was lost meanwhile', async () => {
    const { stub, written } = await shopWith([card('71')], { deliverCodes: 'note' }, 150);
    await told(written);
    await written.stop();
    // As another worker finds it: announced, and not posted yet.
    forgetPosts(written);
    const late = stub.shop.notesOf('7');
    stub.shop.notes.delete('7');
    await redeliver(written.store, { source: 'main' }, Date.now());
    await written.restart();
    await written.untilLogged('a result is delivered later', 1);
    stub.shop.notes.set('7', [...late]);
    await written.told();
    expect(stub.shop.notesOf('7')).toEqual(late);
  });

  it('is not called by anybody while it wants no calls, and told that its key may not write', async () => {
    const { stub, written } = await shopWith([card('71')]);
    stub.faultOf = () => ({
      kind: 'refuse',
      reply: { status: 429, body: {}, headers: { 'retry-after': '120' } },
    });
    await written.buy();
    await written.start();
    const asked =
      'the receiver asked the worker to wait: nothing is sent to this sink for `wait_ms`';
    await written.untilLogged(asked, 1);
    const [line] = written.logged(asked);
    expect([line?.['wait_ms'], stub.calls.length]).toEqual([120_000, 1]);

    const refused = await shopWith([card('71')]);
    refused.stub.shop.permission = 'read';
    await told(refused.written);
    const [given] = refused.written.logged(
      'gave up delivering a result: the worker tries again only when the result changes or an operator asks for it',
    );
    expect(given?.['err']).toContain('must have the right to write orders');
  });

  it('is told when it does not keep what is written, and what fields of lines do to its totals', async () => {
    const dropping = await shopWith([card('71')]);
    dropping.stub.shop.onUpdated = (order) => void (order.body['meta_data'] = []);
    await told(dropping.written);
    expect(deliveriesOf(dropping.written)).toMatchObject([{ givenUpAt: expect.any(String) }]);
    expect(JSON.stringify(dropping.written.log)).toContain(
      'the shop did not keep the field _order_sync_',
    );

    const counting = await shopWith([card('71')], { lineMeta: true });
    counting.order.body['calculated_total'] = '40.01';
    await told(counting.written);
    expect(counting.stub.shop.fieldsOf('7', '71')).toEqual({
      _order_sync_state: 'fulfilled',
      Code: codesOf(counting.written)[0],
    });
    expect(counting.stub.shop.addedLines).toEqual([]);
    expect(counting.written.log.map(({ msg }) => msg)).toContain(
      'the shop calculated another total when fields of its lines were written: set line_meta: false',
    );
  });
});
