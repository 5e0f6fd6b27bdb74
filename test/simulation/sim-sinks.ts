import { callbackSink, callbackSinkName } from '../../src/results/callback-sink.ts';
import type { FileSink, Sink } from '../../src/results/delivery-loop.ts';
import { isConnected, ShopConnections } from '../../src/storefronts/shop-connections.ts';
import { ShopWriteBack, writeBackName } from '../../src/storefronts/write-back.ts';
import type { ResultSink } from '../../src/store/sqlite/outbox.ts';
import type { RunPlan } from './run-plan.ts';
import { SeededRandom } from './seeded-random.ts';
import { SimEndpoint } from './sim-endpoint.ts';
import type { SimProcess } from './sim-process.ts';
import type { SinkDeps } from './sim-worker.ts';
import { SimReceivers } from './sim-receivers.ts';
import { troublesEndMs } from './sinks-plan.ts';
import { SimWrittenShop } from './sim-written-shop.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Invariant } from './invariants.ts';

/** Takes CSV files whose rows have ended. That each is taken in the end is a part of `I7`. */
export const csvSinkOf = ({ store }: SinkDeps): FileSink => ({
  name: 'csv',
  deliverFile: async ({ requestId }) => {
    const isOpen = (await store.results.csvFiles.openRow(requestId)) !== null;
    return isOpen ? { waitMs: null, why: 'an open row' } : undefined;
  },
});

/** The receivers of results besides the results folder: shops, and endpoints of callbacks. */
export class SimSinks {
  readonly shops: readonly SimWrittenShop[];
  readonly endpoints: readonly SimEndpoint[];
  readonly #network: SimReceivers;
  readonly #time: VirtualTime;
  readonly #wellAtMs: number;

  constructor(options: {
    plan: RunPlan;
    time: VirtualTime;
    trace: (what: string) => void;
    violate: (invariant: Invariant, sentence: string) => void;
  }) {
    const { plan, time, trace, violate } = options;
    const { faultsOffMs, sinks, wallJumps } = plan;
    this.#time = time;
    this.#wellAtMs = troublesEndMs(sinks);
    // With a random source of its own, so that the other parts of a run stay the same.
    const random = new SeededRandom(plan.seed ^ 0x3779b97f);
    this.shops = sinks.shops.map(
      (shop) =>
        new SimWrittenShop({ plan: shop, time, random: random.fork(), faultsOffMs, violate }),
    );
    this.endpoints = sinks.endpoints.map(
      (endpoint) =>
        new SimEndpoint({
          plan: endpoint,
          time,
          random: random.fork(),
          faultsOffMs,
          tellsOrder: wallJumps.length === 0,
          recordsAll: plan.diskErrors.length === 0 && plan.diskFull.untilMs === 0,
          violate,
        }),
    );
    this.#network = new SimReceivers({ time, random: random.fork(), trace });
    for (const receiver of [...this.shops, ...this.endpoints])
      this.#network.add(receiver.origin, receiver);
  }

  /** The sinks as the outbox knows them. */
  get outboxSinks(): readonly ResultSink[] {
    return [
      { name: 'folder', sources: null },
      { name: 'csv', sources: null },
      ...this.endpoints.map(({ plan }) => ({ name: callbackSinkName(plan.name), sources: null })),
      ...this.shops.map(({ settings }) => ({
        name: writeBackName(settings),
        sources: [settings.source],
      })),
    ];
  }

  /** The worker's own sinks, on the simulated network. */
  sinksOf(process: SimProcess, { clock, logger, store }: SinkDeps): readonly Sink[] {
    const connect = this.#network.openerOf(process);
    const connections = new ShopConnections({ clock, version: '0', connect });
    return [
      ...this.endpoints.map(({ plan, settings }) => {
        const { retryTimeScale } = plan.troubles;
        const deps = {
          endpoint: plan.name,
          receiver: () => settings,
          clock,
          version: '0',
          retryTimeScale,
          connect,
        };
        return callbackSink(deps);
      }),
      ...this.shops.map(({ plan, settings }) => {
        const { retryTimeScale } = plan.troubles;
        // As read-back does, which holds the connection all the time: its pace and its waits last
        // from one result to the next.
        if (isConnected(settings)) connections.connect(settings);
        const deps = {
          shop: () => settings,
          store: store.storefronts,
          connections,
          clock,
          logger,
          retryTimeScale,
        };
        return new ShopWriteBack(writeBackName(settings), deps);
      }),
    ];
  }

  begin(): void {
    for (const shop of this.shops) shop.begin();
  }

  /** The outbox is another one. */
  outboxReplaced(): void {
    for (const endpoint of this.endpoints) endpoint.forget();
    for (const shop of this.shops) shop.outboxReplaced();
  }

  /** Whether nothing is wrong any more with any of them, and nothing is on its way. */
  get done(): boolean {
    return (
      this.#time.nowMs >= this.#wellAtMs &&
      this.#network.isQuiet &&
      this.shops.every((shop) => shop.done)
    );
  }
}
