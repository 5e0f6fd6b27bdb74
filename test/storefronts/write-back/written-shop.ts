import { stepsOf } from '../../support/steps.ts';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import type { Entry } from '../../../src/store/sqlite/rows.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { WriteBack } from '../../../src/results/write-back.ts';
import type { Store } from '../../../src/store/store.ts';
import { ShopConnections } from '../../../src/storefronts/shop-connections.ts';
import type { Shop } from '../../../src/storefronts/settings.ts';
import { type ShopHandler, StorefrontIntake } from '../../../src/storefronts/storefront-intake.ts';
import { ShopWriteBack, writeBackName } from '../../../src/storefronts/write-back.ts';
import type { ShopifyWriteBack } from '../../../src/storefronts/shopify/settings.ts';
import type { WooCommerceWriteBack } from '../../../src/storefronts/woocommerce/settings.ts';
import { answer, close, emptyBalance, fulfilled, Outbox } from '../../support/outbox.ts';
import { wrappedStore } from '../../support/wrapped-store.ts';
import { numbersAsText } from '../read-back/running-read-back.ts';
import { shopifyApp, type StubShop, woo } from '../read-back/stub-shop.ts';
import { restSettings, shopifyShop, wooCommerceShop, writeSkuMap } from '../shop-settings.ts';

/**
 * What becomes of an entry: delivered with so many units (default: all), refused, or left for a
 * person.
 */
export type End = 'fulfilled' | 'rejected' | 'needs_review';

export const wooWriteBack: WooCommerceWriteBack = {
  status: 'completed',
  deliverCodes: 'meta',
  lineMeta: false,
};

/** A shop of WooCommerce into which results are written. */
export function writtenWooShop(
  url: string,
  changes: Partial<WooCommerceWriteBack> = {},
  totalMs = 60_000,
): Shop {
  const rest = { ...restSettings(url), ca: null, consumerKey: woo.key, consumerSecret: woo.secret };
  return wooCommerceShop({
    skuMap: writeSkuMap(),
    rest: { ...rest, timeouts: { connectMs: 60_000, totalMs } },
    writeBack: { ...wooWriteBack, ...changes },
  });
}

/** A shop of Shopify into which results are written. */
export function writtenShopifyShop(
  url: string,
  changes: Partial<ShopifyWriteBack> = {},
  totalMs = 60_000,
): Shop {
  const access = { kind: 'token', token: shopifyApp.token } as const;
  const timeouts = { connectMs: 60_000, totalMs };
  return shopifyShop({
    skuMap: writeSkuMap(),
    rest: { ...restSettings(url), access, timeouts },
    writeBack: { fulfil: true, notifyCustomer: false, deliverCodes: 'meta', ...changes },
  });
}

/**
 * An outbox that takes in the orders of a shop and writes their results into it, as the worker
 * does.
 */
export class WrittenShop {
  readonly shop: Shop;
  readonly stub: StubShop;
  readonly log: Record<string, unknown>[] = [];
  /** Of the next start: so short that nothing waits. */
  retryTimeScale = 0.00001;
  readonly #outbox: Outbox;
  readonly #clock = new SystemClock();
  readonly #logger;
  /** What waits is due an hour after its round, and each round is two hours after the last one. */
  #roundMs = 0;
  #run: { readonly writeBack: WriteBack; killed: boolean } | null = null;
  #onLine: () => void = () => undefined;

  private constructor(shop: Shop, stub: StubShop, outbox: Outbox) {
    this.shop = shop;
    this.stub = stub;
    this.#outbox = outbox;
    const write = (text: string): void => {
      this.log.push(JSON.parse(text));
      this.#onLine();
    };
    this.#logger = pino({ level: 'info' }, { write });
  }

  static async open(shop: Shop, stub: StubShop): Promise<WrittenShop> {
    const outbox = await Outbox.open([{ name: writeBackName(shop), sources: [shop.source] }]);
    const written = new WrittenShop(shop, stub, outbox);
    onTestFinished(async () => {
      await written.stop();
      await outbox.close();
    });
    return written;
  }

