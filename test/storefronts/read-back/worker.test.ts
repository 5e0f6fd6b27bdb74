import { describe, expect, it } from 'vitest';
import { reconcileText } from '../../../src/cli/commands/reconcile.ts';
import { minutesAgo, oneCard, oneRefunded, readBackOf, wooBody } from './running-read-back.ts';
import {
  boughtBy,
  commandLine,
  deliver,
  foundOrders,
  installationFor,
  settled,
  workerThatHasRead,
} from './shop-worker.ts';
import { send, StubWooCommerce, woo } from './stub-shop.ts';

describe('a worker that reads a shop back', () => {
  it('buys an order once that was paid while no worker ran, also when its webhook comes late', async () => {
    const stub = await new StubWooCommerce().open();
    const installation = await installationFor(stub);
    const first = installation.start();
    await first.started();
    await first.end('SIGTERM');
    // Paid while no worker ran: WooCommerce never repeats the webhook.
    const order = stub.put({ id: '727', modifiedMs: minutesAgo(5), body: wooBody('315') });
    const worker = installation.start();
    await worker.line(foundOrders);
    await settled(installation);
    expect(await deliver(worker, stub.shown(order))).toMatchObject({
      result: 'paid',
      accepted: 0,
      known: 1,
    });
    order.modifiedMs = minutesAgo(1);
    expect((await commandLine(installation, 'reconcile')).stdout).toContain('0 lines taken in');
    await settled(installation);
    expect(boughtBy(installation)).toBe(1);
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  it('buys everything once after it was killed while it read back', async () => {
    const stub = await new StubWooCommerce().open();
    const installation = await installationFor(stub);
    // Most of the first page is not paid, so that few are bought.
    for (let id = 1; id <= 115; id += 1) {
      const body =
        id <= 90
          ? { ...oneCard(`${id}1`), status: 'pending', date_paid_gmt: null }
          : oneCard(`${id}1`);
      stub.put({ id: String(id), modifiedMs: minutesAgo(60) + id * 1000, body });
    }
    const died = Promise.withResolvers<void>();
    stub.misbehave = async ({ number }) => {
      // The first page is on disk when the second is asked for. The watermark may be, or not.
      if (number === 2) await died.promise;
      return false;
    };
    const worker = installation.start();
    await worker.started();
    await stub.asks(2);
    await worker.end('SIGKILL');
    died.resolve();
    stub.misbehave = () => false;
    const next = installation.start();
    await next.line(foundOrders);
    await settled(installation);
    expect(boughtBy(installation)).toBe(25);
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('reads the refunds when a webhook does not name the line, and buys what is left', async () => {
    const { stub, installation, worker } = await workerThatHasRead();
    const order = stub.put({ id: '727', modifiedMs: minutesAgo(1), body: wooBody('315') });
    order.refunds = oneRefunded('315');
    expect(await deliver(worker, stub.shown(order))).toEqual({
      result: 'read_back',
      order_id: '727',
    });
    await worker.line(foundOrders);
    await settled(installation);
    const rows = installation.query<{ quantity: number; state: string }>(
      'SELECT quantity, state FROM entries',
    );
    expect(rows).toEqual([{ quantity: 1, state: 'fulfilled' }]);
    // An older state that arrives late is ignored.
    const older = {
      ...stub.shown(order),
      refunds: [],
      date_modified_gmt: new Date(minutesAgo(3)).toISOString().slice(0, 19),
    };
    expect(await deliver(worker, older)).toMatchObject({ result: 'older_than_known' });
    await worker.end('SIGTERM');
  });

  it('reads the refunds of an order that was changed before read-back began, and buys what is left', async () => {
    const { stub, installation, worker } = await workerThatHasRead();
    const order = stub.put({ id: '727', modifiedMs: minutesAgo(60), body: wooBody('315') });
    order.refunds = oneRefunded('315');
    expect(await deliver(worker, stub.shown(order))).toEqual({
      result: 'read_back',
      order_id: '727',
    });
    await worker.line(foundOrders);
    await settled(installation);
    expect(installation.query('SELECT quantity, state FROM entries')).toEqual([
      { quantity: 1, state: 'fulfilled' },
    ]);
    await worker.end('SIGTERM');
  });

  it('reads an order that a delivery only names, and its list after a delivery with an error', async () => {
    const { stub, installation, worker } = await workerThatHasRead();
    stub.put({ id: '727', modifiedMs: minutesAgo(60), body: wooBody('315') });
    expect(await deliver(worker, { action: 'woocommerce_payment_complete', arg: '727' })).toEqual({
      result: 'read_back',
    });
    await worker.line(foundOrders);
    stub.put({ id: '728', modifiedMs: minutesAgo(0), body: wooBody('316') });
    const denied = { code: 'woocommerce_rest_cannot_view', message: 'no', data: { status: '401' } };
    expect(await deliver(worker, denied)).toEqual({ result: 'unusable' });
    const lines = () => installation.query<{ n: number }>('SELECT count(*) AS n FROM lines')[0]?.n;
    while (lines() !== 2) await new Promise((next) => void setTimeout(next, 50));
    expect(installation.query('SELECT code FROM rejections')).toEqual([
      { code: 'unusable_rest_error' },
    ]);
    await worker.end('SIGTERM');
  });

  it('logs an error for a webhook with an order that it cannot read, and none for a product', async () => {
    const stub = await new StubWooCommerce().open();
    const installation = await installationFor(stub);
    const worker = installation.start();
    await worker.started();
    const order = stub.shown(
      stub.put({ id: '727', modifiedMs: minutesAgo(1), body: wooBody('315') }),
    );
    stub.orders.length = 0;
    expect(await deliver(worker, { id: '9', name: 'Steam 20', sku: 'STEAM-20' })).toEqual({
      result: 'not_an_order',
    });
    const odd = { ...order, status: { name: 'processing' } };
    expect(await deliver(worker, odd)).toEqual({
      result: 'unreadable',
      order_id: '727',
      flagged: 1,
    });
    expect(await deliver(worker, odd)).toEqual({
      result: 'unreadable',
      order_id: '727',
      flagged: 0,
    });
    const line = await worker.line(
      ({ level, component }) => level === 'error' && component === 'webhook',
    );
    expect(line).toMatchObject({
      shop: 'main',
      order_id: '727',
      field: 'status',
      msg: expect.stringContaining('cannot be read'),
    });
    expect(worker.log.filter(({ level }) => level === 'error')).toHaveLength(1);
    await worker.end('SIGTERM');
  });

  it('stops at once, even while the command line waits for a shop that does not answer', async () => {
    const { stub, installation, worker } = await workerThatHasRead();
    stub.misbehave = () => true;
    const before = stub.calls.length;
    const command = commandLine(installation, 'reconcile');
    await stub.asks(before + 1);
    const startMs = performance.now();
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(5000);
    expect((await command).code).not.toBe(0);
  });

  it('makes the health check warn when the shop refuses the keys, and logs no key', async () => {
    const stub = await new StubWooCommerce().open();
    stub.misbehave = (_, response) =>
      send(response, 401, { code: 'woocommerce_rest_cannot_view', message: 'no' });
    const installation = await installationFor(stub);
    const worker = installation.start();
    // The first run may end before the admin server listens.
    await worker.started();
    await worker.line((line) => line.msg === 'the shop could not be read back');
    const { code, stdout } = await commandLine(installation, 'health', '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { status: 'warn', checks: { read_back: 'warn', database: 'pass' } },
    ]);
    expect(JSON.stringify(worker.log)).not.toMatch(new RegExp(`${woo.key}|${woo.secret}`));
    await worker.end('SIGTERM');
  });
});

describe('order-sync reconcile', () => {
  it('works without a worker: the next worker buys what it stores, and its JSON has the documented form', async () => {
    const stub = await new StubWooCommerce().open();
    stub.put({ id: '727', modifiedMs: minutesAgo(5), body: wooBody('315') });
    const installation = await installationFor(stub);
    expect((await commandLine(installation, 'init')).code).toBe(0);
    const { code, stdout } = await commandLine(installation, 'reconcile', 'main', '--json');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        shops: [
          {
            platform: 'woocommerce',
            shop: 'main',
            complete: true,
            pages: 1,
            orders: 1,
            accepted: 1,
            taken_back: 0,
            flagged: 0,
            unreadable: 0,
            read_to: new Date(stub.orders[0]?.modifiedMs ?? 0).toISOString(),
            error: null,
          },
        ],
      },
    ]);
    expect(installation.query<{ state: string }>('SELECT state FROM entries')).toEqual([
      { state: 'pending' },
    ]);
  });

  it('says with which --since to continue when one run does not read everything', async () => {
    const stub = await new StubWooCommerce().open();
    const { run } = await readBackOf('woocommerce', stub, { rest: { pagesPerRun: 1 } });
    for (let id = 1; id <= 15; id += 1) {
      stub.put({ id: String(id), modifiedMs: minutesAgo(60) + id * 1000, body: wooBody(`${id}1`) });
    }
    const first = await run(minutesAgo(90));
    const next = stub.orders[9]?.modifiedMs ?? 0;
    const again = `there is more: run it again with --since ${new Date(next).toISOString()}`;
    expect(reconcileText(first, true)).toMatch(new RegExp(`10 lines taken in, .*; ${again}$`));
    expect(reconcileText(await run(next), true)).toContain(' 5 lines taken in');
  });

  it('exits with 8 when a shop cannot be read, with 4 when there is no such shop, with 2 for a wrong time', async () => {
    const stub = await new StubWooCommerce().open();
    const installation = await installationFor(stub);
    await commandLine(installation, 'init');
    stub.misbehave = (_, response) => send(response, 500, '');
    const failed = await commandLine(installation, 'reconcile');
    expect([failed.code, failed.stdout]).toEqual([
      8,
      expect.stringMatching(/; then: GET .*: 500, not .* an empty answer\n$/),
    ]);
    expect((await commandLine(installation, 'reconcile', 'other')).code).toBe(4);
    expect((await commandLine(installation, 'reconcile', '--since', 'yesterday')).code).toBe(2);
  });
});
