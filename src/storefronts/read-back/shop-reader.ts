import { setImmediate as nextTurn } from 'node:timers/promises';
import { isoTime } from '../../core/clock.ts';
import { messageOf } from '../../core/message-text.ts';
import type { ResultOf } from '../../core/operator/operator-command.ts';
import type { StorefrontAnswer } from '../../store/storefronts/storefront-order.ts';
import type { ShopHandler } from '../storefront-intake.ts';
import {
  type ListedOrder,
  type OrderList,
  type OrderPage,
  type ShopApi,
  ShopApiError,
} from '../shop/shop-api.ts';
import { Watermark, type WatermarkDeps } from './watermark.ts';

export type ReadBackReport = ResultOf<'reconciled'>['shops'][number];

export interface ShopReaderDeps extends WatermarkDeps {
  readonly api: ShopApi;
  /** Takes in the orders that were read: by the settings in use, which a reload may change. */
  readonly handler: () => ShopHandler;
  /** An order of this source was found that no webhook had brought. */
  readonly onFound: (source: string) => void;
}

/** So many failed runs in a row make the health check warn. Refused keys do so at once. */
const maxFailures = 3;
/**
 * A run of a slow shop ends after the page on which it becomes this old. The next run continues.
 */
const maxRunMs = 600_000;
/** Failures that say nothing about other orders while the shop answers anything. */
const ofOneOrder: readonly string[] = ['refused', 'unreadable', 'unavailable', 'unreachable'];
/** So many orders that cannot be read are asked for again in one run. */
const mostSick = 20;

interface OpenList {
  readonly list: OrderList;
  /**
   * On the monotonic clock, because it may take several runs. Later changes may be missing in the
   * list.
   */
  readonly openedSteadyMs: number;
  isSorted: boolean;
  newestMs: number;
}

/**
 * Reads one shop back, run by run: each run reads the orders that were changed since the watermark,
 * and some before it. The watermark is a time of the shop's clock. It advances only over orders
 * that are on disk, so a failed run is simply repeated: an order that is taken in twice changes
 * nothing.
 */
export class ShopReader {
  readonly watermark: Watermark;
  readonly #deps: ShopReaderDeps;
  /**
   * The list that the last run did not finish. A new list would have each run read the same first
   * pages.
   */
  #unfinished: OpenList | null = null;
  #lastAwaited: string | null = null;
  #failures = 0;
  #lastError: ReadBackReport['error'] = null;

  constructor(deps: ShopReaderDeps) {
    this.#deps = deps;
    this.watermark = new Watermark(deps);
  }

  /** `warn` after several failed runs in a row. */
  get health(): 'pass' | 'warn' {
    return this.problem === null ? 'pass' : 'warn';
  }

  get problem(): string | null {
    const { kind, message = null } = this.#lastError ?? {};
    return this.#failures >= maxFailures || kind === 'unauthorized' || kind === 'cached'
      ? message
      : null;
  }

  get isReady(): boolean {
    return this.#failures === 0;
  }

  /**
   * One run. Never throws: a failure is in its report and in the log.
   * @param sinceMs a time of the shop to read from instead of the watermark, which then does not
   * change
   */
  async run(signal: AbortSignal, sinceMs: number | null = null): Promise<ReadBackReport> {
    const { logger, shop } = this.#deps;
    const counts = newCounts();
    let error: ReadBackReport['error'] = null;
    try {
      this.watermark.checkClock(null);
      await this.watermark.begin();
      await this.#readAll(signal, sinceMs, counts);
      await this.#readAwaited(signal, counts);
      if (this.#failures > 0) logger.info('the shop can be read back again');
      this.#failures = 0;
      this.#lastError = null;
    } catch (cause) {
      error = {
        kind: cause instanceof ShopApiError ? cause.kind : 'internal',
        message: messageOf(cause),
      };
      if (error.kind !== 'stopped') this.#failed(error, cause);
    }
    if (counts.accepted + counts.takenBack + counts.flagged + counts.unreadable > 0) {
      logger.info({ ...counts, error }, 'read-back found orders that no webhook had delivered');
    }
    return { platform: shop.platform, shop: shop.shop, ...counts, error };
  }

  #failed(error: NonNullable<ReadBackReport['error']>, cause: unknown): void {
    this.#failures += 1;
    this.#lastError = error;
    const details = {
      ...error,
      ...(error.kind === 'internal' ? { err: cause } : {}),
      failures: this.#failures,
    };
    this.#deps.logger.error(details, 'the shop could not be read back');
  }

