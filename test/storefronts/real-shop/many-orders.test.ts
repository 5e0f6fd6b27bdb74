import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folder, ShopAndWorker, whySkipped } from './shop-and-worker.ts';

/** WOO_TRIAL_ORDERS=200 for the figures of production. */
const orders = Number(process.env['WOO_TRIAL_ORDERS'] ?? 24);
const signals = ['SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGKILL'] as const;
const patient = { timeout: 900_000, interval: 500 };

const isLater = (line: { msg: string }): boolean => line.msg === 'a result is delivered later';

describe.skipIf(folder === undefined)(`many orders of a real WooCommerce${whySkipped}`, { timeout: 300_000 }, () => {
  let both: ShopAndWorker;
  // As in production, but for the delay before a failed delivery is tried again.
  beforeAll(async () => void (both = await ShopAndWorker.open({ timeScale: 0.3 })));
  afterAll(() => both?.close());

  const isOf = (id: string) => new RegExp(` /wp-json/wc/v3/orders/${id}(?:/notes)?(?:\\?|$)`);
  /** Orders that wait for the worker to be started. */
  const add = async (): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (let index = 0; index < orders; index += 1) ids.push(await both.shop.order([both.line('STEAM-20')]));
    return ids;
  };
  const mailed = async (ids: readonly string[]): Promise<number> =>
    ids.filter((id) => both.shop.mails(id).some((body) => body.includes('Code: <code'))).length;
  const check = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) await both.completed(id);
    const codes = ids.flatMap((id) => both.codesOf(id));
    expect([codes.length, new Set(codes).size]).toEqual([orders, orders]);
    expect(ids.flatMap((id) => both.timesMailed(id))).toEqual(ids.map(() => 1));
    expect(ids.map((id) => both.boughtFor(id))).toEqual(ids.map(() => 1));
  };

  it('get their codes with at most four calls an order', async () => {
    await both.setWebhooks('paused');
    await both.worker.end('SIGTERM');
    const ids = await add();
    const calls = both.shop.calls().length;
    const began = performance.now();
    await both.start();
    await expect.poll(() => mailed(ids), patient).toBe(orders);
    const tookMs = Math.round(performance.now() - began);
    await check(ids);
    const made = both.shop.calls().slice(calls);
    const ofOrders = ids.map((id) => made.filter((call) => isOf(id).test(call) && !call.endsWith('status')).length);
    process.stdout.write(`${both.shop.versions}; ${orders} orders: ${tookMs} ms from the start to the last mail\n`);
    expect(Math.max(...ofOrders)).toBeLessThanOrEqual(4);
  }, 1_800_000);

  it('get each code once, and few wait, although the worker is stopped and killed', async () => {
    await both.worker.end('SIGTERM');
    const ids = await add();
    let later = 0;
    const began = performance.now();
    await both.start();
    for (const [index, signal] of signals.entries()) {
      const some = (orders * (index + 1)) / (signals.length + 1);
      await expect.poll(() => mailed(ids), patient).toBeGreaterThanOrEqual(some);
      later += new Set(both.worker.log.filter(isLater).map(({ order_id: id }) => id)).size;
      await both.restart(signal);
    }
    await expect.poll(() => mailed(ids), patient).toBe(orders);
    const tookMs = Math.round(performance.now() - began);
    await check(ids);
    later += new Set(both.worker.log.filter(isLater).map(({ order_id: id }) => id)).size;
    process.stdout.write(
      `${both.shop.versions}; ${orders} orders, a stop and 3 kills: ${tookMs} ms, ${later} waited\n`,
    );
    // Four calls are under way at most.
    expect(later).toBeLessThanOrEqual(4 * 3);
  }, 1_800_000);
});
