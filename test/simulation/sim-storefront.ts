import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseExactJsonBytes } from '../../src/core/exact-json.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ReadBack } from '../../src/intake/http/storefront-routes.ts';
import type { Shop } from '../../src/storefronts/settings.ts';
import type { StorefrontIntake } from '../../src/storefronts/storefront-intake.ts';
import type { IntakePlan, ShopOrderPlan } from './intake-plan.ts';
import { mappedSku, piecesOf, shopDocument, type ShopState, wooRefunds } from './shop-documents.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimAnswer } from './sim-http.ts';
import type { SenderOptions } from './sim-webhook.ts';
import type { SimWrittenShop } from './sim-written-shop.ts';
import { lineName } from './stored-lines.ts';
import { wallStartMs } from './virtual-time.ts';

const secrets = { woocommerce: 'sim-secret-of-woo-1', shopify: 'sim-secret-of-shopify-1' } as const;
const signatureHeaders = {
  woocommerce: 'x-wc-webhook-signature',
  shopify: 'x-shopify-hmac-sha256',
} as const;

const usualMap = join(import.meta.dirname, 'skus.csv');

const shop = {
  shop: 'main',
  unmatched: 'ignore',
  onRefund: 'review',
  maxAgeH: 8760,
  lookbackH: 0,
  iccidField: 'iccid',
  rest: null,
  writeBack: null,
} as const;

/** The shops, each with a source of its own. */
const simulatedShops = (skuMap: string): readonly Shop[] => [
  {
    ...shop,
    skuMap,
    platform: 'woocommerce',
    source: 'woocommerce',
    sites: [],
    secrets: [secrets.woocommerce],
    paidStatuses: ['processing', 'completed'],
  },
  {
    ...shop,
    skuMap,
    platform: 'shopify',
    source: 'shopify',
    sites: [],
    secrets: [secrets.shopify],
  },
];

/** An order of a shop: its states so far, the newest last. */
interface Order {
  readonly plan: ShopOrderPlan;
  readonly states: ShopState[];
  /** The place of the newest state that may have reached the worker. */
  sent: number;
  /** Whether the worker has answered for the newest state of all. */
  isSettled: boolean;
  /** It is another sale with the ids of an order that the worker knows. */
  readonly isGivenAgain: boolean;
}

/** How many units of a line its customer keeps. */
function leftOf(line: AcceptableLine, state: ShopState): number {
  const { status, refunded } = state;
  const isClosed = status === 'cancelled' || status === 'refunded';
  return isClosed ? 0 : piecesOf(line, state) - (refunded.get(line.lineId) ?? 0);
}

const isTied = ({ states }: Order, state: ShopState): boolean =>
  states.some((other) => other !== state && other.modifiedS === state.modifiedS);

/** Whether an earlier state has a later time: its shop's clock was ahead. */
const isInDoubt = ({ states }: Order, state: ShopState): boolean =>
  states.slice(0, states.indexOf(state)).some(({ modifiedS }) => modifiedS > state.modifiedS);

/** Entries of which nothing was bought, or of which nothing counts any more. */
const overStates: ReadonlySet<string> = new Set(['cancelled', 'rejected', 'expired', 'refunded']);

const againMs = 20_000;
const readBackEveryMs = 60_000;

/**
 * Shops on WooCommerce and Shopify. Shopify repeats a webhook until it is answered 2xx; WooCommerce
 * never does, so its orders are read back. The part of read-back that calls a shop is not played: a
 * run hands over the states that it would find, as read-back does.
 */
