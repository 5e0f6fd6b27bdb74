import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it } from 'vitest';
import { hour } from '../shop-settings.ts';
import { MovedClock } from './moved-clock.ts';
import {
  minutesAgo,
  numbersAsText,
  oneRefunded,
  readBackOf,
  wooBody,
} from './running-read-back.ts';
import { deliver, workerThatHasRead } from './shop-worker.ts';
import { StubWooCommerce } from './stub-shop.ts';

/** A shop with an order that a webhook has delivered, and whose refunds were not read yet. */
async function withUnclearOrder() {
  const stub = await new StubWooCommerce().open();
  const clock = new MovedClock();
  const shop = await readBackOf('woocommerce', stub, { clock });
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
      await handler.take({
        document,
        isTest: false,
        topic: null,
        isListed: false,
        refunds: 'not_read',
      }),
    ).toMatchObject({
      kind: 'needs_refunds',
    });
    expect(bought()).toEqual(['727/315 2 x steam-usd-20 held']);
    expect(await stepsOf(outbox.store).openAttempt(outbox.claim({ nowMs: Date.now() }))).toBeNull();
    expect(await run()).toMatchObject({ takenBack: 1 });
    expect([bought(), flagged()]).toEqual([['727/315 1 x steam-usd-20 pending'], []]);
  });

  it('is flagged once when the shop is no longer read back', async () => {
    const { stub, installation, worker } = await workerThatHasRead();
    const order = stub.put({ id: '727', modifiedMs: minutesAgo(1), body: wooBody('315') });
    order.refunds = oneRefunded('315');
    // Later runs get no answer, so the order is not read back.
    stub.misbehave = () => true;
    expect(await deliver(worker, stub.shown(order))).toEqual({
      result: 'read_back',
      order_id: '727',
    });
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

  it('is read by itself where the list does not have it, because its time does not move when it is refunded', async () => {
    const stub = await new StubWooCommerce().open();
    const { handler, run, bought, flagged } = await readBackOf('woocommerce', stub);
    const order = stub.put({ id: '727', modifiedMs: minutesAgo(60), body: wooBody('315') });
    stub.put({ id: '728', modifiedMs: minutesAgo(0), body: wooBody('318') });
    await run();
    order.refunds = oneRefunded('315');
    const document = numbersAsText(stub.shown(order));
    const webhook = { isTest: false, topic: null, isListed: false, refunds: 'not_read' } as const;
    expect(await handler.take({ document, ...webhook })).toMatchObject({ kind: 'needs_refunds' });
    expect(await run()).toMatchObject({ orders: 1, takenBack: 1 });
    expect([bought()[0], flagged()]).toEqual(['727/315 1 x steam-usd-20 pending', []]);
  });

  it('keeps no other from being read, also where the connection ends each time that it is asked for', async () => {
    const { stub, run, bought } = await withUnclearOrder();
    stub.misbehave = ({ url }, response) => {
      const isSick = url.pathname.endsWith('/orders/727');
      if (isSick) response.destroy();
      return isSick;
    };
    const other = stub.put({ id: '728', modifiedMs: minutesAgo(1), body: wooBody('318') });
    other.refunds = oneRefunded('318');
    expect(await run()).toMatchObject({ complete: true, accepted: 1, error: null });
    expect(bought()).toEqual(['728/318 1 x steam-usd-20 pending']);
    stub.misbehave = () => false;
    expect(await run()).toMatchObject({ accepted: 1, error: null });
  });

  it('is closed, and read no more, when the shop has it no more', async () => {
    const { run, flagged, bought, stub } = await withUnclearOrder();
    stub.orders.length = 0;
    expect(await run()).toMatchObject({ complete: true, flagged: 0 });
    const asked = stub.calls.length;
    await run();
    expect([bought(), flagged(), stub.calls.length]).toEqual([[], [], asked + 1]);
  });

  it('is bought and not flagged when it is read back in time', async () => {
    const { run, flagged, bought, clock } = await withUnclearOrder();
    expect(await run()).toMatchObject({ complete: true, accepted: 1, flagged: 0 });
    clock.aheadMs = 2 * hour;
    expect(await run()).toMatchObject({ complete: true, flagged: 0 });
    expect([bought().length, flagged()]).toEqual([1, []]);
  });
});
