import { expect, it } from 'vitest';
import { minutesAgo, wooBody } from './running-read-back.ts';
import { boughtBy, commandLine, deliver, settled, workerThatHasRead } from './shop-worker.ts';
import type { StubWooCommerce } from './stub-shop.ts';
import type { StubOrder } from '../../support/shops/shop-order.ts';

const takenIn = ({ msg }: { msg: string }): boolean => msg === 'storefront order taken in';
const waits = ({ msg }: { msg: string }): boolean => msg.startsWith('an order is not bought yet');

/**
 * A paid order whose webhook comes 90 minutes late, in a shop whose list does not show it any more.
 */
function lateOrder(stub: StubWooCommerce): { order: StubOrder; document: Record<string, unknown> } {
  const order = stub.put({ id: '727', modifiedMs: minutesAgo(90), body: wooBody('315') });
  return { order, document: stub.shown(order) };
}

it('a worker reads an order once that its webhook told long after, and buys it', async () => {
  const { stub, installation, worker } = await workerThatHasRead();
  const { document } = lateOrder(stub);
  const before = stub.calls.length;
  expect(await deliver(worker, document)).toMatchObject({ result: 'paid', accepted: 1 });
  await settled(installation);
  expect([boughtBy(installation), stub.asked().slice(before)]).toEqual([
    1,
    ['/wp-json/wc/v3/orders/727'],
  ]);
  expect(await worker.end('SIGTERM')).toBe(0);
});

it('a worker does not buy what was cancelled before its late webhook, also when it was killed while it read the order', async () => {
  const { stub, installation, worker } = await workerThatHasRead();
  const { order, document } = lateOrder(stub);
  order.body = { ...order.body, status: 'cancelled' };
  order.modifiedMs = minutesAgo(80);
  stub.misbehave = () => true;
  const before = stub.calls.length;
  expect(await deliver(worker, document)).toMatchObject({ result: 'paid', accepted: 1 });
  await stub.asks(before + 1);
  await worker.end('SIGKILL');
  // The list fails, so only the order itself tells that it was cancelled.
  stub.misbehave = ({ url }) => url.pathname.endsWith('/orders');
  const next = installation.start();
  await next.line(takenIn);
  await settled(installation);
  expect(boughtBy(installation)).toBe(0);
  expect(installation.query('SELECT state FROM entries')).toEqual([{ state: 'cancelled' }]);
  expect(await next.end('SIGTERM')).toBe(0);
});

it('a worker says why an order waits whose shop does not answer, and buys it after a reload without rest', async () => {
  const { stub, installation, worker } = await workerThatHasRead();
  const { document } = lateOrder(stub);
  stub.misbehave = () => true;
  await deliver(worker, document);
  await worker.line(waits);
  const { stdout } = await commandLine(installation, 'orders', 'show', '727');
  expect(stdout).toMatch(
    /waits {7}the order must be read again from the shop .* no complete answer within 1500 ms/,
  );
  expect(boughtBy(installation)).toBe(0);
  installation.configure((config) => void delete config.intake.webhook.woocommerce[0].rest);
  expect(await worker.reload()).toMatchObject({ level: 'info' });
  await settled(installation);
  expect(boughtBy(installation)).toBe(1);
  expect(await worker.end('SIGTERM')).toBe(0);
});