  get store(): Store {
    return this.#outbox.store;
  }

  get outbox(): Outbox {
    return this.#outbox;
  }

  get handler(): ShopHandler {
    const deps = {
      store: this.store.storefronts,
      clock: this.#clock,
      logger: pino({ level: 'silent' }),
    };
    const intake = new StorefrontIntake({
      shops: [this.shop],
      ...deps,
      onChanged: () => undefined,
    });
    const handler = intake.handlerFor(this.shop.platform, this.shop.shop);
    if (handler === null) throw new Error('the shop is configured');
    return handler;
  }

  /**
   * Takes in the order as the shop shows it now; `not_read`: as its webhook does. Returns how many
   * lines were accepted, taken back and flagged.
   */
  async takeIn(
    document: unknown,
    refunds: readonly unknown[] | 'not_read' = [],
  ): Promise<readonly [number, number, number]> {
    const order = {
      document: numbersAsText(document),
      isTest: false,
      topic: 'order.updated',
      isListed: false,
    };
    const taken = await this.handler.take({ ...order, refunds: numbersAsText(refunds) });
    if (taken.kind === 'needs_refunds') return [0, 0, 0];
    if (taken.kind !== 'taken') throw new Error(`the order was not taken in: ${taken.kind}`);
    return [taken.taken.accepted, taken.taken.takenBack, taken.taken.flagged];
  }

