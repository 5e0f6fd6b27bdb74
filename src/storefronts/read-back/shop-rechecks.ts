import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../core/message-text.ts';
import { Breaker } from '../../ops/breaker.ts';
import { Loop } from '../../ops/loop.ts';
import type { DueRecheck } from '../../store/entries/rechecks.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import { recheckAfterMs } from '../shop/shop-settings.ts';
import type { StorefrontAnswer } from '../../store/storefronts/storefront-order.ts';
import type { ShopReaderDeps } from './shop-reader.ts';
import type { Watermark } from './watermark.ts';

type ShopRechecksDeps = ShopReaderDeps & { readonly watermark: Watermark };

const atOnce = 50;
/** So many calls in a row without an answer are the shop's failure, not that of their orders. */
const maxFailures = 3;
const firstBackOffMs = 5000;
/** The longest wait that the shop may ask for. */
const maxAskedMs = 3_600_000;
/**
 * An order that could not be read is read again after the time that it has waited so far, within
 * these limits.
 */
const orderWaitMs = { least: 30_000, most: 300_000 };
/** With so many failures it is the list that fails. */
const mostLooks = 4;
/** A loop that nothing wakes looks again after this time. */
const maxIdleMs = 60_000;

/** Failures that say nothing about the order: no other order of the shop can be read now either. */
const ofShop: readonly string[] = ['unauthorized', 'rate_limited', 'clock'];
/** Failures that several orders in a row share when the shop is down. */
const perhapsOfShop: readonly string[] = ['unavailable', 'unreachable', 'internal'];

/**
 * Reads orders of one shop again that wait for that before they are bought, one after the other. A
 * read order is handled like a webhook: its lines are held, cancelled or bought. The waiting orders
 * are on disk: after a crash they are read again.
 */
export class ShopRechecks {
  readonly loop: Loop;
  readonly #deps: ShopRechecksDeps;
  /**
   * See `RecheckRule`. Nothing is bought before the first look at the shop since the start; while
   * that fails, every order waits.
   */
  maxAgeMs = -Infinity;
  #looks = 0;
  readonly #breaker: Breaker;
  #isRefused = false;

