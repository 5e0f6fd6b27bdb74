import { StubWooCommerce } from '../storefronts/read-back/stub-shop.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { minutesAgo, oneCard } from '../storefronts/read-back/running-read-back.ts';
import { deliver, installationFor } from '../storefronts/read-back/shop-worker.ts';

const setting = (name: string, otherwise: number): number =>
  Number(process.env[`SHOP_MAILS_${name}`] ?? otherwise);
/**
 * For the figures of production: SHOP_MAILS_ORDERS=200 SHOP_MAILS_ANSWER_MS=500
 * SHOP_MAILS_TIME_SCALE=1, with SHOP_MAILS_KILLS=0 and 3.
 */
const orders = setting('ORDERS', 24);
const answerMs = setting('ANSWER_MS', 50);
const kills = setting('KILLS', 2);
const timeScale = setting('TIME_SCALE', 0.002);

/** The worker has so many calls to a shop under way. */
const callsAtOnce = 4;

it('mails each code of many paid orders once, five calls an order, and a kill delays no more notes than were under way', async () => {
  const stub = await new StubWooCommerce().open();
  stub.misbehave = async () => {
    await delay(answerMs);
    return false;
  };
  const installation = await installationFor(stub, {}, { timeScale });
  installation.configure((config) => {
    config.intake.webhook.woocommerce[0].write_back = { deliver_codes: 'note' };
  });
  let worker = installation.start();
  await worker.started();
  await stub.asks(1);

  const ids = Array.from({ length: orders }, (_, index) => String(1000 + index));
  const begunAt = new Map<string, number>();
  const mailedAfterMs: number[] = [];
  let completed = 0;
  let mailed = (): void => undefined;
  stub.shop.onMail = ({ orderId, kind }) => {
    if (kind === 'note') mailedAfterMs.push(performance.now() - (begunAt.get(orderId) ?? 0));
    else completed += 1;
    mailed();
  };
  const first = performance.now();
  const until = async (isReached: () => boolean): Promise<void> => {
    while (!isReached()) await new Promise<void>((resolve) => (mailed = resolve));
  };
  const calls = stub.calls.length;
  for (const id of ids) {
    const order = stub.put({ id, modifiedMs: minutesAgo(1), body: oneCard(`${id}1`) });
    begunAt.set(id, performance.now());
    await deliver(worker, stub.shown(order));
  }
  let later = 0;
  const isLater = (line: { msg: string }): boolean => line.msg === 'a result is delivered later';
  // A stop lets the posts end that are under way, so none of them waits for it.
  const signals =
    kills === 0
      ? []
      : (['SIGTERM', ...Array.from({ length: kills }, () => 'SIGKILL' as const)] as const);
  for (const [index, signal] of signals.entries()) {
    await until(() => mailedAfterMs.length >= (orders * (index + 1)) / (signals.length + 1));
    await worker.end(signal);
    later += new Set(worker.log.filter(isLater).map(({ order_id: id }) => id)).size;
    worker = installation.start();
    await worker.started();
  }
  await until(() => completed >= orders);
  const tookMs = performance.now() - first;
  later += new Set(worker.log.filter(isLater).map(({ order_id: id }) => id)).size;

  const mails = stub.shop.mails.filter(({ kind }) => kind === 'note');
  expect(mails.map(({ orderId }) => orderId).toSorted()).toEqual(ids);
  const codes = mails.flatMap(({ text }) =>
    [...text.matchAll(/Code: <code>([^<]+)</g)].map(([, code]) => code),
  );
  expect([codes.length, new Set(codes).size]).toEqual([orders, orders]);
  // An order that was under way is read again, with its notes where a post may be open, and its
  // last write is repeated.
  const again = kills === 0 ? 0 : 3 * callsAtOnce * (kills + 1);
  const ofOrders = stub.calls.slice(calls).filter(({ url }) => /\/orders\/\d/.test(url.pathname));
  expect(ofOrders.length).toBeLessThanOrEqual(5 * orders + again);
  expect(later).toBeLessThanOrEqual(callsAtOnce * kills);
  const sorted = mailedAfterMs.toSorted((a, b) => a - b);
  const figures = {
    orders,
    answerMs,
    kills,
    tookMs,
    medianMs: sorted[orders >> 1],
    longestMs: sorted.at(-1),
    later,
  };
  if (process.env['SHOP_MAILS_ORDERS'] !== undefined)
    process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(await worker.end('SIGTERM')).toBe(0);
}, 900_000);
