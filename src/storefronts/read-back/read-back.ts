import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { Loop } from '../../ops/loop.ts';
import { onSchedule, type Schedule } from '../../ops/schedule.ts';
import type { Storefronts } from '../../store/storefronts/storefronts.ts';
import type { Shop } from '../settings.ts';
import {
  type ConnectedShop,
  connectionKey,
  isConnected,
  type ShopConnections,
} from '../shop-connections.ts';
import type { ShopHandler } from '../storefront-intake.ts';
import { type ReadBackReport, ShopReader, type ShopReaderDeps } from './shop-reader.ts';
import { ShopRechecks } from './shop-rechecks.ts';
import { ShopUpkeep } from './shop-upkeep.ts';

interface ReadBackDeps {
  readonly shops: readonly Shop[];
  readonly store: Storefronts;
  readonly handlerOf: (shop: Shop) => ShopHandler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly connections: ShopConnections;
  readonly onFound: ShopReaderDeps['onFound'];
}

type ShopName = Pick<Shop, 'platform' | 'shop'>;

/** Between two runs of a shop, so many refunds in a row do not become as many runs. */
const idleAfterRunMs = 1000;
/** A loop that nothing wakes looks again after this time. */
const maxIdleMs = 86_400_000;

/**
 * Reads all shops back: at the start, by schedule, when asked to. A slow shop delays no other: each
 * has its own loop.
 */
export class ReadBack {
  readonly #deps: ReadBackDeps;
  #loops: readonly ShopLoop[];
  /** Loops of shops that a reload removed, until their last run has ended. */
  readonly #ending = new Set<Promise<void>>();
  #stopped = false;

  constructor(deps: ReadBackDeps) {
    this.#deps = deps;
    this.#loops = this.#loopsFor(deps.shops, []);
  }

