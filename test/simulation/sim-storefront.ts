import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { parseExactJsonBytes } from '../../src/core/exact-json.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ReadBack } from '../../src/intake/http/storefront-routes.ts';
import type { Shop } from '../../src/storefronts/settings.ts';
import type { StorefrontIntake } from '../../src/storefronts/storefront-intake.ts';
import type { ShopOrderPlan } from './intake-plan.ts';
import { shopDocument, type ShopState, wooRefunds } from './shop-documents.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimAnswer } from './sim-http.ts';
import type { SenderOptions } from './sim-webhook.ts';
import type { SimWrittenShop } from './sim-written-shop.ts';
import { lineName } from './stored-lines.ts';
import { wallStartMs } from './virtual-time.ts';

const secrets = { woocommerce: 'sim-secret-of-woo-1', shopify: 'sim-secret-of-shopify-1' } as const;
const signatureHeaders = { woocommerce: 'x-wc-webhook-signature', shopify: 'x-shopify-hmac-sha256' } as const;

const shop = {
  shop: 'main',
  skuMap: join(import.meta.dirname, 'skus.csv'),
  unmatched: 'ignore',
  onRefund: 'review',
  maxAgeH: 8760,
  lookbackH: 0,
  iccidField: 'iccid',
  rest: null,
  writeBack: null,
} as const;

/** The shops, each with a source of its own. */
export const simulatedShops: readonly Shop[] = [
  {
    ...shop,
    platform: 'woocommerce',
    source: 'woocommerce',
    sites: [],
    secrets: [secrets.woocommerce],
    paidStatuses: ['processing', 'completed'],
  },
  { ...shop, platform: 'shopify', source: 'shopify', sites: [], secrets: [secrets.shopify] },
];

/** An order of a shop: its states so far, the newest last. */
interface Order {
  readonly plan: ShopOrderPlan;
  readonly states: ShopState[];
  /** The newest state that may have reached the worker, by the clock of the shop. */
  sentS: number;
  /** Whether the worker has answered for the newest state of all. */
  isSettled: boolean;
}

/** How many units of a line its customer keeps. */
function leftOf(line: AcceptableLine, { status, refunded }: ShopState): number {
  const isClosed = status === 'cancelled' || status === 'refunded';
  return isClosed ? 0 : (line.quantity ?? 1) - (refunded.get(line.lineId) ?? 0);
}

const againMs = 20_000;
const readBackEveryMs = 60_000;

/**
 * Shops on WooCommerce and Shopify. Shopify repeats a webhook until it is answered 2xx; WooCommerce never does, so its
 * orders are read back. The part of read-back that calls a shop is not played: a run hands over the states that it would
 * find, as read-back does.
 */
export class SimStorefront {
  readonly #plan: readonly ShopOrderPlan[];
  readonly #options: SenderOptions;
  readonly #written: readonly SimWrittenShop[];
  readonly #random: SeededRandom;
  readonly #orders: Order[] = [];
  /** Lines of which the worker knew that nothing is left, before they were in the outbox. */
  readonly #mustStayOut = new Set<string>();
  #intake: StorefrontIntake | null = null;
  #open = 0;

  /** @param written the shops into whose orders results are written */
  constructor(
    plan: readonly ShopOrderPlan[],
    random: SeededRandom,
    options: SenderOptions,
    written: readonly SimWrittenShop[],
  ) {
    this.#written = written;
    this.#plan = plan;
    this.#random = random;
    this.#options = options;
  }

  /** Where the worker asks for a shop to be read back. */
  readonly readBack: ReadBack = {
    isReady: () => true,
    willRead: async () => true,
    notify: () => this.#soon(this.#random.int(1000, 20_000), () => this.#readAll()),
  };

