import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Storefronts, StorefrontTaken } from '../../store/storefronts/storefronts.ts';
import type { ListedOrder, OrdersPage, OrdersWalk, ShopApi } from './shop-api.ts';
import type { ReconciledShop } from './settings.ts';
import { ShopApiError } from './shop-api-error.ts';

/** What became of an order: `needs_refunds`: nothing yet, because it does not say which lines were refunded. */
export type Taken =
  | { readonly kind: 'other' | 'test' | 'needs_refunds' }
  | { readonly kind: 'taken'; readonly taken: StorefrontTaken };

/**
 * Takes in the state of an order exactly as a webhook delivers it. `ask`: the refunds of an order can be asked for;
 * `unknown`: they cannot.
 */
export type TakeOrder = (
  door: Pick<ReconciledShop, 'platform' | 'shop'>,
  value: unknown,
  refunds: readonly unknown[] | 'ask' | 'unknown',
) => Promise<Taken>;

export interface ReconcileReport {
  readonly platform: ReconciledShop['platform'];
  readonly shop: string;
  /** Everything that was changed has been read. False: the next run goes on, or `error` says why it cannot. */
  readonly complete: boolean;
  readonly pages: number;
  readonly orders: number;
  /** Lines that were bought because of this run. */
  readonly accepted: number;
  readonly takenBack: number;
  readonly told: number;
  /** Orders of a form that is not known; the log names them. */
  readonly unreadable: number;
  /** The newest change that was taken in, by the shop's clock; null when nothing was read. */
  readonly readToMs: number | null;
  readonly error: { readonly kind: string; readonly message: string } | null;
}

export interface ReconcilerDeps {
  readonly shop: ReconciledShop;
  readonly api: ShopApi;
  readonly store: Storefronts;
  readonly take: TakeOrder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs that fail one after the other before the worker counts as ill. Wrong keys count at once. */
const failuresLimit = 3;
/**
 * A clock that is wrong by more than a day is for a person. One that is ahead has more read again than is needed; by one
 * that is behind nothing would be too old, and all that the shop ever sold would be bought.
 */
const wrongClockMs = 86_400_000;
/** By so much two clocks may differ that are right. */
const toleranceMs = 1000;
/** This program was written later: a machine without a battery for its clock starts in another age. */
const earliestMs = Date.UTC(2026, 0, 1);
/** A run of a slow shop ends after the page on which it got this old; the next one goes on from there. */
const longestRunMs = 600_000;
/** An order that waits for being read back is left alone that long: its change may be in the shop's list a little later. */
const unreadPatienceMs = 3_600_000;
/** Orders whose refunds could not be read, remembered to give them up after some runs. */
const troubleLimit = 1000;

/** A list on its way: where it is, and what is known of its order. */
interface OpenList {
  readonly walk: OrdersWalk;
  /** Our clock when it was opened: what was changed later may have come too late to be in it. */
  readonly openedMs: number;
  sorted: boolean;
  newestMs: number;
}

/**
 * Reads one shop back, run by run: everything that was changed since the watermark, and some of what was read before.
 * The watermark is a time of the shop's clock. It moves only over orders that are on disk, so a run that fails or dies
 * is repeated, and what is taken in twice changes nothing.
 */
export class ShopReconciler {
  readonly #deps: ReconcilerDeps;
  readonly #refundTrouble = new Map<string, number>();
  /** What the last run did not come to the end of. Begun anew, a run would read its first pages for ever. */
  #left: OpenList | null = null;
  #everRead = false;
  #failures = 0;
  #lastKind: string | null = null;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
  }

  /** `warn` after some failures in a row. */
  get health(): 'pass' | 'warn' {
    return this.#failures >= failuresLimit || this.#lastKind === 'unauthorized' ? 'warn' : 'pass';
  }

  /** Whether the last run brought an answer, so that the next one can be relied on. */
  get isReady(): boolean {
    return this.#everRead && this.#failures === 0;
  }

  /** Whether the runs to come read an order that was changed then: one from before the beginning is in none of them. */
  async reaches(modifiedMs: number): Promise<boolean> {
    const { store, shop } = this.#deps;
    const watermarkMs = await store.watermark(shop.source);
    return watermarkMs !== null && modifiedMs >= watermarkMs - shop.rest.overlapMs;
  }

  /** Marks where reading back begins, the first time that a worker knows this shop. */
  async begin(): Promise<void> {
    const { store, clock, shop } = this.#deps;
    const nowMs = clock.wallMs();
    if (nowMs < earliestMs || (await store.watermark(shop.source)) !== null) return;
    await store.advanceWatermark({ source: shop.source, modifiedMs: nowMs - shop.rest.lookbackMs, nowMs });
  }

