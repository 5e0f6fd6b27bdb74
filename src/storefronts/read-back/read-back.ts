import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { onSchedule, type Schedule } from '../../ops/schedule.ts';
import { WakeUp } from '../../ops/wake-up.ts';
import type { Store } from '../../store/store.ts';
import type { ShopApi } from './shop-api.ts';
import type { ReconciledShop } from './settings.ts';
import { ShopHttp } from './shop-http.ts';
import { type ReconcileReport, ShopReconciler, type TakeOrder } from './shop-reader.ts';
import { ShopifyApi } from '../shopify/rest-client.ts';
import { WooCommerceApi } from '../woocommerce/rest-client.ts';

export interface ReconcileDeps {
  readonly shops: readonly ReconciledShop[];
  readonly store: Store;
  readonly take: TakeOrder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

type Door = Pick<ReconciledShop, 'platform' | 'shop'>;

/** Between two runs that were rung for, so that a storm of refunds is no storm of calls. */
const restMs = 1000;
const idleMs = 86_400_000;

/**
 * Reads shops back: at the start, as their schedules say, and when it is rung for. Each shop has a loop of its own, so
 * a slow one keeps nobody waiting, and there is never more than one run of a shop at a time.
 */
export class Reconcile {
  readonly #deps: ReconcileDeps;
  #lanes: readonly Lane[];
  /** Shops that were taken out of the config, until their last run has ended. */
  readonly #leaving = new Set<Promise<void>>();
  #stopped = false;

  constructor(deps: ReconcileDeps) {
    this.#deps = deps;
    this.#lanes = deps.shops.map((shop) => new Lane(shop, deps));
  }

  /** Marks where each shop begins, and starts the loops; the first runs begin at once. */
  async start(): Promise<void> {
    await this.tellStranded();
    for (const lane of this.#lanes) await lane.reconciler.begin();
    for (const lane of this.#lanes) lane.start();
  }

  /** Tells a person of orders that wait for a shop which is not read back any more. */
  async tellStranded(): Promise<void> {
    const { store, clock } = this.#deps;
    const sources = this.#lanes.map(({ shop }) => shop.source);
    await store.storefronts.flagStrandedOrders({ sources, nowMs: clock.wallMs() });
  }

  /** Makes other shops ready, and returns what puts them to use. A shop whose config is the same goes on as it is. */
  prepare(shops: readonly ReconciledShop[]): () => void {
    const known = new Map(this.#lanes.map((lane) => [JSON.stringify(lane.shop), lane]));
    const next = shops.map((shop) => known.get(JSON.stringify(shop)) ?? new Lane(shop, this.#deps));
    return () => {
      if (this.#stopped) return;
      const before = this.#lanes;
      this.#lanes = next;
      for (const lane of next) if (!before.includes(lane)) lane.start();
      for (const lane of before) if (!next.includes(lane)) this.#leave(lane);
    };
  }

  #leave(lane: Lane): void {
    const left = lane.stop();
    this.#leaving.add(left);
    void left.finally(() => this.#leaving.delete(left));
  }

  /** Whether a run can be relied on to bring what the shop's API says of an order. */
  isReady(door: Door): boolean {
    return this.#laneOf(door)?.reconciler.isReady ?? false;
  }

  /** Whether it also brings an order that was changed then. */
  async reaches(door: Door, modifiedMs: number): Promise<boolean> {
    return (await this.#laneOf(door)?.reconciler.reaches(modifiedMs)) ?? false;
  }

  /** Has a shop read back soon. */
  soon(door: Door): void {
    this.#laneOf(door)?.notify();
  }

  health(): 'pass' | 'warn' {
    return this.#lanes.some((lane) => lane.reconciler.health === 'warn') ? 'warn' : 'pass';
  }

  /**
   * Runs now, one shop after the other, and waits for the end.
   * @param filter.shop only shops of this name
   * @throws OrderSyncError NOT_FOUND when no shop of that name is read back
   */
  async run(filter: { shop: string | null; sinceMs: number | null }): Promise<readonly ReconcileReport[]> {
    const lanes = this.#lanes.filter((lane) => filter.shop === null || lane.shop.shop === filter.shop);
    if (lanes.length === 0) {
      const what = filter.shop === null ? 'No shop is' : `No shop "${filter.shop}" is`;
      throw new OrderSyncError('NOT_FOUND', `${what} configured to be read back`, {
        hint: 'give it a `rest` section, see docs/storefronts.md',
      });
    }
    const reports: ReconcileReport[] = [];
    for (const lane of lanes) reports.push(await lane.run(filter.sinceMs));
    return reports;
  }

  /** Breaks off calls that are under way; what was read is on disk, the rest is read by the next run. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#lanes.map((lane) => lane.stop()), ...this.#leaving]);
  }

  #laneOf(door: Door): Lane | undefined {
    return this.#lanes.find(({ shop }) => shop.platform === door.platform && shop.shop === door.shop);
  }
}

/** One shop, its loop, and the rule that its runs come one after the other. */
class Lane {
  readonly shop: ReconciledShop;
  readonly reconciler: ShopReconciler;
  readonly #api: ShopApi;
  readonly #clock: Clock;
  readonly #wake: WakeUp;
  readonly #end = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #last: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | null = null;

  constructor(shop: ReconciledShop, deps: ReconcileDeps) {
    const { store, take, clock, logger, version } = deps;
    this.shop = shop;
    this.#api = apiOf(shop, clock, version);
    this.#clock = clock;
    this.#wake = new WakeUp(clock);
    this.reconciler = new ShopReconciler({ shop, api: this.#api, store: store.storefronts, take, clock, logger });
  }

  notify(): void {
    this.#wake.notify();
  }

  start(): void {
    this.#loop = this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    const schedule: Schedule = onSchedule(this.shop.rest.schedule, () => this.notify());
    try {
      this.notify();
      while (!signal.aborted) {
        await this.#wake.wait(idleMs);
        if (signal.aborted) return;
        await this.run(null);
        await this.#clock.sleep(restMs, signal);
      }
    } finally {
      schedule.stop();
    }
  }

  /** Waits for the run that is under way, if there is one. Never throws. */
  async run(sinceMs: number | null): Promise<ReconcileReport> {
    const mine = this.#last.then(() => this.reconciler.run(this.#end.signal, sinceMs));
    this.#last = mine;
    return await mine;
  }

  /** May be called again: waits for the same end. */
  stop(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#end.abort();
    this.notify();
    await this.#loop;
    await this.#last;
    await this.#api.close();
  }
}

function apiOf(shop: ReconciledShop, clock: Clock, version: string): ShopApi {
  const { rest } = shop;
  if (shop.platform === 'woocommerce') {
    const secrets = [shop.rest.consumerKey, shop.rest.consumerSecret];
    return new WooCommerceApi(new ShopHttp({ rest, clock, version, secrets }), shop.rest);
  }
  const { access } = shop.rest;
  const secrets = access.kind === 'token' ? [access.token] : [access.clientSecret];
  return new ShopifyApi(new ShopHttp({ rest, clock, version, secrets }), shop.rest, clock);
}
