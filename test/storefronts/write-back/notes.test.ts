import { StubWooCommerce } from '../read-back/stub-shop.ts';
import { describe, expect, it } from 'vitest';
import type { WooCommerceWriteBack } from '../../../src/storefronts/woocommerce/settings.ts';
import { redeliver } from '../../support/redeliver.ts';
import { minutesAgo, wooBody } from '../read-back/running-read-back.ts';
import { codeOf, WrittenShop, writtenWooShop } from './written-shop.ts';

const card = (id: string, quantity = 1) => ({
  id,
  name: 'Steam 20',
  sku: 'STEAM-20',
  quantity,
  meta_data: [],
});
const idsOf = (count: number) => Array.from({ length: count }, (_, index) => String(100 + index));

/** A shop with order 7, which is taken in, and whose codes are mailed. */
async function shopWith(
  items: readonly object[],
  changes: Partial<WooCommerceWriteBack> = {},
  totalMs?: number,
) {
  const stub = await new StubWooCommerce().open();
  const body = wooBody('1', { line_items: items, total: '40.00' });
  const order = stub.put({ id: '7', modifiedMs: minutesAgo(30), body });
  const written = await WrittenShop.open(
    writtenWooShop(stub.url, { deliverCodes: 'note', ...changes }, totalMs),
    stub,
  );
  await written.takeIn(stub.shown(order));
  const mails = () => stub.shop.mails.filter(({ kind }) => kind === 'note').map(({ text }) => text);
  const codes = (): readonly string[] =>
    (written.store.read.showOrder('main', '7')?.entries ?? []).map(({ reference }) =>
      codeOf(reference, 0),
    );
  return { stub, written, order, mails, codes };
}

/** How often the mails have each code. */
const timesIn = (mails: readonly string[], codes: readonly string[]) =>
  codes.map((code) => mails.join('').split(code).length - 1);

describe('an order whose lines are delivered one by one', () => {
  it('gets one mail when all of them are there', async () => {
    const ids = idsOf(26);
    const { stub, written, order, mails, codes } = await shopWith(ids.map((id) => card(id)));
    written.retryTimeScale = 1;
    for (const id of ids.slice(0, -1)) {
      await written.buy((lineId) => (lineId === id ? 'fulfilled' : null));
      await written.postponed();
    }
    expect([stub.calls, order.body['status']]).toEqual([[], 'processing']);
    await written.buy();
    await written.told();
    expect([mails().length, order.body['status']]).toEqual([1, 'completed']);
    expect(timesIn(mails(), codes())).toEqual(ids.map(() => 1));
    expect(stub.calls).toHaveLength(5);
  });

  it('gets what is there ten minutes after the last one, and each code in one mail only', async () => {
    const { written, order, mails, codes } = await shopWith(idsOf(3).map((id) => card(id)));
    // Ten minutes take six milliseconds here.
    for (const end of ['100', '101', '102']) {
      await written.buy((lineId) => (lineId <= end ? 'fulfilled' : null));
      await written.told();
    }
    expect([mails().length, order.body['status']]).toEqual([3, 'completed']);
    expect(timesIn(mails(), codes())).toEqual([1, 1, 1]);
  });

  it('gets each code in one mail only when the shop posts the first note late', async () => {
    const { stub, written, mails, codes } = await shopWith([card('100'), card('101')], {}, 300);
    let posts = 0;
    stub.faultOf = ({ method }) =>
      method === 'POST' && (posts += 1) === 1 ? { kind: 'late', ms: 250 } : { kind: 'none' };
    await written.buy((lineId) => (lineId === '100' ? 'fulfilled' : null));
    await written.start();
    await written.untilLogged('a result could not be delivered', 1);
    await written.buy();
    await written.told();
    await stub.settled();
    expect(timesIn(mails(), codes())).toEqual([1, 1]);
  });

  it('gets everything that is left in the last of many mails, and is completed', async () => {
    const ids = idsOf(14);
    const { written, order, mails, codes } = await shopWith(ids.map((id) => card(id)));
    for (const end of ids) {
      await written.buy((lineId) => (lineId <= end ? 'fulfilled' : null));
      await written.told();
    }
    expect([mails().length, order.body['status']]).toEqual([11, 'completed']);
    expect(timesIn(mails(), codes())).toEqual(ids.map(() => 1));
  });
});

describe('an order with more codes than a note can keep', () => {
  it('gets several mails, and each code in one of them', async () => {
    const { stub, written, order, mails, codes } = await shopWith([
      card('71', 900),
      card('72', 900),
    ]);
    await written.buy();
    await written.told();
    const texts = mails().map((text) => [...text.matchAll(/CODE-[^<]+/g)].map(([code]) => code));
    expect([texts.length, order.body['status'], stub.shop.notesOf('7').length]).toEqual([
      2,
      'completed',
      2,
    ]);
    expect([texts.flat().length, new Set(texts.flat()).size]).toEqual([1800, 1800]);
    expect(
      timesIn(
        mails(),
        codes().map((code) => `${code}<`),
      ),
    ).toEqual([1, 1]);
    expect(mails().map((text) => text.match(/Steam 20 × 900/g)?.length)).toEqual([2, 1]);
  });
});

