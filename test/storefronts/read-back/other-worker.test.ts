import { expect, it } from 'vitest';
import type { Installation } from '../../support/worker-process.ts';
import { oneCard } from './running-read-back.ts';
import { boughtBy, commandLine, deliver, installationFor } from './shop-worker.ts';
import { StubWooCommerce, send } from './stub-shop.ts';

const isWritten = (line: { msg: string }): boolean =>
  line.msg === 'wrote the result into the order of the shop';

async function installed(stub: StubWooCommerce): Promise<Installation> {
  const installation = await installationFor(stub);
  installation.configure((config) => {
    Object.assign(config.intake.webhook.woocommerce[0], {
      lookback_h: 0,
      write_back: { deliver_codes: 'note' },
    });
  });
  return installation;
}

/** Waits until the only line of an order is in this state. */
const waitFor = async (
  installation: Installation,
  orderId: string,
  state: string,
): Promise<void> => {
  const query = `SELECT state FROM outbox WHERE order_id = '${orderId}'`;
  await expect.poll(() => installation.query(query), { timeout: 60_000 }).toEqual([{ state }]);
};
/** Somebody pays for an order of one card. */
const pay = (stub: StubWooCommerce, id: string): Record<string, unknown> => {
  const paid = new Date(Date.now() + 1000).toISOString().slice(0, 19);
  return stub.shown(
    stub.put({ id, modifiedMs: Date.now(), body: { ...oneCard(`${id}1`), date_paid_gmt: paid } }),
  );
};
const isLook = ({ url }: { url: URL }): boolean => url.searchParams.get('order') === 'desc';
const flagIn = (installation: Installation): { id: string; message: string } | undefined =>
  installation.query<{ id: string; message: string }>(
    "SELECT id, message FROM outbox_attention WHERE reason = 'other_worker'",
  )[0];

it('of two workers on one shop, the second buys and mails nothing until an operator has decided', async () => {
  const stub = await new StubWooCommerce().open();
  const [first, second] = [await installed(stub), await installed(stub)];
  const old = first.start();
  await old.started();
  await deliver(old, pay(stub, '6'));
  await old.line(isWritten);

  const worker = second.start();
  await worker.started();
  for (const id of ['7', '8']) await deliver(worker, pay(stub, id));
  for (const id of ['7', '8']) await waitFor(second, id, 'held');
  expect([boughtBy(second), flagIn(second)?.message]).toEqual([
    0,
    expect.stringMatching(/^the order 6 of the shop/),
  ]);
  // The first one is not disturbed by that.
  await deliver(old, stub.shown(stub.order('7')));
  await expect.poll(() => stub.order('7').body['status'], { timeout: 60_000 }).toBe('completed');
  expect([boughtBy(first), flagIn(first)]).toEqual([2, undefined]);
  await deliver(worker, stub.shown(stub.order('7')));
  expect(await old.end('SIGTERM')).toBe(0);

  const id = flagIn(second)?.id ?? '';
  expect(
    await commandLine(second, 'orders', 'ack', id, '--reason', 'the old server is off'),
  ).toMatchObject({
    code: 0,
  });
  await waitFor(second, '8', 'fulfilled');
  await expect.poll(() => stub.order('8').body['status'], { timeout: 60_000 }).toBe('completed');
  await waitFor(second, '7', 'held');
  expect([boughtBy(second), flagIn(second)]).toEqual([1, undefined]);
  expect(stub.shop.mails.filter(({ kind }) => kind === 'note').length).toBe(3);
  expect(await worker.end('SIGTERM')).toBe(0);
});

it('a worker buys nothing before it has looked at the newest orders of its shop, and tells why', async () => {
  const stub = await new StubWooCommerce().open();
  const installation = await installed(stub);
  let isDown = true;
  stub.misbehave = (_, response) => isDown && send(response, 500, '');
  const worker = installation.start();
  await worker.started();
  await deliver(worker, pay(stub, '7'));
  const waits = await worker.line(({ msg }) => msg.startsWith('an order is not bought yet'));
  expect([waits['problem'], boughtBy(installation)]).toEqual([expect.stringContaining('500'), 0]);
  isDown = false;
  await waitFor(installation, '7', 'fulfilled');
  // Once in the run of a worker.
  const looks = stub.calls.filter(isLook).length;
  await deliver(worker, pay(stub, '8'));
  await waitFor(installation, '8', 'fulfilled');
  expect(stub.calls.filter(isLook).length).toBe(looks);
  expect(await worker.end('SIGTERM')).toBe(0);
});

it('a worker buys from a shop whose list of orders always fails, once it has asked for fewer and fewer of them', async () => {
  const stub = await new StubWooCommerce().open();
  const installation = await installed(stub);
  stub.misbehave = (call, response) => isLook(call) && send(response, 500, '');
  const worker = installation.start();
  await worker.started();
  await deliver(worker, pay(stub, '7'));
  await waitFor(installation, '7', 'fulfilled');
  const asked = stub.calls.filter(isLook).map(({ url }) => url.searchParams.get('per_page'));
  expect(asked).toEqual(['100', '25', '6', '1']);
});
