import { messageOf } from '../../core/message-text.ts';
import type { ShopChecks } from '../shop/shop-api.ts';
import type { ShopReaderDeps } from './shop-reader.ts';

const everyMs = 3_600_000;
/** Orders that the shop changed last within this time are looked for. */
const recentMs = 3 * 86_400_000;
const ordersPerCall = 100;
/** A shop that lists few of its orders is not asked for each of them. */
const mostReads = 50;
const switchedOn =
  'the shop had switched off a webhook after failed deliveries: the worker switched it on again';

/**
 * Finds changes for which a shop sends no webhook: it switched its webhooks off, which it does for
 * good after some failed deliveries, or recent orders or their refunds were deleted.
 */
export class ShopUpkeep {
  readonly #deps: ShopReaderDeps;
  #dueMs = Number.NEGATIVE_INFINITY;
  /** Why orders come late; null: nothing is known that delays them. */
  problem: string | null = null;
  /**
   * How often each webhook was switched on since an hourly check found it on: twice means that the
   * shop does not reach the worker.
   */
  readonly #switchedOn = new Map<string, number>();

  constructor(deps: ShopReaderDeps) {
    this.#deps = deps;
  }

  /**
   * Checks once an hour; the webhooks also while one is off, and after an order whose webhook was
   * lost. Never throws.
   */
  async run(signal: AbortSignal, wasWebhookLost: boolean): Promise<void> {
    const { api, clock, logger } = this.#deps;
    const isDue = clock.steadyMs() >= this.#dueMs;
    if (api.checks === undefined || !(isDue || wasWebhookLost || this.problem !== null)) return;
    if (isDue) this.#dueMs = clock.steadyMs() + everyMs;
    try {
      await this.#switchOn(api.checks, isDue, signal);
      if (isDue) await this.#readMissing(api.checks, signal);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn(
        { message: messageOf(error) },
        'the webhooks or recent orders of the shop could not be checked',
      );
    }
  }

  async #switchOn(checks: ShopChecks, isDue: boolean, signal: AbortSignal): Promise<void> {
    const { shop, store, clock, logger } = this.#deps;
    const off: string[] = [];
    for (const { id, status } of await checks.webhooksTo(
      `/webhooks/${shop.platform}/${shop.shop}`,
      signal,
    )) {
      const times = this.#switchedOn.get(id) ?? 0;
      if (status === 'disabled') {
        const isOn = await checks.switchOn(id, signal);
        if (isOn) this.#switchedOn.set(id, times + 1);
        if (isOn && times === 0) logger.warn({ webhook: id }, switchedOn);
        else off.push(id);
      } else if (isDue) this.#switchedOn.delete(id);
      else if (times > 1) off.push(id);
    }
    const problem = `the shop ${shop.shop} has switched off its webhook ${off.join(', ')} after failed deliveries`;
    const before = this.problem;
    this.problem = off.length === 0 ? null : problem;
    const flag = { source: shop.source, code: 'webhook_off' };
    if (this.problem === null) await store.endShopFlag(flag);
    else if (this.problem !== before)
      await store.flagShop({ ...flag, rule: this.problem, nowMs: clock.wallMs() });
  }

  async #readMissing(checks: ShopChecks, signal: AbortSignal): Promise<void> {
    const { shop, api, store, clock, handler } = this.#deps;
    const orders = await store.recentOrders({
      source: shop.source,
      sinceMs: clock.wallMs() - recentMs,
    });
    let reads = 0;
    for (let at = 0; at < orders.length; at += ordersPerCall) {
      const asked = orders.slice(at, at + ordersPerCall);
      const ids = asked.map(({ orderId }) => orderId);
      const refunds = await checks.refundCounts(ids, signal);
      const changed = asked.filter(
        ({ orderId, refundCount }) => refunds.get(orderId) !== refundCount,
      );
      for (const { orderId } of changed.slice(0, mostReads - reads)) {
        reads += 1;
        await handler().takeNow(orderId, await api.order(orderId, signal), { api, signal });
      }
    }
  }
}
