import { describe, expect, it } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { MovedClock } from '../read-back/moved-clock.ts';
import { minutesAgo, numbersAsText, readBackOf, wooBody } from '../read-back/running-read-back.ts';
import { send, StubWooCommerce } from '../read-back/stub-shop.ts';
import { hour } from '../shop-settings.ts';

const open = () => new StubWooCommerce().open();
const refund = (
  id: string,
  lines: { line: string; quantity: number }[],
  more: Record<string, unknown> = {},
) => ({
  id,
  amount: '20.00',
  line_items: lines.map(({ line, quantity }) => ({
    id: '9',
    quantity,
    total: '-20.00',
    meta_data: [{ id: 1, key: '_refunded_item_id', value: line }],
  })),
  ...more,
});

describe('read-back of a WooCommerce shop', () => {
  it('takes in paid orders whose webhook was lost, once, and advances the watermark', async () => {
    const stub = await open();
    stub.put({ id: '1', modifiedMs: minutesAgo(60), body: wooBody('11') });
    stub.put({
      id: '2',
      modifiedMs: minutesAgo(30),
      body: wooBody('21', { status: 'pending', date_paid_gmt: null }),
    });
    const { run, bought, watermark } = await readBackOf('woocommerce', stub);
    expect(await run()).toMatchObject({ complete: true, orders: 2, accepted: 1, error: null });
    expect(await watermark()).toBe(stub.orders[1]?.modifiedMs);
    stub.put({ id: '2', modifiedMs: minutesAgo(1), body: wooBody('21') });
    expect(await run()).toMatchObject({ complete: true, orders: 1, accepted: 1 });
    expect(await run()).toMatchObject({ complete: true, accepted: 0 });
    expect(bought()).toEqual(['1/11 2 x steam-usd-20 pending', '2/21 2 x steam-usd-20 pending']);
  });

  it('asks with a time without a zone, because WordPress converts a time that has one', async () => {
    const stub = await open();
    stub.put({ id: '1', modifiedMs: minutesAgo(2), body: wooBody('11') });
    const { run, bought } = await readBackOf('woocommerce', stub, { lookbackH: 0 });
    expect(await run()).toMatchObject({ orders: 1 });
    expect(stub.calls[0]?.url.searchParams.get('modified_after')).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/,
    );
    expect(bought()).toHaveLength(1);
  });

  it('reads all pages by time, with totals or without, and with smaller pages than it asked for', async () => {
    for (const [showsTotal, pageCap] of [
      [true, 100],
      [false, 100],
      [true, 4],
    ] as const) {
      const stub = await open();
      stub.showsTotal = showsTotal;
      stub.pageCap = pageCap;
      for (let id = 1; id <= 45; id += 1) {
        stub.put({
          id: String(id),
          modifiedMs: minutesAgo(60) + id * 1000,
          body: wooBody(`${id}1`),
        });
      }
      const { run, bought, watermark } = await readBackOf('woocommerce', stub);
      expect(await run()).toMatchObject({ complete: true, accepted: 45, error: null });
      expect([bought().length, await watermark()]).toEqual([45, stub.orders.at(-1)?.modifiedMs]);
      expect(stub.asked().filter((path) => path.includes('offset'))).toEqual([]);
    }
  });

  it('misses no order of a second that fills several pages, even when one changes during the run', async () => {
    const stub = await open();
    const crowd = minutesAgo(60);
    for (let id = 1; id <= 35; id += 1)
      stub.put({ id: String(id), modifiedMs: crowd, body: wooBody(`${id}1`) });
    stub.misbehave = ({ number }) => {
      // Somebody saves an order of the first page again: all later orders move up by one.
      if (number === 3) stub.put({ id: '5', modifiedMs: minutesAgo(1), body: wooBody('51') });
      return false;
    };
    const { run, bought } = await readBackOf('woocommerce', stub);
    expect(await run()).toMatchObject({ complete: true, accepted: 35, error: null });
    expect(bought()).toHaveLength(35);
  });

  it('misses no order when one changes between two pages, and takes an order that is listed twice once', async () => {
    const stub = await open();
    for (let id = 1; id <= 30; id += 1) {
      stub.put({ id: String(id), modifiedMs: minutesAgo(60) + id * 1000, body: wooBody(`${id}1`) });
    }
    stub.misbehave = ({ number }) => {
      if (number === 2) stub.put({ id: '1', modifiedMs: minutesAgo(1), body: wooBody('11') });
      return false;
    };
    const { run, bought } = await readBackOf('woocommerce', stub);
    expect(await run()).toMatchObject({ complete: true, accepted: 30 });
    expect(bought()).toHaveLength(30);
  });

  it('keeps ids exact that are too large for a JavaScript number', async () => {
    const stub = await open();
    for (const id of ['820982911946154508', '820982911946154509']) {
      stub.put({ id, modifiedMs: minutesAgo(5), body: wooBody(`9${id}`) });
    }
    const { run, bought } = await readBackOf('woocommerce', stub);
    await run();
    expect(bought().map((text) => text.split(' ')[0])).toEqual([
      '820982911946154508/9820982911946154508',
      '820982911946154509/9820982911946154509',
    ]);
  });

  it('continues in the next run where the pages of one run ended', async () => {
    const stub = await open();
    for (let id = 1; id <= 45; id += 1) {
      stub.put({
        id: String(id),
        modifiedMs: minutesAgo(600) + id * 600_000,
        body: wooBody(`${id}1`),
      });
    }
    const { run, bought } = await readBackOf('woocommerce', stub, { rest: { pagesPerRun: 2 } });
    expect(await run()).toMatchObject({ complete: false, pages: 2, error: null });
    const counts = [bought().length];
    for (let runs = 0; runs < 8; runs += 1) {
      const { complete } = await run();
      counts.push(bought().length);
      if (complete) break;
    }
    expect(counts.at(-1)).toBe(45);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  });

  it.each([
    ['changed within the overlap', 1000],
    ['changed within one second', 0],
  ])('reads to its end a list with more orders than one run reads, all %s', async (_, apartMs) => {
    const stub = await open();
    const first = minutesAgo(60);
    for (let id = 1; id <= 45; id += 1) {
      stub.put({ id: String(id), modifiedMs: first + id * apartMs, body: wooBody(`${id}1`) });
    }
    const { run, bought, watermark } = await readBackOf('woocommerce', stub, {
      rest: { pagesPerRun: 2 },
    });
    const reports = [];
    for (let runs = 0; runs < 4; runs += 1) reports.push(await run());
    expect(reports.map(({ error }) => error)).toEqual([null, null, null, null]);
    expect([bought().length, await watermark()]).toEqual([45, stub.orders.at(-1)?.modifiedMs]);
    // The next run opens a new list, which has the later changes.
    stub.put({ id: '99', modifiedMs: minutesAgo(1), body: wooBody('991') });
    for (let runs = 0; runs < 4; runs += 1) await run();
    expect(bought()).toHaveLength(46);
  });

  it('opens a new list after a failure, and reads what changed during the runs', async () => {
    const stub = await open();
    for (let id = 1; id <= 45; id += 1) {
      stub.put({ id: String(id), modifiedMs: minutesAgo(60) + id * 1000, body: wooBody(`${id}1`) });
    }
    const { run, bought, watermark } = await readBackOf('woocommerce', stub, {
      rest: { pagesPerRun: 3 },
    });
    expect(await run()).toMatchObject({ complete: false, error: null });
    const calls = stub.calls.length;
    stub.misbehave = ({ number }, response) => number > calls && send(response, 500, '');
    expect((await run()).error?.kind).toBe('unavailable');
    stub.misbehave = () => false;
    const startMs = Date.now();
    stub.put({ id: '99', modifiedMs: startMs + 30_000, body: wooBody('991') });
    expect(await run()).toMatchObject({ complete: false, error: null });
    expect(await run()).toMatchObject({ complete: true, error: null });
    expect(bought()).toHaveLength(46);
    // The watermark does not pass changes that were made after the list was opened.
    expect((await watermark()) ?? 0).toBeLessThan(startMs + 30_000);
  });

  it('begins at the first start, and reads older orders only when asked to', async () => {
    const stub = await open();
    stub.put({ id: '1', modifiedMs: minutesAgo(60), body: wooBody('11') });
    const { run, bought, watermark } = await readBackOf('woocommerce', stub, { lookbackH: 0 });
    expect(await run()).toMatchObject({ complete: true, orders: 0 });
    const before = await watermark();
    expect(await run(minutesAgo(90))).toMatchObject({ complete: true, orders: 1, accepted: 1 });
    expect(await watermark()).toBe(before);
    expect(bought()).toHaveLength(1);
  });

  it('reads further back when the clock of the shop is behind, and misses no order when it is ahead', async () => {
    const behind = await open();
    behind.clockAheadMs = -3_600_000;
    const slow = await readBackOf('woocommerce', behind, { lookbackH: 0 });
    behind.put({ id: '1', modifiedMs: minutesAgo(58), body: wooBody('11') });
    expect(await slow.run()).toMatchObject({ accepted: 1 });

    const ahead = await open();
    const fast = await readBackOf('woocommerce', ahead);
    ahead.put({ id: '1', modifiedMs: Date.now() + 365 * 86_400_000, body: wooBody('11') });
    await fast.run();
    ahead.put({ id: '2', modifiedMs: minutesAgo(1), body: wooBody('21') });
    await fast.run();
    expect(fast.bought()).toHaveLength(2);
  });

  it('repairs a watermark that a clock in the future set at the first start', async () => {
    const stub = await open();
    const clock = new SystemClock();
    let aheadMs = 3 * hour;
    clock.wallMs = () => Date.now() + aheadMs;
    const { run, bought, watermark } = await readBackOf('woocommerce', stub, {
      clock,
      lookbackH: 0,
    });
    await run();
    aheadMs = 0;
    // This run still knows the old difference of the clocks.
    await run();
    stub.put({ id: '1', modifiedMs: minutesAgo(0), body: wooBody('11') });
    expect(await run()).toMatchObject({ accepted: 1, error: null });
    expect(bought()).toHaveLength(1);
    expect(await watermark()).toBeLessThanOrEqual(Date.now() + 2000);
  });

  it.each([
    ['has a date in its answers', true],
    ['has no date in its answers', false],
  ])(
    'reads nothing from before the first start when a clock is behind later, of a shop that %s',
    async (_, tells) => {
      const stub = await open();
      stub.tellsTime = tells;
      stub.put({ id: '1', modifiedMs: minutesAgo(120), body: wooBody('11') });
      const clock = new SystemClock();
      let behindMs = 0;
      clock.wallMs = () => Date.now() - behindMs;
      const { run, bought, watermark } = await readBackOf('woocommerce', stub, {
        clock,
        lookbackH: 0,
      });
      await run();
      const before = await watermark();
      behindMs = 3 * hour;
      await run();
      behindMs = 0;
      stub.clockAheadMs = -3 * hour;
      await run();
      expect([bought(), await watermark()]).toEqual([[], before]);
    },
  );

  it.each([
    ['years, as without a battery', 5 * 365 * 24, null],
    ['two days', 48, expect.any(Number)],
  ])(
    'reads nothing while our clock is behind by %s, because no order would be too old to be bought',
    async (_, hours, marked) => {
      const stub = await open();
      const old = minutesAgo(200 * 24 * 60);
      const paid = { date_paid_gmt: new Date(old).toISOString().slice(0, 19) };
      stub.put({ id: '1', modifiedMs: minutesAgo(24 * 60), body: wooBody('11', paid) });
      const clock = new SystemClock();
      let behindMs = hours * hour;
      clock.wallMs = () => Date.now() - behindMs;
      const { run, bought, flagged, watermark } = await readBackOf('woocommerce', stub, {
        clock,
        lookbackH: 0,
      });
      expect((await run()).error).toMatchObject({
        kind: 'clock',
        message: expect.stringContaining('until this clock is right'),
      });
      expect([bought(), flagged(), await watermark()]).toEqual([[], [], marked]);
      behindMs = 0;
      expect(await run()).toMatchObject({ accepted: 0, error: null });
      expect(bought()).toEqual([]);
    },
  );

  it('fails when the shop ignores the time that it was asked for', async () => {
    const stub = await open();
    const { run } = await readBackOf('woocommerce', stub);
    stub.misbehave = ({ url }) => {
      url.searchParams.delete('modified_after');
      return false;
    };
    stub.put({ id: '1', modifiedMs: minutesAgo(60 * 24 * 400), body: wooBody('11') });
    expect((await run()).error).toMatchObject({
      kind: 'unreadable',
      message: expect.stringContaining('5.8'),
    });
  });

  it('flags a line and an order that it cannot read, and takes in everything else', async () => {
    const stub = await open();
    const odd = [
      { id: '11', sku: 'STEAM-20', quantity: -1 },
      { id: '12', sku: 'STEAM-20', quantity: 1 },
    ];
    stub.put({ id: '1', modifiedMs: minutesAgo(9), body: wooBody('11', { line_items: odd }) });
    stub.put({ id: '2', modifiedMs: minutesAgo(8), body: wooBody('21', { status: null }) });
    stub.put({ id: '3', modifiedMs: minutesAgo(7), body: wooBody('31') });
    const { run, bought, flagged, log } = await readBackOf('woocommerce', stub);
    expect(await run()).toMatchObject({ complete: true, accepted: 2, flagged: 2, unreadable: 1 });
    expect(bought()).toEqual(['1/12 1 x steam-usd-20 pending', '3/31 2 x steam-usd-20 pending']);
    const expected = ['1/11 unreadable_line', '2/null unreadable_order'];
    expect(flagged()).toEqual(expected);
    expect(log().filter(({ level }) => level === 50)).toMatchObject([
      { order_id: '2', field: 'status' },
    ]);
    // Each run reads the last minutes again: nothing is flagged or logged again.
    expect(await run(minutesAgo(60))).toMatchObject({ complete: true, accepted: 0, flagged: 0 });
    expect(flagged()).toEqual(expected);
    expect(log().filter(({ level }) => level === 50)).toHaveLength(1);
    // Corrected in the shop.
    stub.put({ id: '1', modifiedMs: minutesAgo(6), body: wooBody('11') });
    stub.put({ id: '2', modifiedMs: minutesAgo(5), body: wooBody('21') });
    expect(await run()).toMatchObject({ complete: true, accepted: 2, unreadable: 0 });
    expect(flagged()).toEqual([]);
  });
});