  /**
   * One run. Never throws: its report says how it ended, and the log says so loudly.
   * @param sinceMs read from this time of the shop instead; the watermark stays where it is
   */
  async run(signal: AbortSignal, sinceMs: number | null = null): Promise<ReconcileReport> {
    const { logger, shop } = this.#deps;
    const counts = newCounts();
    let error: ReconcileReport['error'] = null;
    try {
      if (this.#deps.clock.wallMs() < earliestMs) throw wrongClock(this.#deps.clock.wallMs());
      await this.begin();
      await this.#readAll(signal, sinceMs, counts);
    } catch (cause) {
      error = { kind: cause instanceof ShopApiError ? cause.kind : 'internal', message: messageOf(cause) };
      if (error.kind !== 'stopped') {
        this.#failures += 1;
        this.#lastKind = error.kind;
        const internal = error.kind === 'internal' ? { err: cause } : {};
        logger.error(
          { ...nameOf(shop), ...error, ...internal, failures: this.#failures },
          'the shop could not be read back',
        );
      }
    }
    if (error === null) {
      if (this.#failures > 0) logger.info(nameOf(shop), 'the shop is read back again');
      this.#everRead = true;
      this.#failures = 0;
      this.#lastKind = null;
    }
    const report = { platform: shop.platform, shop: shop.shop, ...counts, error };
    if (counts.accepted + counts.takenBack + counts.told + counts.unreadable > 0) {
      logger.info(report, 'orders that no webhook had brought were read back from the shop');
    }
    return report;
  }

  async #readAll(signal: AbortSignal, sinceMs: number | null, counts: Counts): Promise<void> {
    const { shop, clock } = this.#deps;
    const endMs = clock.monoMs() + longestRunMs;
    const { list, first } = await this.#goOn(signal, sinceMs);
    let page = first;
    for (;;) {
      counts.pages += 1;
      for (const listed of page.orders) {
        if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
        await this.#takeOne(listed, signal, counts);
        if (listed.modifiedMs !== null) {
          if (listed.modifiedMs < list.newestMs) list.sorted = false;
          list.newestMs = Math.max(list.newestMs, listed.modifiedMs);
        }
        // Whatever else the worker does comes in between: each order is a commit.
        await nextTurn();
      }
      if (Number.isFinite(list.newestMs)) counts.readToMs = list.newestMs;
      // In a list that is not sorted, something older may still come.
      const isSafe = list.sorted || page.isLast;
      if (sinceMs === null && isSafe && counts.readToMs !== null) {
        await this.#advance(Math.min(counts.readToMs, list.openedMs), clock.wallMs());
      }
      if (page.isLast) {
        counts.complete = true;
        if (sinceMs === null) counts.told += await this.#tellUnread(list.openedMs);
        return;
      }
      if (counts.pages >= shop.rest.pagesPerRun || clock.monoMs() >= endMs) {
        if (!list.sorted) {
          const rule =
            'the shop does not sort its orders by the time of their change, and has more than fit into one run';
          throw new ShopApiError('unreadable', `${rule}: raise pages_per_run`);
        }
        if (sinceMs === null) this.#left = list;
        return;
      }
      page = await list.walk.read(signal);
    }
  }

  /** The list that the last run left, or a new one. One that fails is not gone on with. */
  async #goOn(signal: AbortSignal, sinceMs: number | null): Promise<{ list: OpenList; first: OrdersPage }> {
    const left = sinceMs === null ? this.#left : null;
    if (left !== null) {
      this.#left = null;
      return { list: left, first: await left.walk.read(signal) };
    }
    const openedMs = this.#deps.clock.wallMs();
    const { walk, first } = await this.#open(signal, sinceMs);
    return { list: { walk, openedMs, sorted: true, newestMs: Number.NEGATIVE_INFINITY }, first };
  }

  /** Opens the list. Our clock only decides where, and a shop whose clock is behind ours is asked further back. */
  async #open(signal: AbortSignal, sinceMs: number | null): Promise<{ walk: OrdersWalk; first: OrdersPage }> {
    const { shop, api, store, clock } = this.#deps;
    const knewMs = api.aheadMs;
    const fromMs = async (): Promise<number> => {
      if (sinceMs !== null) return sinceMs;
      const aheadMs = Math.min(wrongClockMs, Math.max(0, api.aheadMs ?? 0));
      const watermarkMs = (await store.watermark(shop.source)) ?? clock.wallMs() - shop.rest.lookbackMs;
      return watermarkMs - shop.rest.overlapMs - aheadMs;
    };
    const walk = api.changedSince(await fromMs());
    const first = await walk.read(signal);
    this.#tellSkew();
    if ((api.aheadMs ?? 0) < -wrongClockMs) throw wrongClock(clock.wallMs());
    const isLowered = await this.#lowerWatermark();
    if (sinceMs !== null || (!isLowered && (knewMs !== null || (api.aheadMs ?? 0) < toleranceMs)))
      return { walk, first };
    const again = api.changedSince(await fromMs());
    return { walk: again, first: await again.read(signal) };
  }