  begin(): void {
    for (const written of this.#written) written.onWritten = (orderId) => this.#tellWritten(written, orderId);
    for (const plan of this.#plan) this.#soon(plan.atMs, () => this.#place(plan));
    if (this.#plan.some(({ platform }) => platform === 'woocommerce')) this.#readAgain();
  }

  /** A worker has started: it reads its shops back. */
  started(intake: StorefrontIntake): void {
    this.#intake = intake;
    if (this.#plan.length > 0) this.#options.time.after(100, () => this.#readAll());
  }

  stopped(): void {
    this.#intake = null;
  }

  get done(): boolean {
    return this.#open === 0 && this.#orders.every(({ isSettled }) => isSettled);
  }

  #soon(ms: number, act: () => void): void {
    this.#open += 1;
    this.#options.time.after(ms, () => {
      this.#open -= 1;
      act();
    });
  }

  #readAgain(): void {
    this.#options.time.after(readBackEveryMs, () => {
      this.#readAll();
      this.#readAgain();
    });
  }

  #nowS(): number {
    return Math.floor((wallStartMs + this.#options.time.nowMs) / 1000);
  }

  #place(plan: ShopOrderPlan): void {
    const order: Order = { plan, states: [], sentS: 0, isSettled: false };
    this.#orders.push(order);
    this.#enter(order, plan.paidAfterMs > 0 ? 'unpaid' : 'paid', new Map());
    if (plan.paidAfterMs > 0) this.#soon(plan.paidAfterMs, () => this.#pay(order));
    else this.#changeLater(order);
  }

  #pay(order: Order): void {
    this.#enter(order, 'paid', new Map());
    this.#changeLater(order);
  }

  #changeLater(order: Order): void {
    const { change, lines } = order.plan;
    if (change === null) return;
    this.#soon(change.afterMs, () => {
      const [first] = lines;
      const { kind } = change;
      if (kind === 'cancelled' || kind === 'refunded') this.#enter(order, kind, new Map());
      else if (kind === 'address' || first === undefined) this.#enter(order, 'paid', new Map());
      else this.#enter(order, 'paid', new Map([[first.lineId, kind === 'one_refunded' ? 1 : (first.quantity ?? 1)]]));
    });
  }

  /** What the worker wrote into an order is a new state of it, too: most of them are told by a webhook. */
  #tellWritten({ kind }: SimWrittenShop, orderId: string): void {
    const order = this.#orders.find(({ plan }) => plan.platform === kind && plan.lines[0]?.orderId === orderId);
    const last = order?.states.at(-1);
    if (order === undefined || last === undefined || this.#random.chance(0.3)) return;
    this.#options.hit(`webhook of a write ${kind}`);
    this.#enter(order, last.status, last.refunded);
  }

  /** The order is in a new state: the platform sends its webhooks. */
  #enter(order: Order, status: ShopState['status'], refunded: ReadonlyMap<string, number>): void {
    const { plan, states } = order;
    const modifiedS = this.#nowS();
    const paidS = states.find((state) => state.status === 'paid')?.paidS ?? modifiedS;
    const entered: ShopState = { plan, status, modifiedS, paidS, refunded };
    const shown = this.#written.find(({ kind }) => kind === plan.platform)?.show(entered);
    const state = shown === undefined ? entered : { ...entered, shown };
    states.push(state);
    order.isSettled = false;
    const delayMs = plan.delaysMs[states.length - 1] ?? 0;
    for (let copy = 0; copy < plan.copies; copy += 1)
      this.#soon(delayMs + copy * this.#random.int(0, 30_000), () => this.#deliver(order, state));
  }

  #deliver(order: Order, state: ShopState): void {
    const { platform } = order.plan;
    const body = shopDocument(state);
    const signature = createHmac('sha256', secrets[platform]).update(body).digest('base64');
    const headers = { 'content-type': 'application/json', [signatureHeaders[platform]]: signature };
    const isNewest = order.sentS <= state.modifiedS;
    order.sentS = Math.max(order.sentS, state.modifiedS);
    this.#open += 1;
    this.#options.http.send({ method: 'POST', path: `/webhooks/${platform}/main`, headers, body }, (answer) => {
      this.#open -= 1;
      this.#delivered(order, state, isNewest && order.sentS <= state.modifiedS, answer);
    });
  }

  /** @param isNewest no newer state can have reached the worker before this one was answered */
  #delivered(order: Order, state: ShopState, isNewest: boolean, answer: SimAnswer | null): void {
    const { violate, hit } = this.#options;
    if (answer !== null && answer.status === 200) {
      hit(`webhook ${state.plan.platform} ${state.status} ${String(answer.json.result)}`);
      if (answer.json.result === 'read_back') return;
      this.#check(order, state, isNewest);
      return;
    }
    if (answer !== null && answer.status !== 503)
      violate(
        'I24',
        `a webhook of ${state.plan.platform} was answered ${answer.status}: ${JSON.stringify(answer.json)}`,
      );
    // WooCommerce does not repeat it.
    if (state.plan.platform === 'shopify') this.#soon(againMs, () => this.#deliver(order, state));
  }

  /** Hands over the current state of each order of WooCommerce that is not settled. */
  #readAll(): void {
    const handler = this.#intake?.handlerFor('woocommerce', 'main') ?? null;
    if (handler === null) return;
    for (const order of this.#orders) {
      const state = order.states.at(-1);
      if (order.isSettled || state === undefined || order.plan.platform !== 'woocommerce') continue;
      const document = parseExactJsonBytes(Buffer.from(shopDocument(state)));
      const refunds = parseExactJsonBytes(Buffer.from(JSON.stringify(wooRefunds(state))));
      const isNewest = order.sentS <= state.modifiedS;
      order.sentS = Math.max(order.sentS, state.modifiedS);
      handler
        .take({ document, isTest: false, topic: null, isListed: true, refunds: Array.isArray(refunds) ? refunds : [] })
        .then(
          () => {
            this.#options.hit(`read back ${state.status}`);
            this.#check(order, state, isNewest && order.sentS <= state.modifiedS);
          },
          // The next run reads it again.
          () => undefined,
        );
    }
  }

  /** The worker has confirmed a state: its consequences are on disk. */
  #check(order: Order, state: ShopState, isNewest: boolean): void {
    const { stored, violate } = this.#options;
    if (order.states.at(-1) === state) order.isSettled = true;
    if (!stored.isOpen) return;
    if (stored.inTransaction) violate('I24', 'a webhook was answered before the end of a commit');
    const isTied = order.states.some((other) => other !== state && other.modifiedS === state.modifiedS);
    if (!isNewest || isTied) return;
    for (const line of order.plan.lines) this.#checkLine(line, state);
  }

  #checkLine(line: AcceptableLine, state: ShopState): void {
    const { stored, violate } = this.#options;
    const found = stored.find(line);
    const left = leftOf(line, state);
    if (found === undefined) {
      if (state.status === 'paid' && left > 0 && !stored.isFlagged(line))
        violate('I24', `${lineName(line)} is paid, confirmed, not in the outbox and not flagged`);
      if (left === 0) this.#mustStayOut.add(lineName(line));
      return;
    }
    if (state.status === 'unpaid') return;
    const [first, ...others] = stored.entries(line);
    if (first === undefined) return violate('I24', `${lineName(line)} has no entry`);
    if (left === 0) return this.#takenBack(line, first.reference, first.state, first.attempts);
    const isUntouched = first.state === 'pending' && first.attempts === 0 && others.length === 0;
    if (isUntouched && found.quantity !== left && !stored.isFlagged(line))
      violate('I26', `${lineName(line)} would be bought ${found.quantity} times, and the shop has ${left} left`);
  }

  /** The shop has nothing left of this line. */
  #takenBack(line: AcceptableLine, reference: string, state: string, attempts: number): void {
    const { stored, violate, onTakenBack, hit } = this.#options;
    hit(`taken back ${state}`);
    if (state === 'cancelled') return onTakenBack(reference);
    const isOver = ['rejected', 'expired', 'refunded'].includes(state);
    if (!isOver && !stored.isFlagged(line))
      violate(
        'I26',
        `the shop took ${lineName(line)} back, and it is ${state} after ${attempts} calls, without a flag`,
      );
  }

  /** Lines in the outbox count as acknowledged at the end, with the quantity that the shop has left. */
  acknowledgeStored(): void {
    const { stored, violate, onAcknowledged } = this.#options;
    for (const { plan, states } of this.#orders) {
      for (const line of plan.lines) {
        const found = stored.find(line);
        if (found === undefined) continue;
        if (this.#mustStayOut.has(lineName(line)))
          violate('I26', `${lineName(line)} is in the outbox, and the shop had taken it back before`);
        const possible = states.map(({ refunded }) => (line.quantity ?? 1) - (refunded.get(line.lineId) ?? 0));
        if (!possible.includes(found.quantity ?? 1))
          violate('I25', `${lineName(line)} is in the outbox with the quantity ${found.quantity}`);
        const paid = states.some(({ status }) => status === 'paid');
        if (!paid) violate('I26', `${lineName(line)} is in the outbox, and was never paid`);
        const isTakenBack = states.some((state) => leftOf(line, state) === 0);
        for (const { reference, state } of stored.entries(line))
          if (isTakenBack && state === 'cancelled') this.#options.onTakenBack(reference);
        onAcknowledged({ ...line, quantity: found.quantity }, found.reference);
      }
    }
  }
}