  /**
   * Buys what is due. `endOf` says what becomes of an entry; null lets it wait until the next call.
   */
  async buy(endOf: (lineId: string) => End | null = () => 'fulfilled'): Promise<void> {
    const { read } = this.store;
    const steps = stepsOf(this.store);
    const orders = read
      .listOrders({ limit: 1000 })
      .map(({ source, orderId }) => read.showOrder(source, orderId));
    const lines = new Map(
      orders.flatMap((order) =>
        (order?.entries ?? []).map((entry) => [entry.reference, entry.lineId]),
      ),
    );
    this.#roundMs += 7_200_000;
    for (;;) {
      const nowMs = Date.now();
      const attempt = await steps.openAttempt(this.#outbox.claim({ nowMs: nowMs + this.#roundMs }));
      if (attempt === null) return;
      const { entry } = attempt;
      const end = endOf(lines.get(entry.reference) ?? '');
      await steps.closeAttempt(
        close(attempt, settlementOf(entry, end, nowMs + this.#roundMs + 3_600_000), { nowMs }),
      );
    }
  }

  /** An operator says that a line of order 7 is the one that was bought under another id. */
  async decideSame(lineId: string): Promise<void> {
    const person = {
      actor: 'test',
      reason: 'for the test',
      nowMs: Date.now(),
      steadyMs: 1,
    };
    const rules = { referenceExpiryMs: 86_400_000, lookupFamilies: [] };
    const order = { action: 'cancel' } as const;
    await this.store.operator.actOnEntry({
      reference: this.#entryOf(lineId)?.reference ?? '',
      order,
      ...person,
      ...rules,
    });
  }

  /** An operator says how many pieces of a line of order 7 the customer gets. */
  async decideGiven(lineId: string, pieces: number): Promise<void> {
    const { reference = '' } = this.#entryOf(lineId) ?? {};
    await this.store.operator.givePieces({
      reference,
      pieces,
      actor: 'test',
      reason: 'for the test',
      nowMs: Date.now(),
    });
  }

  #entryOf(lineId: string) {
    return this.store.read.showOrder('main', '7')?.entries.find((entry) => entry.lineId === lineId);
  }

  /** Starts to write results into the shop. */
  async start(): Promise<void> {
    const run = { killed: false };
    const store = wrappedStore(
      this.store,
      (_, step) =>
        (...values) =>
          run.killed ? forever : step(...values),
    );
    const system = this.#clock;
    const clock: Clock = {
      wallMs: () => system.wallMs(),
      // Asked before each call: a process that was killed makes none.
      steadyMs: () => {
        if (run.killed) throw new Error('the worker was killed');
        return system.steadyMs();
      },
      sleep: (ms, signal) => system.sleep(ms, signal),
    };
    const connections = new ShopConnections({ clock, version: '0.0.0' });
    const deps = {
      store: store.storefronts,
      connections,
      clock,
      logger: this.#logger,
      retryTimeScale: this.retryTimeScale,
    };
    const sink = new ShopWriteBack(writeBackName(this.shop), { ...deps, shop: () => this.shop });
    const delivering = {
      store,
      clock: this.#clock,
      random: Math.random,
      logger: this.#logger,
      maxIdleDelayMs: 20,
    };
    const writeBack = new WriteBack(delivering, [sink]);
    this.#run = Object.assign(run, { writeBack });
    await writeBack.start();
  }

  /** Resolves when the shop was told everything, or the rest was given up. */
  async told(): Promise<void> {
    if (this.#run === null) await this.start();
    this.#run?.writeBack.notify();
    const isDue = async () =>
      (await this.store.results.nextDeliveryAt(writeBackName(this.shop))) !== null;
    while (await isDue()) {
      if (this.#run?.killed === true) await this.restart();
      await this.#nextLine();
    }
  }

  /** Resolves when nothing is due before its time. */
  async postponed(): Promise<void> {
    if (this.#run === null) await this.start();
    this.#run?.writeBack.notify();
    while (
      ((await this.store.results.nextDeliveryAt(writeBackName(this.shop))) ?? Infinity) <=
      this.#clock.steadyMs()
    )
      await this.#nextLine();
  }

  /** Ends the run as `kill -9` does, at once: nothing more of it reaches the shop or the disk. */
  kill(): void {
    if (this.#run !== null) this.#run.killed = true;
  }

  /** Starts the next run after a kill, from what is on disk. */
  async restart(): Promise<void> {
    this.#run = null;
    await this.#outbox.reopen();
    await this.start();
  }

  async stop(): Promise<void> {
    const run = this.#run;
    this.#run = null;
    if (run?.killed === false) await run.writeBack.stop();
  }

  logged(text: string): readonly Record<string, unknown>[] {
    return this.log.filter(({ msg }) => msg === text);
  }

  /** Resolves when that many lines of the log have this text. */
  async untilLogged(text: string, times: number): Promise<void> {
    while (this.logged(text).length < times) await this.#nextLine();
  }

  async #nextLine(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onLine = resolve;
    // A line may have come between the question and this.
    const timer = setTimeout(resolve, 20);
    await promise;
    clearTimeout(timer);
  }
}

const forever = new Promise<never>(() => undefined);

function settlementOf(entry: Entry, end: End | null, laterMs: number): Settlement {
  if (end === null) return { ...emptyBalance, dueAtMs: laterMs };
  if (end === 'fulfilled') {
    const units =
      entry.operation === 'gift_card_order'
        ? Array.from({ length: entry.quantity ?? 1 }, (_, index) => ({
            code: codeOf(entry.reference, index),
          }))
        : [
            {
              iccid: '8944500102198304826',
              lpa: `LPA:1$rsp.example.com$${codeOf(entry.reference, 0)}`,
            },
          ];
    return { ...fulfilled, answer: { ...answer, units, reference: entry.reference } };
  }
  const error = { code: 'invalid_variant', message: 'no such product', buffered: false };
  const over = { ...fulfilled, answer: null, error, row: 'invalid_variant' } as const;
  return end === 'rejected'
    ? { ...over, state: 'rejected' }
    : { ...over, state: 'needs_review', reviewReason: 'an operator has to look at it' };
}

/** The code that an entry delivers: it can be told from those of all others. */
export const codeOf = (reference: string, index: number): string =>
  `CODE-${reference.slice(-12)}-${index}`;