export class SimStorefront {
  readonly #plan: readonly ShopOrderPlan[];
  readonly #lostSku: IntakePlan['lostSku'];
  /** The folder of a SKU map of this run alone; null: its map does not change. */
  #folder: string | null = null;
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
    plan: Pick<IntakePlan, 'shopOrders' | 'lostSku'>,
    random: SeededRandom,
    options: SenderOptions,
    written: readonly SimWrittenShop[],
  ) {
    this.#written = written;
    this.#plan = plan.shopOrders;
    this.#lostSku = plan.lostSku;
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
    for (const written of this.#written)
      written.onWritten = (orderId) => this.#tellWritten(written, orderId);
    for (const plan of this.#plan) this.#soon(plan.atMs, () => this.#place(plan));
    if (this.#lostSku !== null) this.#loseSku(this.#lostSku);
    if (this.#plan.some(({ platform }) => platform === 'woocommerce')) this.#readAgain();
  }

  end(): void {
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The shops as they are configured. */
  get shops(): readonly Shop[] {
    return simulatedShops(this.#folder === null ? usualMap : join(this.#folder, 'skus.csv'));
  }

  #loseSku({ sku, fromMs, untilMs }: NonNullable<IntakePlan['lostSku']>): void {
    const folder = mkdtempSync(
      join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'order-sync-skus-'),
    );
    this.#folder = folder;
    const path = join(folder, 'skus.csv');
    const rows = readFileSync(usualMap, 'utf8').split('\n');
    const write = (ageMs: number, isLost: boolean): void => {
      writeFileSync(path, rows.filter((row) => !isLost || !row.startsWith(`${sku},`)).join('\n'));
      const writtenS = (this.#options.wallMs() - ageMs) / 1000;
      utimesSync(path, writtenS, writtenS);
      if (ageMs === 0)
        this.#options.hit(isLost ? 'a SKU left the map' : 'a SKU is in the map again');
    };
    write(60_000, false);
    this.#soon(fromMs, () => write(0, true));
    this.#soon(untilMs, () => write(0, false));
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
    return this.#open === 0 && this.#orders.every(({ isSettled }) => isSettled) && !this.#awaitsMap;
  }

  /** Whether a line waits only for its SKU, which the map has again: then it is bought soon. */
  get #awaitsMap(): boolean {
    const { stored } = this.#options;
    const isWaiting = (order: Order): boolean => {
      const { plan, states } = order;
      const state = states.at(-1);
      if (state?.status !== 'paid' || plan.oddity?.kind === 'near' || isTied(order, state))
        return false;
      return plan.lines.some((line) => {
        if (leftOf(line, state) === 0 || stored.find(line) !== undefined) return false;
        const flags = stored.openFlags(line);
        return flags.length > 0 && flags.every((code) => code === 'unknown_sku');
      });
    };
    return this.#lostSku !== null && this.#orders.some(isWaiting);
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
    const order: Order = { plan, states: [], sent: 0, isSettled: false, isGivenAgain: false };
    this.#orders.push(order);
    const { oddity, change, paidAfterMs } = plan;
    if (oddity?.kind === 'given_again')
      this.#soon(paidAfterMs + 2 * (change?.afterMs ?? 0) + oddity.afterMs, () =>
        this.#giveAgain(order),
      );
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
      else if (kind === 'raised' || kind === 'lowered' || kind === 'put_back')
        this.#edit(order, change);
      else if (kind === 'address' || first === undefined) this.#enter(order, 'paid', new Map());
      else
        this.#enter(
          order,
          'paid',
          new Map([[first.lineId, kind === 'one_refunded' ? 1 : (first.quantity ?? 1)]]),
        );
    });
  }

  #edit(order: Order, { kind, afterMs }: NonNullable<ShopOrderPlan['change']>): void {
    this.#enter(order, 'paid', new Map(), kind === 'lowered' ? -1 : 1);
    if (kind === 'put_back') this.#soon(afterMs, () => this.#enter(order, 'paid', new Map()));
  }

  /**
   * The shop gives the ids of an order to another sale, of one piece more. Where nothing was
   * bought, that one is bought.
   */
  #giveAgain(order: Order): void {
    const { plan, isSettled } = order;
    const { stored } = this.#options;
    if (!isSettled || !stored.isOpen) return this.#soon(5000, () => this.#giveAgain(order));
    if (!plan.lines.every((line) => stored.find(line) !== undefined)) return;
    const other: Order = { plan, states: [], sent: 0, isSettled: false, isGivenAgain: true };
    this.#orders.push(other);
    this.#enter(other, 'paid', new Map(), 1);
  }

  /**
   * What the worker wrote into an order is a new state of it, too: most of them are told by a
   * webhook.
   */
  #tellWritten({ kind }: SimWrittenShop, orderId: string): void {
    const order = this.#orders.find(
      ({ plan }) => plan.platform === kind && plan.lines[0]?.orderId === orderId,
    );
    const last = order?.states.at(-1);
    if (order === undefined || last === undefined || this.#random.chance(0.3)) return;
    this.#options.hit(`webhook of a write ${kind}`);
    this.#enter(order, last.status, last.refunded, last.more);
  }

  /** The order is in a new state: the platform sends its webhooks. */
  #enter(
    order: Order,
    status: ShopState['status'],
    refunded: ReadonlyMap<string, number>,
    more = 0,
  ): void {
    const { plan, states, isGivenAgain } = order;
    const modifiedS = this.#nowS() + this.#aheadS(order);
    const paidS = states.find((state) => state.status === 'paid')?.paidS ?? modifiedS;
    const entered: ShopState = { plan, status, modifiedS, paidS, refunded, more, isGivenAgain };
    const shown = this.#written.find(({ kind }) => kind === plan.platform)?.show(entered);
    const state = shown === undefined ? entered : { ...entered, shown };
    states.push(state);
    order.isSettled = false;
    const delayMs = plan.delaysMs[states.length - 1] ?? 0;
    for (let copy = 0; copy < plan.copies; copy += 1)
      this.#soon(delayMs + copy * this.#random.int(0, 30_000), () => this.#deliver(order, state));
  }

  /** How far the clock of the shop is ahead of the next state of an order. */
  #aheadS({ plan: { aheadS = 0, change, paidAfterMs }, states }: Order): number {
    const last = (paidAfterMs > 0 ? 1 : 0) + (change === null ? 0 : 1);
    return states.length < last ? aheadS : 0;
  }

  /** Notes that a state may reach the worker now. Returns its place. */
  #sends(order: Order, state: ShopState): number {
    const place = order.states.indexOf(state);
    order.sent = Math.max(order.sent, place);
    return place;
  }

  #deliver(order: Order, state: ShopState): void {
    const { platform } = order.plan;
    const body = shopDocument(state);
    const signature = createHmac('sha256', secrets[platform]).update(body).digest('base64');
    const headers = { 'content-type': 'application/json', [signatureHeaders[platform]]: signature };
    const place = this.#sends(order, state);
    this.#open += 1;
    this.#options.http.send(
      { method: 'POST', path: `/webhooks/${platform}/main`, headers, body },
      (answer) => {
        this.#open -= 1;
        this.#delivered(order, state, order.sent <= place, answer);
      },
    );
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
    const fails = answer?.status === 500 && this.#options.mayFail;
    if (answer !== null && answer.status !== 503 && !fails)
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
      const place = this.#sends(order, state);
      handler
        .take({
          document,
          isTest: false,
          topic: null,
          isListed: true,
          refunds: Array.isArray(refunds) ? refunds : [],
        })
        .then(
          () => {
            this.#options.hit(`read back ${state.status}`);
            this.#check(order, state, order.sent <= place);
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
    if (order.isGivenAgain) return this.#checkGivenAgain(order.plan);
    if (!isNewest || isTied(order, state)) return;
    const isAhead = isInDoubt(order, state);
    if (isAhead) this.#options.hit(`shop clock was ahead ${state.status}`);
    for (const line of order.plan.lines) this.#checkLine(line, state, isAhead);
  }

  /** Its lines are those of the known sale. */
  #checkGivenAgain({ lines }: ShopOrderPlan): void {
    const { stored, violate, hit } = this.#options;
    hit('odd order given_again');
    for (const line of lines)
      if (!stored.openFlags(line).includes('id_given_again'))
        violate('I24', `${lineName(line)} is one of another sale, too, and nobody is told`);
  }

  /** A line that is not in the outbox: it is not due, or the operator is told why. */
  #checkNotStored(line: AcceptableLine, state: ShopState): void {
    const { stored, violate, hit } = this.#options;
    const { plan, status, paidS } = state;
    const { source } = line;
    if (leftOf(line, state) === 0) return void this.#mustStayOut.add(lineName(line));
    if (status !== 'paid') return;
    const connectedS = Math.floor((stored.connectedMs(source) ?? 0) / 1000);
    // The first worker may have started after it.
    const isOld = paidS < connectedS || wallStartMs + plan.atMs < connectedS * 1000;
    const flags = stored.openFlags(line);
    const isMapped = plan.oddity?.kind !== 'near' && this.#lostSku?.sku !== mappedSku(line);
    if (flags.includes('unknown_sku') && isMapped)
      violate(
        'I24',
        `${lineName(line)} is flagged for its SKU, and the map has it in another spelling`,
      );
    if (flags.includes('unknown_sku'))
      hit(plan.oddity?.kind === 'near' ? 'odd order near' : 'sold without its SKU');
    if (plan.oddity?.kind === 'sold_before') {
      hit('odd order sold_before');
      if (stored.flagsOfShop(source, 'old_sale') !== 1)
        violate(
          'I24',
          `${lineName(line)} was sold before the shop was connected, and no row says so`,
        );
      return;
    }
    if (isOld || stored.isFlagged(line)) return;
    // The map lost the SKU before the worker knew that it is ours.
    if (this.#lostSku?.sku === mappedSku(line) && !stored.wasMapped(source, this.#lostSku.sku))
      return;
    violate('I24', `${lineName(line)} is paid, confirmed, not in the outbox and not flagged`);
  }

  /**
   * Whether a line must not be bought in any state of its order: its SKU is almost one of the map,
   * or it is an old sale.
   */
  #isNotOurs(line: AcceptableLine, { oddity, lines }: ShopOrderPlan): boolean {
    return oddity?.kind === 'sold_before' || (oddity?.kind === 'near' && line === lines[0]);
  }

  #checkLine(line: AcceptableLine, state: ShopState, isAhead: boolean): void {
    const { stored, violate, hit } = this.#options;
    const { plan } = state;
    const found = stored.find(line);
    const left = leftOf(line, state);
    if (found === undefined) return this.#checkNotStored(line, state);
    if (this.#isNotOurs(line, plan))
      violate(
        'I25',
        `${lineName(line)} is in the outbox, and ${plan.oddity?.kind}: it must not be bought`,
      );
    if (plan.oddity !== undefined) hit(`odd order ${plan.oddity.kind}`);
    if (state.status === 'unpaid') return;
    const [first, ...others] = stored.entries(line);
    if (first === undefined) return violate('I24', `${lineName(line)} has no entry`);
    if (left === 0) return this.#takenBack(line, first.reference, first.state, first.attempts);
    // Nobody knows how many pieces the newest state has: see `withLeastLines`.
    if (isAhead) return;
    const isUntouched = first.state === 'pending' && first.attempts === 0 && others.length === 0;
    if (isUntouched && found.quantity !== left && !stored.isFlagged(line))
      violate(
        'I26',
        `${lineName(line)} would be bought ${found.quantity} times, and the shop has ${left} left`,
      );
    this.#checkEdited(line, state, found.quantity ?? 1);
  }

  /**
   * The order has more or fewer pieces than were bought: the operator is told, until it fits again.
   */
  #checkEdited(line: AcceptableLine, state: ShopState, bought: number): void {
    const { stored, violate, hit, isTouched } = this.#options;
    const { kind } = state.plan.change ?? {};
    if (kind !== 'raised' && kind !== 'lowered' && kind !== 'put_back') return;
    const entries = stored.entries(line);
    const [first] = entries;
    const isUnsent = entries.length === 1 && first?.state === 'pending' && first.attempts === 0;
    // While the map lacks its SKU, a change is told, and not made.
    const isMapped = this.#lostSku?.sku !== mappedSku(line);
    if (isUnsent && isMapped && bought !== leftOf(line, state) && !isTouched(first.reference))
      violate(
        'I26',
        `${lineName(line)} was not sent, and ${bought} would be bought, not ${leftOf(line, state)}`,
      );
    if (
      entries.some(
        ({ reference, state: is }) => is === 'held' || overStates.has(is) || isTouched(reference),
      )
    )
      return;
    const changes = [
      'changed_after_purchase',
      'refunded_in_storefront',
      'two_states_in_one_second',
    ];
    const isTold = stored.openFlags(line).some((code) => changes.includes(code));
    const left = leftOf(line, state);
    hit(`edited order ${kind} ${bought === left ? 'fits' : 'does not fit'}`);
    if (bought !== left && !isTold)
      violate(
        'I26',
        `${lineName(line)} was bought ${bought} times, the shop has ${left} left, and nobody is told`,
      );
    if (
      bought === left &&
      stored
        .openFlags(line)
        .some((code) => code !== 'two_states_in_one_second' && changes.includes(code))
    )
      violate('I26', `${lineName(line)} was bought as the shop has it, and is flagged as changed`);
  }

  /** The shop has nothing left of this line. */
  #takenBack(line: AcceptableLine, reference: string, state: string, attempts: number): void {
    const { stored, violate, onTakenBack, hit } = this.#options;
    hit(`taken back ${state}`);
    if (state === 'cancelled') return onTakenBack(reference);
    const isOver = ['rejected', 'expired', 'refunded', 'ending'].includes(state);
    if (!isOver && !stored.isFlagged(line))
      violate(
        'I26',
        `the shop took ${lineName(line)} back, and it is ${state} after ${attempts} calls, without a flag`,
      );
  }

  /**
   * Of an order and its copy, each line is bought once, unless the operator decided that both are
   * purchases.
   */
  #checkCopy({ oddity, lines }: ShopOrderPlan): void {
    if (oddity?.kind !== 'copy') return;
    const { stored, violate, hit, isSold, isTouched } = this.#options;
    const original = this.#plan.find((plan) => plan.lines[0]?.orderId === oddity.of);
    for (const [index, line] of lines.entries()) {
      const other = original?.lines[index];
      if (other === undefined) continue;
      const both = [line, other].map((one) => stored.entries(one));
      const isDecided = both
        .flat()
        .some((row) => isTouched(row.reference) || overStates.has(row.state));
      if (isDecided) hit(`copy ${oddity.by} decided`);
      if (isDecided || !both.every((rows) => rows.some(({ reference }) => isSold(reference))))
        continue;
      violate(
        'I1',
        `${lineName(line)} and ${lineName(other)} are one purchase (${oddity.by}), and both were bought`,
      );
    }
  }

  /**
   * Lines in the outbox count as acknowledged at the end, with the quantity that the shop has left.
   */
  acknowledgeStored(): void {
    const { stored, violate, onAcknowledged } = this.#options;
    for (const { plan, states, isGivenAgain } of this.#orders) {
      if (isGivenAgain) continue;
      this.#checkCopy(plan);
      for (const line of plan.lines) {
        const found = stored.find(line);
        if (found === undefined) continue;
        if (this.#isNotOurs(line, plan))
          violate(
            'I25',
            `${lineName(line)} is in the outbox, and ${plan.oddity?.kind}: it must not be bought`,
          );
        if (this.#mustStayOut.has(lineName(line)))
          violate(
            'I26',
            `${lineName(line)} is in the outbox, and the shop had taken it back before`,
          );
        const possible = states.map(
          (state) => piecesOf(line, state) - (state.refunded.get(line.lineId) ?? 0),
        );
        if (!possible.includes(found.quantity ?? 1))
          violate('I25', `${lineName(line)} is in the outbox with the quantity ${found.quantity}`);
        const paid = states.some(({ status }) => status === 'paid');
        if (!paid) violate('I26', `${lineName(line)} is in the outbox, and was never paid`);
        const isTakenBack = states.some((state) => leftOf(line, state) === 0);
        for (const { reference, state } of isTakenBack ? stored.entries(line) : []) {
          if (state === 'cancelled') this.#options.onTakenBack(reference);
          if (/^(needs_review|ending)$/.test(state)) this.#options.onTakenBackLate(reference);
        }
        onAcknowledged({ ...line, quantity: found.quantity }, found.reference);
      }
    }
  }
}
