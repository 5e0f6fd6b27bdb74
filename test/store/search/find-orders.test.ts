import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { rows } from '../../support/operator.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const found = (search: string, limit = 50): string[] =>
  outbox.store.read
    .listOrders({ search, limit })
    .map(({ source, orderId }) => `${source}/${orderId}`);

async function bought(
  changes: Parameters<typeof line>[0],
  shown: Partial<typeof answer>,
): Promise<string> {
  const [accepted] = await outbox.accept([line(changes)]);
  const settled = { ...fulfilled, answer: { ...answer, ...shown } };
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), settled));
  return accepted?.reference ?? '';
}

/** An order of a shop of which nothing was bought. */
async function takeUnbought(orderId: string, number: string): Promise<void> {
  const hold = { code: 'unknown_sku', field: null, rule: 'is not in the SKU map', value: null };
  const lines = [{ lineId: '1', sku: 'shirt', isMapped: false, remaining: 1, buy: null, hold }];
  const order = { source: 'woo', orderId, metadata: { storefront_order: number }, modifiedMs: 1 };
  const state = { state: 'paid', status: 'processing', refundCount: 0 } as const;
  const context = {
    refundUnclear: false,
    unreadable: [],
    onRefund: 'review',
    actor: 'test',
    nowMs: 5,
  } as const;
  await outbox.store.storefronts.takeOrder({ ...order, ...state, ...context, lines });
}