describe('lines that people of the shop change before they are sent', () => {
  const line = (id: string, quantity: number) => ({ id, sku: 'STEAM-20', quantity, meta_data: [] });
  const twoStates = 'two_states_in_one_second';

  it.each([
    ['a table of its own', { first: ['1/11 3', '1/12 1'], flags: [], kept: [] }],
    // Its time does not move, so nobody knows which of both states came last.
    [
      'posts',
      {
        first: ['1/11 1'],
        flags: [`1/11 ${twoStates}`, `1/12 ${twoStates}`],
        kept: [`1/11 ${twoStates}`],
      },
    ],
  ])(
    'are bought as a surely newer state of an order in %s has them',
    async (place, { first, flags, kept }) => {
      const stub = await open();
      stub.keepsPosts = place === 'posts';
      const order = stub.put({
        id: '1',
        modifiedMs: minutesAgo(4),
        body: wooBody('11', { line_items: [line('11', 1)] }),
      });
      const { run, bought, flagged } = await readBackOf('woocommerce', stub);
      await run();
      stub.editLines(order, [line('11', 3), line('12', 1)], minutesAgo(2));
      for (let times = 0; times < 2; times += 1) await run();
      const all = (ids: readonly string[]) => ids.map((id) => `${id} x steam-usd-20 pending`);
      expect([bought(), flagged().toSorted()]).toEqual([all(first), flags]);
      // Somebody saves the order again.
      order.modifiedMs = minutesAgo(1);
      await run();
      expect(bought()).toEqual(all(['1/11 3', '1/12 1']));
      expect(flagged()).toEqual(kept);
    },
  );
});