  async #readAll(signal: AbortSignal, sinceMs: number | null, counts: Counts): Promise<void> {
    const { shop, clock } = this.#deps;
    const endMs = clock.steadyMs() + maxRunMs;
    const { open, first } = await this.#continueOrOpen(signal, sinceMs);
    let page = first;
    for (;;) {
      counts.pages += 1;
      await this.#takePage(page, open, signal, counts);
      // An unsorted list may show older changes on a later page.
      if (sinceMs === null && (open.isSorted || page.isLast) && counts.readToMs !== null) {
        await this.watermark.advance(Math.min(counts.readToMs, this.#openedMs(open)));
      }
      if (page.isLast) {
        counts.complete = true;
        return;
      }
      if (counts.pages >= shop.rest.pagesPerRun || clock.steadyMs() >= endMs) {
        if (!open.isSorted) {
          const problem = 'the shop does not sort its orders by the time of the last change';
          throw new ShopApiError('unreadable', `${problem}, and one run cannot read them all`);
        }
        if (sinceMs === null) this.#unfinished = open;
        return;
      }
      page = await open.list.nextPage(signal);
    }
  }

  async #takePage(
    page: OrderPage,
    open: OpenList,
    signal: AbortSignal,
    counts: Counts,
  ): Promise<void> {
    for (const listed of page.orders) {
      if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
      await this.#takeOne(listed, open.newestMs, signal, counts);
      if (listed.modifiedMs !== null) {
        if (listed.modifiedMs < open.newestMs) open.isSorted = false;
        open.newestMs = Math.max(open.newestMs, listed.modifiedMs);
      }
      // Each order is a commit: let the rest of the worker run in between.
      await nextTurn();
    }
    if (Number.isFinite(open.newestMs)) counts.readToMs = open.newestMs;
  }