describe('a search', () => {
  it.each([
    ['the number that people call an order by', '#9999'],
    ['the same without its sign', '9999'],
    ['the beginning of a number', '#999'],
    ['an e-mail address', 'Anna.B@example.com'],
    ['a name in the metadata, in any letters', 'JOSÉ'],
    ['a number deep in the metadata', '77123'],
    ['two words', 'josé müller'],
    ['the SKU of the shop', 'sku-red'],
    ['the product', 'STEAM-usd-20'],
    ['the order id', 'A-1'],
  ])('finds an order by %s', async (_what, text) => {
    const metadata = {
      storefront_order: '#9999',
      customer: { name: 'José Müller', ids: [1, 77_123] },
    };
    const extra = { email: 'anna.b@example.com', sku: 'SKU-RED', shop_quantity: '55' };
    await outbox.accept([
      line({ source: 'shop2', orderId: 'A-1', variant: 'steam-usd-20', metadata, extra }),
      line({
        orderId: 'B-1',
        metadata: { storefront_order: '#1000', customer: 'Bo Müllerson' },
        extra: { email: 'b@example.com' },
      }),
    ]);
    expect(found(text)).toEqual(['shop2/A-1']);
  });

  it('does not take the name of a field, a fact of the worker or a part of a word for a match', async () => {
    await outbox.accept([
      line({
        metadata: { customer: 'Schmidt' },
        extra: { email: 'anna@example.com', shop_quantity: '55' },
      }),
    ]);
    for (const text of [
      'customer',
      'email',
      '55',
      'chmidt',
      'example.com',
      '',
      ' ',
      '"',
      '*',
      'OR',
      'words:anna',
    ]) {
      expect([text, found(text)]).toEqual([text, []]);
    }
    expect(found('schm')).toEqual(['shop1/1001']);
    expect(found('sc')).toEqual([]);
  });

  it('finds an order by its reference, the number of the supplier and the end of a code', async () => {
    const reference = await bought(
      {},
      { orderNumber: 'GC-100001', units: [{ code: 'DXTY-7WQ3-7YFZ-YHK2' }] },
    );
    await outbox.accept([line({ orderId: 'other' })]);
    for (const text of [
      reference,
      reference.slice(0, 12),
      'GC-100001',
      'GC-1000',
      'yhk2',
      'YHK2',
      '1001',
      '100',
    ]) {
      expect([text, found(text)]).toEqual([text, ['shop1/1001']]);
    }
    expect(found('7YFZ')).toEqual([]);
  });

  it('finds an order by the ICCID that it brought, and what was ordered for that eSIM', async () => {
    const iccid = '8988211000000000001';
    const esim = { operation: 'esim_order', variant: null, plan: 'p', quantity: 1 } as const;
    await bought(esim, { units: [{ iccid }] });
    const topup = {
      operation: 'esim_topup',
      variant: null,
      plan: 'p',
      quantity: null,
      iccid,
    } as const;
    await outbox.accept([line({ ...topup, orderId: 'topup' })]);
    expect(found(iccid)).toEqual(['shop1/topup', 'shop1/1001']);
  });

  it('finds an order of a shop of which nothing was bought', async () => {
    await takeUnbought('5', 'WC-5005');
    expect(found('wc-5005')).toEqual(['woo/5']);
  });

  it('lists orders without lines, and older ones with a newer line, in their places', async () => {
    await outbox.accept([line({ orderId: '1', variant: 'other' }), line({ orderId: '2' })]);
    await takeUnbought('3', 'steam-10');
    await outbox.accept([line({ orderId: '4' })]);
    await outbox.accept([line({ orderId: '1', lineId: 'later' })]);
    const all = ['shop1/4', 'woo/3', 'shop1/2', 'shop1/1'];
    for (const limit of [1, 2, 3, 4, 5])
      expect(found('steam-10', limit)).toEqual(all.slice(0, limit));
    const { id = 0 } = outbox.store.read.listOrders({ search: 'steam-10', limit: 1 })[0] ?? {};
    const older = outbox.store.read.listOrders({ search: 'steam-10', limit: 2, beforeId: id });
    expect(older.map(({ orderId }) => orderId)).toEqual(['3', '2']);
  });

  it('lists the newest first, page by page, within the other filters', async () => {
    const many = Array.from({ length: 30 }, (_, index) =>
      line({ orderId: `${index}`, source: `shop${index % 2}` }),
    );
    await outbox.accept(many);
    expect(found('steam-10', 3)).toEqual(['shop1/29', 'shop0/28', 'shop1/27']);
    const [, second] = outbox.store.read.listOrders({ search: 'steam-10', limit: 2 });
    const next = { search: 'steam-10', source: 'shop0', limit: 2, beforeId: second?.id ?? 0 };
    expect(outbox.store.read.listOrders(next).map(({ orderId }) => orderId)).toEqual(['26', '24']);
  });

  it('finds what was accepted beside a request that could not be written, and nothing of that one', async () => {
    const request = (orderId: string, source = 'shop1') => ({
      nowMs: 5,
      lines: [
        line({
          source,
          orderId,
          metadata: { number: `n-${orderId}` },
          extra: { sku: `sku-${orderId}` },
        }),
      ],
    });
    const outcomes = await outbox.store.intake.acceptRequests([
      request('a'),
      request('b', ''),
      request('c'),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'failed', 'accepted']);
    await outbox.accept([line({ orderId: 'd' })]);
    expect(['n-a', 'n-b', 'sku-b', 'sku-c', 'steam-10'].map((text) => found(text))).toEqual([
      ['shop1/a'],
      [],
      [],
      ['shop1/c'],
      ['shop1/d', 'shop1/c', 'shop1/a'],
    ]);
  });

  it('is bounded in what it stores of an order', async () => {
    const metadata = {
      note: 'x'.repeat(16_000),
      many: Array.from({ length: 500 }, (_, index) => `word${index}`),
    };
    await outbox.accept([line({ metadata })]);
    expect(found('word3')).toEqual(['shop1/1001']);
    expect(found('word499')).toEqual([]);
    expect(found('x'.repeat(64))).toEqual(['shop1/1001']);
  });

  it('keeps no code but its last four characters, and nothing of a short one', async () => {
    await bought({}, { units: [{ code: 'DXTY-7WQ3-7YFZ-YHK2' }] });
    await bought({ orderId: 'b' }, { units: [{ code: 'AB12C' }] });
    const marks = rows<{ mark: string }>(outbox, 'SELECT * FROM unit_marks ORDER BY entry_id');
    expect(marks).toMatchObject([
      { ending: 'YHK2', entry_id: 1 },
      { ending: null, entry_id: 2 },
    ]);
    expect(marks.map(({ mark }) => mark).join()).not.toMatch(/dxty|yhk2|ab12c/i);
    expect(
      JSON.stringify(rows(outbox, 'SELECT CAST(block AS TEXT) AS text FROM search_words_data')),
    ).not.toMatch(/yhk2|7yfz/i);
  });
});
