import { describe, expect, it } from 'vitest';
import { hour } from '../shop-settings.ts';
import { MovedClock } from './moved-clock.ts';
import { minutesAgo, numbersAsText, oneRefunded, readBackOf, wooBody } from './running-read-back.ts';
import { deliver, workerThatHasRead } from './shop-worker.ts';
import { StubWooCommerce } from './stub-shop.ts';

/** A shop with an order that a webhook has delivered, and whose refunds were not read yet. */
async function withUnclearOrder(rest: Parameters<typeof readBackOf>[2] = {}) {
  const stub = await new StubWooCommerce().open();
  const clock = new MovedClock();
  const shop = await readBackOf('woocommerce', stub, { clock, ...rest });
  const order = stub.put({ id: '727', modifiedMs: minutesAgo(1), body: wooBody('315') });
  order.refunds = oneRefunded('315');
  const document = numbersAsText(stub.shown(order));
  const answer = await shop.handler.take({
    document,
    isTest: false,
    topic: null,
    isListed: false,
    refunds: 'not_read',
  });
  expect(answer).toMatchObject({ kind: 'needs_refunds' });
  return { ...shop, stub, clock, order };
}

describe('an order whose refunds must be read back', () => {
  it('sends nothing until they are read', async () => {
    const stub = await new StubWooCommerce().open();
    const { handler, outbox, run, bought, flagged } = await readBackOf('woocommerce', stub);
    const order = stub.put({ id: '727', modifiedMs: minutesAgo(2), body: wooBody('315') });
    expect(await run()).toMatchObject({ accepted: 1 });
    order.modifiedMs = minutesAgo(1);
    order.refunds = oneRefunded('315');
    const document = numbersAsText(stub.shown(order));
    expect(
      await handler.take({ document, isTest: false, topic: null, isListed: false, refunds: 'not_read' }),
    ).toMatchObject({
      kind: 'needs_refunds',
    });
    expect(bought()).toEqual(['727/315 2 x steam-usd-20 held']);
    expect(await outbox.store.submission.openAttempt(outbox.claim({ nowMs: Date.now() }))).toBeNull();
    expect(await run()).toMatchObject({ takenBack: 1 });
    expect([bought(), flagged()]).toEqual([['727/315 1 x steam-usd-20 pending'], []]);
  });

  it('is flagged once when the shop is no longer read back', async () => {
    const { stub, installation, worker } = await workerThatHasRead();
    const order = stub.put({ id: '727', modifiedMs: minutesAgo(1), body: wooBody('315') });
    order.refunds = oneRefunded('315');
    // Later runs get no answer, so the order is not read back.
    stub.misbehave = () => true;
    expect(await deliver(worker, stub.shown(order))).toEqual({ result: 'read_back', order_id: '727' });
    installation.configure((config) => void delete config.intake.webhook.woocommerce[0].rest);
    const flagged = () => installation.query('SELECT order_id, line_id, code FROM rejections');
    expect(flagged()).toEqual([]);
    expect(await worker.reload()).toMatchObject({ level: 'info' });
    const expected = [{ order_id: '727', line_id: null, code: 'partially_refunded' }];
    expect(flagged()).toEqual(expected);
    expect(await worker.end('SIGTERM')).toBe(0);
    const next = installation.start();
    await next.started();
    expect(flagged()).toEqual(expected);
    expect(installation.query('SELECT 1 FROM entries')).toEqual([]);
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('is flagged when a complete list of the shop does not have it an hour later', async () => {
    const { run, flagged, bought, stub, clock, order } = await withUnclearOrder();
    // Somebody moved it to the trash.
    stub.orders.length = 0;
    expect(await run()).toMatchObject({ complete: true, flagged: 0 });
    clock.aheadMs = hour + 1000;
    expect(await run()).toMatchObject({ complete: true, flagged: 1 });
    expect(flagged()).toEqual(['727/null partially_refunded']);
    expect(await run()).toMatchObject({ complete: true, flagged: 0 });
    // Restored from the trash, it stays flagged: a person was told that nothing was bought.
    stub.orders.push(order);
    order.modifiedMs = minutesAgo(0);
    // It may have other lines now: each is flagged, once.
    expect(await run()).toMatchObject({ accepted: 0, flagged: 1 });
    expect(await run()).toMatchObject({ accepted: 0, flagged: 0 });
    expect(bought()).toEqual(['727/315 1 x steam-usd-20 held']);
    expect(flagged()).toEqual(['727/315 held', '727/null partially_refunded']);
  });

  it('is not flagged because the clock was set back while a list was read in several runs', async () => {
    const { run, flagged, stub, clock, order, handler, outbox } = await withUnclearOrder({
      rest: { pageSize: 1, pagesPerRun: 1 },
    });
    expect(await run()).toMatchObject({ complete: true });
    clock.aheadMs = 120 * hour;
    for (const id of ['801', '802']) stub.put({ id, modifiedMs: minutesAgo(0), body: wooBody(`${id}1`) });
    expect(await run()).toMatchObject({ complete: false });
    clock.aheadMs = 0;
    await outbox.store.times.follow({ stepMs: -120 * hour, nowMs: clock.wallMs() });
    // It comes in now, and this list was opened before.
    order.modifiedMs = minutesAgo(0);
    const document = numbersAsText({ ...stub.shown(order), id: 990 });
    expect(
      await handler.take({ document, isTest: false, topic: null, isListed: false, refunds: 'not_read' }),
    ).toMatchObject({
      kind: 'needs_refunds',
    });
    for (let runs = 0; runs < 5; runs += 1) await run();
    expect(flagged()).toEqual([]);
  });

  it('is bought and not flagged when it is read back in time', async () => {
    const { run, flagged, bought, clock } = await withUnclearOrder();
    expect(await run()).toMatchObject({ complete: true, accepted: 1, flagged: 0 });
    clock.aheadMs = 2 * hour;
    expect(await run()).toMatchObject({ complete: true, flagged: 0 });
    expect([bought().length, flagged()]).toEqual([1, []]);
  });
});