  /**
   * Continues the list of the last run, or opens a new one. After a failure the list is not
   * continued.
   */
  async #continueOrOpen(
    signal: AbortSignal,
    sinceMs: number | null,
  ): Promise<{ open: OpenList; first: OrderPage }> {
    const unfinished = this.#unfinished;
    if (sinceMs === null && unfinished !== null) {
      this.#unfinished = null;
      return { open: unfinished, first: await unfinished.list.nextPage(signal) };
    }
    const openedSteadyMs = this.#deps.clock.steadyMs();
    const { list, first } = await this.#open(signal, sinceMs);
    return {
      open: { list, openedSteadyMs, isSorted: true, newestMs: Number.NEGATIVE_INFINITY },
      first,
    };
  }

  /**
   * Opens a list. Its first answer tells the shop's clock; if the list began too late, an earlier
   * one is opened.
   */
  async #open(
    signal: AbortSignal,
    sinceMs: number | null,
  ): Promise<{ list: OrderList; first: OrderPage }> {
    const { api } = this.#deps;
    const clockBeforeMs = api.clockAheadMs;
    const list = api.changedSince(sinceMs ?? (await this.watermark.startMs(clockBeforeMs)));
    const first = await list.nextPage(signal);
    const beganTooLate = await this.watermark.beganTooLate(clockBeforeMs, api.clockAheadMs);
    if (sinceMs !== null || !beganTooLate) return { list, first };
    const earlier = api.changedSince(await this.watermark.startMs(api.clockAheadMs));
    return { list: earlier, first: await earlier.nextPage(signal) };
  }

  async #takeOne(
    listed: ListedOrder,
    afterMs: number,
    signal: AbortSignal,
    counts: Counts,
  ): Promise<void> {
    const { handler, api, logger } = this.#deps;
    counts.orders += 1;
    if (listed.value instanceof ShopApiError) {
      const place =
        listed.id === null && Number.isFinite(afterMs)
          ? ` that it changed after ${isoTime(afterMs)}`
          : '';
      // Without the address, which differs from run to run: it is one flag.
      const problem = listed.value.message.replace(/^\S+ \S+: /, '');
      const rule = `the shop fails to show the order${place}, even when it is asked for this order alone: ${problem}`;
      return this.#count(await handler().flagUnread(listed.id, rule), counts);
    }
    const result = await handler().takeRead(listed.value, 'not_read', { api, signal });
    if (result.kind === 'other') {
      counts.unreadable += 1;
      logger.error(
        { order_id: listed.id },
        "the shop's list of orders has an item that is not an order: review it in the shop",
      );
    }
    this.#count(result, counts);
  }

  #count(result: StorefrontAnswer, counts: Counts): void {
    if (result.kind === 'taken') {
      if (result.taken.accepted > 0) this.#deps.onFound(this.#deps.shop.source);
      for (const key of ['accepted', 'takenBack', 'flagged'] as const)
        counts[key] += result.taken[key];
    } else if (result.kind === 'unreadable') {
      counts.unreadable += 1;
      counts.flagged += result.flagged;
    }
  }

  /**
   * Orders that wait for their refunds, or that could not be read. The list may lack them: some
   * shops leave an order's time as it is at a refund.
   */
  async #readAwaited(signal: AbortSignal, counts: Counts): Promise<void> {
    const { store, shop, clock } = this.#deps;
    const endMs = clock.steadyMs() + maxRunMs;
    const awaited = await store.awaitedOrders(shop.source);
    // Each run continues after the last one that was tried: none keeps the others waiting.
    const next = awaited.findIndex(({ orderId }) => orderId === this.#lastAwaited) + 1;
    let sick = 0;
    for (const { orderId } of [...awaited.slice(next), ...awaited.slice(0, next)]) {
      if (clock.steadyMs() >= endMs || sick >= mostSick) break;
      this.#lastAwaited = orderId;
      if (!(await this.#readOne(orderId, signal, counts))) sick += 1;
    }
    for (const orderId of this.#deps.handler().named) await this.#readOne(orderId, signal, counts);
  }

  /**
   * Reads an order with its refunds; returns whether that succeeded. One that cannot be read waits
   * on disk, and does not block others.
   */
  async #readOne(orderId: string, signal: AbortSignal, counts: Counts): Promise<boolean> {
    const { handler, api, logger } = this.#deps;
    try {
      const read = await api.order(orderId, signal);
      // A delivery may have named something else than an order, so its absence is no deletion.
      if (handler().named.delete(orderId) && read === null) return true;
      this.#count(await handler().takeNow(orderId, read, { api, signal }), counts);
      return true;
    } catch (error) {
      if (!(error instanceof ShopApiError) || !ofOneOrder.includes(error.kind)) throw error;
      await api.answers(signal);
      const { message } = error;
      const rule = `the order ${orderId}, which a webhook named, cannot be read: ${message}`;
      if (handler().named.delete(orderId)) await handler().flagUnusable(rule);
      logger.error(
        { order_id: orderId, message },
        'an order could not be read from the shop: it waits',
      );
      return false;
    }
  }

  /** When the list was opened, by what this machine's clock shows today. */
  #openedMs({ openedSteadyMs }: OpenList): number {
    const { clock } = this.#deps;
    return clock.wallMs() - Math.round(clock.steadyMs() - openedSteadyMs);
  }
}

type Counts = {
  -readonly [K in Exclude<keyof ReadBackReport, 'platform' | 'shop' | 'error'>]: ReadBackReport[K];
};

function newCounts(): Counts {
  return {
    complete: false,
    pages: 0,
    orders: 0,
    accepted: 0,
    takenBack: 0,
    flagged: 0,
    unreadable: 0,
    readToMs: null,
  };
}