  constructor(deps: ShopRechecksDeps) {
    this.#deps = deps;
    this.#breaker = new Breaker({
      clock: deps.clock,
      opensAfter: maxFailures,
      firstMs: firstBackOffMs,
      mostMs: 300_000,
    });
    this.loop = new Loop({ clock: deps.clock, round: (signal) => this.#readDue(signal) });
  }

  /** `warn` while the shop refuses the keys, or after several failures in a row. */
  get health(): 'pass' | 'warn' {
    return this.#isRefused || this.#breaker.failures >= maxFailures ? 'warn' : 'pass';
  }

  async #readDue(signal: AbortSignal): Promise<number> {
    const { store, shop, clock, logger } = this.#deps;
    const { source } = shop;
    try {
      // Also while the shop backs off: orders that no line waits for any more leave the attention
      // list.
      const due = await store.dueRechecks({ source, steadyMs: clock.steadyMs(), limit: atOnce });
      if (this.#breaker.waitMs > 0) return Math.min(maxIdleMs, this.#breaker.waitMs);
      if (this.maxAgeMs < 0) await this.#look(signal);
      for (const order of due) {
        await this.#readOne(order, signal);
        if (signal.aborted) return 0;
        if (this.#breaker.waitMs > 0) return this.#breaker.waitMs;
        // Each order is a commit: let the rest of the worker run in between.
        await nextTurn();
      }
      const nextAtMs = await store.nextRecheckAt(source);
      return nextAtMs === null
        ? maxIdleMs
        : Math.min(maxIdleMs, Math.max(0, nextAtMs - clock.steadyMs()));
    } catch (error) {
      logger.error({ err: error }, 'the orders that must be read again could not be selected');
      return maxIdleMs;
    }
  }

  /** Looks for another worker: in the results of the newest orders. */
  async #look(signal: AbortSignal): Promise<void> {
    const { api, store, shop, clock, logger } = this.#deps;
    try {
      // Fewer after each failure: one of them may break the list.
      const count = 100 >> (2 * this.#looks++);
      for (const one of (await api.newestResults?.(Math.max(1, count), signal)) ?? [])
        await store.noteResult({ ...one, source: shop.source, nowMs: clock.wallMs() });
      this.maxAgeMs = recheckAfterMs;
    } catch (error) {
      this.maxAgeMs = -1;
      logger.warn(
        { message: messageOf(error) },
        "the newest orders could not be checked for another worker's results",
      );
    }
  }

  async #readOne(order: DueRecheck, signal: AbortSignal): Promise<void> {
    const { api, handler, watermark } = this.#deps;
    const { orderId } = order;
    try {
      const read = await api.order(orderId, signal);
      watermark.checkClock(api.clockAheadMs);
      const taken = await handler().takeNow(orderId, read, { api, signal });
      this.#succeeded();
      // The shop answers, and its list does not.
      if (this.#looks >= mostLooks) this.maxAgeMs = recheckAfterMs;
      const problem = problemOf(taken);
      if (problem !== null) await this.#postpone(order, problem);
    } catch (error) {
      // It waits on disk for the next start.
      if (signal.aborted) return;
      this.#failed(error);
      await this.#postpone(order, messageOf(error));
    }
  }

  async #postpone(order: DueRecheck, problem: string): Promise<void> {
    const { store, shop, clock, logger } = this.#deps;
    const { orderId, sinceMs } = order;
    const waitedMs = clock.wallMs() - sinceMs;
    const waitMs = Math.min(orderWaitMs.most, Math.max(orderWaitMs.least, waitedMs));
    const atMs = clock.steadyMs() + waitMs;
    await store.postponeRecheck({ source: shop.source, orderId, problem, atMs });
    if (problem === order.problem) return;
    logger.warn(
      { order_id: orderId, problem },
      'an order is not bought yet, because it could not be read again from the shop',
    );
  }

  #succeeded(): void {
    if (this.health === 'warn') this.#deps.logger.info('orders can be read again from the shop');
    this.#breaker.works();
    this.#isRefused = false;
  }

  #failed(error: unknown): void {
    const kind = error instanceof ShopApiError ? error.kind : 'internal';
    const isOfShop = ofShop.includes(kind);
    if (!isOfShop && !perhapsOfShop.includes(kind)) return;
    const before = this.health;
    this.#isRefused ||= kind === 'unauthorized';
    const askedMs = error instanceof ShopApiError ? (error.retryAfterMs ?? 0) : 0;
    if (this.#breaker.fails() || isOfShop)
      this.#breaker.waitFor(Math.max(firstBackOffMs, Math.min(askedMs, maxAskedMs)));
    if (before === 'pass' && this.health === 'warn') {
      const internal = kind === 'internal' ? { err: error } : { message: String(error) };
      this.#deps.logger.error(
        { kind, ...internal },
        'orders that must be read again from the shop cannot be read',
      );
    }
  }
}

/** Why an order still waits after these answers. */
const problems: Readonly<Record<Exclude<StorefrontAnswer['kind'], 'taken'>, string>> = {
  unreadable: 'the state that the shop shows cannot be read',
  test: 'the shop now shows the order as a test order',
  needs_refunds: 'the refunds of the order could not be read',
  other: 'the shop answered with something that is not an order',
  other_shop: 'the shop answered with the order of another shop',
};

/** Why an order still waits; null: the answer was taken in, and it waits no more. */
function problemOf(answer: StorefrontAnswer): string | null {
  if (answer.kind !== 'taken') return problems[answer.kind];
  return answer.taken.stale
    ? 'the shop shows an older state of the order than the known state'
    : null;
}