  /** Starts the loops. Their first runs begin at once, and set the watermarks of new shops. */
  async start(): Promise<void> {
    await this.flagStranded();
    for (const loop of this.#loops) loop.start();
  }

  /**
   * Shops that are not read back any more: flags orders that wait for it, and buys lines that wait
   * for their order.
   */
  async flagStranded(): Promise<void> {
    const { store, clock } = this.#deps;
    const sources = this.#loops.map(({ shop }) => shop.source);
    await store.flagStrandedOrders({ sources, nowMs: clock.wallMs() });
    await store.endRechecksOfOthers(sources);
  }

  /**
   * Prepares other shops, and returns what puts them into use. The loop of an unchanged shop keeps
   * running.
   */
  prepare(shops: readonly Shop[]): () => void {
    const next = this.#loopsFor(shops, this.#loops);
    return () => {
      if (this.#stopped) return;
      const before = this.#loops;
      this.#loops = next;
      for (const loop of next) if (!before.includes(loop)) loop.start();
      for (const loop of before) if (!next.includes(loop)) this.#end(loop);
    };
  }

  #loopsFor(shops: readonly Shop[], running: readonly ShopLoop[]): readonly ShopLoop[] {
    const byKey = new Map(running.map((loop) => [connectionKey(loop.shop), loop]));
    return shops
      .filter(isConnected)
      .map((shop) => byKey.get(connectionKey(shop)) ?? new ShopLoop(shop, this.#deps));
  }

  #end(loop: ShopLoop): void {
    const ended = loop.stop();
    this.#ending.add(ended);
    void ended.finally(() => this.#ending.delete(ended));
  }

  /** Whether the next run can be relied on to read an order of this shop. */
  isReady(shop: ShopName): boolean {
    return this.#loopOf(shop)?.reader.isReady ?? false;
  }

  /** Whether the shop is read back: a run then reads each order that waits for its refunds. */
  async willRead(shop: ShopName): Promise<boolean> {
    return this.#loopOf(shop) !== undefined;
  }

  notify(shop: ShopName): void {
    this.#loopOf(shop)?.loop.notify();
  }

  /** @see RecheckRule */
  maxAgeMs(source: string): number | null {
    return this.#loopOfSource(source)?.rechecks.maxAgeMs ?? null;
  }

  onDelayed(source: string): void {
    this.#loopOfSource(source)?.rechecks.loop.notify();
  }

  health(): 'pass' | 'warn' {
    return this.#loops.some(({ health }) => health === 'warn') ? 'warn' : 'pass';
  }

  /** Why the health is `warn`, where that can be said; null: the log says it. */
  details(): Readonly<Record<string, string>> | null {
    const reason =
      this.#loops.map(({ problem }) => problem).find((problem) => problem !== null) ?? null;
    return reason === null
      ? null
      : {
          reason,
          next: "run `order-sync doctor`; check the address and the keys of the shop's API",
        };
  }

  /**
   * Runs now, one shop after the other, and waits for the end.
   * @param filter.shop only shops of this name; null: all
   * @throws OrderSyncError NOT_FOUND when no shop of that name is read back
   */
  async run(filter: {
    shop: string | null;
    sinceMs: number | null;
  }): Promise<readonly ReadBackReport[]> {
    const loops = this.#loops.filter(
      (loop) => filter.shop === null || loop.shop.shop === filter.shop,
    );
    if (loops.length === 0) {
      const what = filter.shop === null ? 'No shop is' : `No shop "${filter.shop}" is`;
      const hint = 'give the shop a `rest` section, see docs/storefronts.md';
      throw new OrderSyncError('NOT_FOUND', `${what} configured to be read back`, { hint });
    }
    const reports: ReadBackReport[] = [];
    for (const loop of loops) reports.push(await loop.run(filter.sinceMs));
    return reports;
  }

  /** Aborts calls that are under way. The next start reads on from what is on disk. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#loops.map((loop) => loop.stop()), ...this.#ending]);
  }

  #loopOfSource(source: string): ShopLoop | undefined {
    return this.#loops.find(({ shop }) => shop.source === source);
  }

  #loopOf(name: ShopName): ShopLoop | undefined {
    return this.#loops.find(
      ({ shop }) => shop.platform === name.platform && shop.shop === name.shop,
    );
  }
}

/**
 * Reads one shop back whenever it is woken, one run after the other, and single orders again that
 * wait for it.
 */
class ShopLoop {
  readonly shop: ConnectedShop;
  readonly reader: ShopReader;
  readonly rechecks: ShopRechecks;
  readonly upkeep: ShopUpkeep;
  readonly loop: Loop;
  readonly #deps: ReadBackDeps;
  readonly #connection: ReturnType<ShopConnections['connect']>;
  #schedule: Schedule | null = null;
  #lastRun: Promise<unknown> = Promise.resolve();

  constructor(shop: ConnectedShop, deps: ReadBackDeps) {
    const { store, clock } = deps;
    this.#deps = deps;
    this.shop = shop;
    this.#connection = deps.connections.connect(shop);
    const round = async (signal: AbortSignal): Promise<number> => {
      const { accepted, error } = await this.run(null);
      if (error === null) await this.upkeep.run(signal, accepted > 0);
      await clock.sleep(idleAfterRunMs, signal);
      return maxIdleMs;
    };
    this.loop = new Loop({ clock, round });
    const logger = deps.logger.child({ platform: shop.platform, shop: shop.shop });
    const handler = () => deps.handlerOf(shop);
    const parts = {
      shop,
      api: this.#connection.api,
      store,
      clock,
      logger,
      handler,
      onFound: deps.onFound,
    };
    this.reader = new ShopReader(parts);
    this.upkeep = new ShopUpkeep(parts);
    this.rechecks = new ShopRechecks({ ...parts, watermark: this.reader.watermark });
  }

  get health(): 'pass' | 'warn' {
    return this.reader.health === 'warn' || this.problem !== null ? 'warn' : this.rechecks.health;
  }

  /** Why orders come late; null: nothing is known. */
  get problem(): string | null {
    return (
      this.reader.problem ?? this.upkeep.problem ?? this.#deps.handlerOf(this.shop).problem ?? null
    );
  }

  start(): void {
    this.#schedule = onSchedule(this.shop.rest.schedule, () => this.loop.notify());
    this.loop.start();
    this.rechecks.loop.start();
  }

  /** Waits for the run that is under way, then runs. Never throws. */
  async run(sinceMs: number | null): Promise<ReadBackReport> {
    const run = this.#lastRun.then(() => this.reader.run(this.loop.signal, sinceMs));
    this.#lastRun = run;
    return await run;
  }

  async stop(): Promise<void> {
    this.#schedule?.stop();
    await Promise.all([this.loop.stop(), this.rechecks.loop.stop()]);
    await this.#lastRun;
    await this.#connection.close();
  }
}