describe('refunds of a WooCommerce shop', () => {
  it('before the purchase lower the quantity that is bought', async () => {
    const stub = await open();
    const items = [
      { id: '11', sku: 'STEAM-20', quantity: 3 },
      { id: '12', sku: 'FR-7D', quantity: 1 },
    ];
    const order = stub.put({
      id: '1',
      modifiedMs: minutesAgo(9),
      body: wooBody('11', { line_items: items }),
    });
    order.refunds = [
      refund('901', [{ line: '11', quantity: -1 }]),
      refund('902', [{ line: '12', quantity: -1 }]),
    ];
    const { run, bought, flagged } = await readBackOf('woocommerce', stub);
    await run();
    await run();
    expect([bought(), flagged()]).toEqual([['1/11 2 x steam-usd-20 pending'], []]);
  });

  it('after the purchase flag the refunded line, and only that line', async () => {
    const stub = await open();
    const items = [
      { id: '11', sku: 'STEAM-20', quantity: 2 },
      { id: '12', sku: 'FR-7D', quantity: 1 },
      { id: '13', sku: 'STEAM-20', quantity: 1 },
    ];
    const order = stub.put({
      id: '1',
      modifiedMs: minutesAgo(9),
      body: wooBody('11', { line_items: items }),
    });
    const { run, bought, flagged, outbox } = await readBackOf('woocommerce', stub);
    await run();
    await outbox.opened({ nowMs: Date.now() });
    order.modifiedMs = minutesAgo(1);
    order.refunds = [
      refund('901', [
        { line: '11', quantity: -1 },
        { line: '13', quantity: -1 },
      ]),
    ];
    expect(await run()).toMatchObject({ flagged: 1, takenBack: 1 });
    expect(bought()).toEqual([
      '1/11 2 x steam-usd-20 sending',
      '1/12 1 x fr-daily-1gb for 7 days pending',
      '1/13 1 x steam-usd-20 cancelled',
    ]);
    expect(flagged()).toEqual(['1/11 refunded_in_storefront']);
  });

  it.each([
    ['names no line', refund('901', [])],
    ['has the price of a line, but no quantity', refund('901', [{ line: '11', quantity: 0 }])],
    [
      'does not say which line it is for',
      { id: '901', line_items: [{ quantity: -1, meta_data: [] }] },
    ],
  ])('flag the order when a refund %s', async (_, shown) => {
    const stub = await open();
    stub.put({ id: '1', modifiedMs: minutesAgo(9), body: wooBody('11'), refunds: [shown] });
    const { run, bought, flagged } = await readBackOf('woocommerce', stub);
    await run();
    expect([bought(), flagged()]).toEqual([[], ['1/11 partially_refunded']]);
  });

  it('of the shipping alone take no line away', async () => {
    const stub = await open();
    const shipping = refund('901', [], { shipping_lines: [{ id: 3, total: '-5.00' }] });
    stub.put({ id: '1', modifiedMs: minutesAgo(9), body: wooBody('11'), refunds: [shipping] });
    const { run, bought } = await readBackOf('woocommerce', stub);
    await run();
    expect(bought()).toEqual(['1/11 2 x steam-usd-20 pending']);
  });

  it('hold a flagged order when the shop names the line later', async () => {
    const stub = await open();
    const order = stub.put({
      id: '1',
      modifiedMs: minutesAgo(9),
      body: wooBody('11'),
      refunds: [refund('901', [])],
    });
    const { run, bought, flagged } = await readBackOf('woocommerce', stub);
    await run();
    order.modifiedMs = minutesAgo(2);
    order.refunds = [refund('901', [{ line: '11', quantity: -1 }])];
    await run();
    expect(bought()).toEqual(['1/11 1 x steam-usd-20 held']);
    expect(flagged()).toEqual(['1/11 held']);
  });

  it('hold a flagged order when the refund is deleted in the shop', async () => {
    const stub = await open();
    const order = stub.put({
      id: '1',
      modifiedMs: minutesAgo(9),
      body: wooBody('11'),
      refunds: [refund('901', [])],
    });
    const { run, bought, flagged } = await readBackOf('woocommerce', stub);
    await run();
    order.modifiedMs = minutesAgo(2);
    order.refunds = [];
    await run();
    expect(bought()).toEqual(['1/11 2 x steam-usd-20 held']);
    expect(flagged()).toEqual(['1/11 held']);
  });

  it('that cannot be read keep only their order waiting, which stands in the attention list after an hour', async () => {
    const stub = await open();
    stub.put({
      id: '1',
      modifiedMs: minutesAgo(9),
      body: wooBody('11'),
      refunds: [refund('901', [])],
    });
    stub.put({ id: '2', modifiedMs: minutesAgo(8), body: wooBody('21') });
    stub.misbehave = ({ url }, response) => {
      if (!url.pathname.endsWith('/refunds')) return false;
      response.writeHead(500).end('<html>critical error</html>');
      return true;
    };
    const clock = new MovedClock();
    const { run, bought, flagged, readBack } = await readBackOf('woocommerce', stub, { clock });
    clock.aheadMs = -2 * hour;
    for (let runs = 0; runs < 2; runs += 1) {
      expect((await run()).error).toBeNull();
      clock.aheadMs = 0;
    }
    expect(bought()).toEqual(['2/21 2 x steam-usd-20 pending']);
    expect([flagged(), readBack.health()]).toEqual([['1/null awaits_read_back'], 'pass']);
    stub.misbehave = () => false;
    stub.orders[0]?.refunds.splice(0, 1, refund('901', [{ line: '11', quantity: -1 }]));
    await run();
    expect([bought()[1], flagged()]).toEqual(['1/11 1 x steam-usd-20 pending', []]);
  });

  it('that are deleted before they are read have the order flagged at once, and bought by its next state', async () => {
    const stub = await open();
    const order = stub.put({
      id: '1',
      modifiedMs: minutesAgo(4),
      body: wooBody('11'),
      refunds: [refund('901', [])],
    });
    const { run, handler, bought, flagged } = await readBackOf('woocommerce', stub);
    const webhook = {
      isTest: false,
      topic: 'order.updated',
      isListed: false,
      refunds: 'not_read',
    } as const;
    const document = numbersAsText(stub.shown(order));
    expect(await handler.take({ document, ...webhook })).toMatchObject({ kind: 'needs_refunds' });
    order.refunds.splice(0);
    await run();
    expect([bought(), flagged()]).toEqual([[], ['1/11 two_states_in_one_second']]);
    order.modifiedMs = minutesAgo(2);
    await run();
    expect([bought(), flagged()]).toEqual([['1/11 2 x steam-usd-20 pending'], []]);
  });

  it('that must be read first make older states stale, and change nothing else yet', async () => {
    const stub = await open();
    const order = stub.put({
      id: '1',
      modifiedMs: minutesAgo(9),
      body: wooBody('11'),
      refunds: [refund('901', [])],
    });
    const { handler, bought, flagged } = await readBackOf('woocommerce', stub);
    const take = async (shown: Record<string, unknown>, refunds: 'not_read' | unknown[]) =>
      await handler.take({
        document: numbersAsText(shown),
        isTest: false,
        topic: null,
        isListed: true,
        refunds: numbersAsText(refunds),
      });
    const newest = stub.shown(order);
    expect(await take(newest, 'not_read')).toMatchObject({ kind: 'needs_refunds' });
    const older = {
      ...newest,
      refunds: [],
      date_modified_gmt: new Date(minutesAgo(20)).toISOString().slice(0, 19),
    };
    expect(await take(older, 'not_read')).toMatchObject({ kind: 'taken', taken: { stale: true } });
    expect([bought(), flagged()]).toEqual([[], []]);
    const lines = [refund('901', [{ line: '11', quantity: -1 }])];
    expect(await take(newest, lines)).toMatchObject({ kind: 'taken', taken: { accepted: 1 } });
    expect(bought()).toEqual(['1/11 1 x steam-usd-20 pending']);
  });
});