describe('a line that the shop changes after its mail', () => {
  it('is not told again in a private note, because its customer has read it', async () => {
    const { stub, written, order, mails } = await shopWith([card('100')]);
    await written.buy();
    await written.told();
    order.body = { ...order.body, line_items: [card('100', 2)] };
    await redeliver(written.store, {}, Date.now());
    await written.told();
    expect(mails()).toHaveLength(1);
    expect(
      stub.shop.notesOf('7').filter(({ customer_note: isForCustomer }) => !isForCustomer),
    ).toEqual([]);
  });
});

describe('a line that was removed and added again after its mail', () => {
  it('is not mailed again when an operator says that it is the same, and the note shows how to say so', async () => {
    const { stub, written, order, mails, codes } = await shopWith([
      card('71'),
      { ...card('79'), sku: 'BOOK' },
    ]);
    await written.buy();
    await written.told();
    const [code = ''] = codes();
    order.body['line_items'] = [card('72'), { ...card('79'), sku: 'BOOK' }];
    order.modifiedMs = Date.now() + 60_000;
    await written.takeIn(stub.shown(order));
    await written.told();
    expect(stub.shop.notesOf('7').at(-1)?.note).toContain(
      '<code>orders cancel</code> ends this line',
    );
    await written.decideSame('72');
    await written.told();
    expect([timesIn(mails(), [code]), stub.shop.notesOf('7').length]).toEqual([[1], 2]);
  });
});

describe('a note that the shop refuses', () => {
  it.each([
    ['its own error', { code: 'no', message: 'no notes' }, /no notes/],
    ['the page of another program', {}, /400, not WooCommerce's answer/],
  ])(
    'with %s does not keep the order from its fields and its status, and is in the attention list',
    async (_, body, why) => {
      const { stub, written, order } = await shopWith([card('100')]);
      stub.faultOf = ({ method }) =>
        method === 'POST' ? { kind: 'refuse', reply: { status: 400, body } } : { kind: 'none' };
      await written.buy();
      await written.told();
      expect([order.body['status'], stub.shop.fieldsOf('7')['_order_sync_state']]).toEqual([
        'completed',
        'completed',
      ]);
      expect(written.store.read.attention(10).map(({ message }) => message)).toEqual([
        expect.stringMatching(why),
      ]);
    },
  );
});

describe('a worker that was killed', () => {
  it('lets a note wait only if its post had begun', async () => {
    const { stub, written, mails } = await shopWith([card('100')], {}, 60_000);
    // Before the post: the shop has been told which note comes.
    stub.faultOf = ({ method, number }) => {
      if (method !== 'PUT' || number > 2) return { kind: 'none' };
      written.kill();
      return { kind: 'unanswered' };
    };
    await written.buy();
    await written.told();
    expect([mails().length, written.logged('a result is delivered later')]).toEqual([1, []]);
  });

  it('posts a note again that the shop never got, once it cannot appear any more', async () => {
    const { stub, written, mails } = await shopWith([card('100')], {}, 300);
    let posts = 0;
    stub.faultOf = ({ method }) => {
      if (method !== 'POST' || (posts += 1) > 1) return { kind: 'none' };
      written.kill();
      return { kind: 'lost' };
    };
    await written.buy();
    await written.told();
    expect([posts, mails().length]).toEqual([2, 1]);
    expect(written.logged('a result is delivered later')).not.toEqual([]);
  });
});

describe('a note in an order', () => {
  it('is not posted again when an operator deleted it and results are written again', async () => {
    const { stub, written, mails } = await shopWith([card('100')], {}, 100);
    await written.buy();
    await written.told();
    stub.shop.notes.delete('7');
    await redeliver(written.store, {}, Date.now());
    await written.restart();
    await written.told();
    expect([mails().length, stub.shop.notesOf('7')]).toEqual([1, []]);
  });

  it('has commands that can be copied, and names of lines that were not accepted', async () => {
    const esim = { id: '101', name: 'Top-up <FR>', sku: 'TOPUP', quantity: 2, meta_data: [] };
    const { stub, written } = await shopWith([card('100'), esim]);
    await written.buy();
    await written.told();
    const text = stub.shop
      .notesOf('7')
      .find(({ customer_note: isForCustomer }) => !isForCustomer)?.note;
    expect(text).toContain('Needs review: Top-up &lt;FR&gt; (TOPUP) × 2 (line 101), rejected: ');
    expect(text).toMatch(
      /All of it: <code>order-sync orders show 7 --source main<\/code><!--order-sync:[0-9a-f]{16}-->$/,
    );
  });

  it('says what was refunded after it was delivered', async () => {
    const { stub, written, order } = await shopWith([card('100', 2)]);
    await written.buy();
    await written.told();
    order.refunds = [
      {
        id: '9',
        line_items: [{ quantity: -1, meta_data: [{ key: '_refunded_item_id', value: '100' }] }],
      },
    ];
    order.modifiedMs += 60_000;
    await written.takeIn(stub.shown(order), order.refunds);
    await written.told();
    const [last] = stub.shop.notesOf('7').toReversed();
    expect(last?.customer_note).toBe(false);
    expect(last?.note).toContain(
      'Changed in the shop: Steam 20 (STEAM-20) × 2 (line 100): 1 of 2 pieces were refunded',
    );
  });
});