  /**
   * A watermark in the future was set by a clock that was ahead at the first start, and nothing would be read until that
   * time has come. It is brought to the later of both clocks: what was there before the first start is never bought. By
   * our clock alone it is left where it is, because that may be the one that is wrong now.
   */
  async #lowerWatermark(): Promise<boolean> {
    const { store, shop, clock, api, logger } = this.#deps;
    const { aheadMs } = api;
    if (aheadMs === null) return false;
    const nowMs = clock.wallMs();
    const presentMs = Math.max(nowMs, nowMs - aheadMs) + toleranceMs;
    const isLowered = await store.lowerWatermark({ source: shop.source, presentMs, nowMs });
    if (isLowered)
      logger.warn({ ...nameOf(shop), to: isoTime(presentMs) }, 'reading back began in the future: it begins now');
    return isLowered;
  }

  async #takeOne(listed: ListedOrder, signal: AbortSignal, counts: Counts): Promise<void> {
    const { shop, take, logger } = this.#deps;
    counts.orders += 1;
    const result = await take(shop, listed.value, 'ask');
    const done = result.kind === 'needs_refunds' ? await this.#withRefunds(listed, signal) : result;
    if (done.kind === 'taken') {
      counts.accepted += done.taken.accepted;
      counts.takenBack += done.taken.takenBack;
      counts.told += done.taken.told;
    } else if (done.kind === 'other') {
      counts.unreadable += 1;
      logger.error(
        { ...nameOf(shop), order_id: listed.id },
        'an order of the shop has a form that is not known: look at it',
      );
    }
  }

  async #withRefunds(listed: ListedOrder, signal: AbortSignal): Promise<Taken> {
    const { shop, take, api, logger } = this.#deps;
    const id = listed.id ?? '';
    try {
      const refunds = await api.refundsOf(id, signal);
      this.#refundTrouble.delete(id);
      return await take(shop, listed.value, refunds);
    } catch (error) {
      // One order must not stand in the way of all others for ever: in the end a person is told that it is unclear.
      if (!(error instanceof ShopApiError) || !['refused', 'unreadable', 'unavailable'].includes(error.kind))
        throw error;
      const tries = (this.#refundTrouble.get(id) ?? 0) + 1;
      if (this.#refundTrouble.size >= troubleLimit) this.#refundTrouble.clear();
      this.#refundTrouble.set(id, tries);
      if (tries < failuresLimit) throw error;
      logger.error({ ...nameOf(shop), order_id: id, message: error.message }, 'the refunds of an order cannot be read');
      return await take(shop, listed.value, 'unknown');
    }
  }

  /** Never beyond our own clock: an order that a wrong clock dated into the future would hide all that come before it. */
  async #advance(readToMs: number, nowMs: number): Promise<void> {
    const { store, shop } = this.#deps;
    const modifiedMs = Math.min(readToMs, nowMs);
    await store.advanceWatermark({ source: shop.source, modifiedMs, nowMs });
  }

  /** What was delivered long before this list was opened, and is in none, is not in the shop's list any more. */
  async #tellUnread(openedMs: number): Promise<number> {
    const { store, shop, clock } = this.#deps;
    const seenBeforeMs = openedMs - unreadPatienceMs;
    return await store.flagUnreadOrders({ source: shop.source, seenBeforeMs, nowMs: clock.wallMs() });
  }

  #tellSkew(): void {
    const { api, shop, logger } = this.#deps;
    if (api.aheadMs === null || Math.abs(api.aheadMs) <= Math.max(60_000, shop.rest.overlapMs)) return;
    logger.warn({ ...nameOf(shop), ahead_ms: api.aheadMs }, 'the clock of this machine and that of the shop differ');
  }
}

type Counts = { -readonly [K in Exclude<keyof ReconcileReport, 'platform' | 'shop' | 'error'>]: ReconcileReport[K] };

function newCounts(): Counts {
  return { complete: false, pages: 0, orders: 0, accepted: 0, takenBack: 0, told: 0, unreadable: 0, readToMs: null };
}

function wrongClock(nowMs: number): ShopApiError {
  const rule = `the clock of this machine shows ${isoTime(nowMs)}, which is more than a day behind`;
  return new ShopApiError('clock', `${rule}: nothing is read back until it is set`);
}

function nameOf(shop: ReconciledShop): { platform: string; shop: string } {
  return { platform: shop.platform, shop: shop.shop };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
