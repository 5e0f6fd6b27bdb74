import type { ApiReadings } from './api-readings.ts';
import { ApiLedger, type SimEsim, type SimOrder } from './api-ledger.ts';
import type { Arrivals } from './arrivals.ts';
import type { ApiAnswer, ApiCall } from './api-call.ts';
import { errorAnswer, moneyText, orderAnswer } from './api-answers.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimAccount } from './sim-account.ts';
import type { Booked } from './spend-watch.ts';
import { lasts, shownInTrouble, unitsComeAtMs, type Troubles } from './troubles.ts';

/** Of a catalogue that is larger than any worker should read at once. */
const largeCatalogue = `{"products":[${'{"variant":"v"},'.repeat(70_000)}{}]}`;

/** Whether an arrived call is refused at once or processed. */
export type Reception =
  | { readonly kind: 'rate_limited'; readonly answer: ApiAnswer }
  | { readonly kind: 'admitted'; readonly process: () => ApiAnswer };

const idOf = (path: string, before: string, after = ''): string | null => {
  if (
    !path.startsWith(before) ||
    !path.endsWith(after) ||
    path.length <= before.length + after.length
  )
    return null;
  return decodeURIComponent(path.slice(before.length, path.length - after.length));
};

/**
 * The Wholesale Ordering API as its specification describes it, with one reading of what the
 * specification leaves open. Its ledger is the truth, against which the results of the worker are
 * checked.
 */
export class SimApi {
  readonly ledger: ApiLedger;
  readonly arrivals: Arrivals;
  readonly #readings: ApiReadings;
  readonly #account: SimAccount;
  readonly #troubles: Troubles;
  readonly #random: SeededRandom;
  readonly #nowMs: () => number;
  readonly #onSold: (booked: Booked) => void;
  /** Refusals that their references get for ever. */
  readonly #refused = new Map<string, ApiAnswer>();

  constructor(options: {
    readings: ApiReadings;
    account: SimAccount;
    troubles: Troubles;
    random: SeededRandom;
    nowMs: () => number;
    arrivals: Arrivals;
    onSold: (booked: Booked) => void;
  }) {
    this.#onSold = options.onSold;
    this.#readings = options.readings;
    this.#account = options.account;
    this.#troubles = options.troubles;
    this.#random = options.random;
    this.#nowMs = options.nowMs;
    this.arrivals = options.arrivals;
    this.ledger = new ApiLedger(options.random.fork());
  }

  /** A call arrives: it is counted, and its key is checked. */
  receive(call: ApiCall): Reception {
    const spends = call.method === 'POST';
    const denied = this.#account.denialOf(call, this.#nowMs());
    const limited = this.arrivals.stamp(call, spends);
    if (denied !== null) return { kind: 'rate_limited', answer: denied };
    if (limited !== null) return { kind: 'rate_limited', answer: limited };
    return { kind: 'admitted', process: () => this.#process(call) };
  }

  #process(call: ApiCall): ApiAnswer {
    const { method, path } = call;
    if (method === 'GET') {
      if (path === '/products')
        return {
          status: 200,
          headers: {},
          body: this.#troubles.catalogueIsLarge ? largeCatalogue : '{"products":[]}',
        };
      const account = this.#account.accountOf(call);
      const esim = idOf(path, '/esim/orders/');
      if (esim !== null) return this.#lookUp(account, esim, 'esim');
      const giftCard = idOf(path, '/orders/');
      if (giftCard !== null) return this.#lookUp(account, giftCard, 'gift_card');
      return errorAnswer(404, 'not_found', 'no such resource');
    }
    const cancelled = idOf(path, '/esim/esims/', '/cancel');
    if (cancelled !== null) return this.#cancel(cancelled);
    return this.#buy(call);
  }

  #lookUp(account: SimOrder['account'], key: string, family: 'gift_card' | 'esim'): ApiAnswer {
    const order = this.ledger.findIn(account, key);
    const visible =
      order !== undefined &&
      order.family === family &&
      this.#nowMs() >= order.atMs + this.#readings.lookupLagMs;
    if (!visible) return errorAnswer(404, 'not_found', 'No order with that reference.');
    return this.#answerFor(order, true);
  }

  #answerFor(order: SimOrder, isLookup = false): ApiAnswer {
    const trouble = this.#troubles.products.get(order.product);
    const isSick = trouble !== undefined && lasts(trouble, order.atMs);
    const at = { nowMs: this.#nowMs(), isLookup };
    let shown = shownInTrouble(trouble, order, this.#readings, at);
    const earlier = isSick ? this.ledger.firstLike(order) : undefined;
    // Later lookups show the order itself.
    if (
      earlier !== undefined &&
      trouble?.kind === 'shows_earlier_order' &&
      lasts(trouble, at.nowMs)
    )
      shown = { order: earlier, readings: { ...this.#readings, echo: false } };
    if (earlier !== undefined && trouble?.kind === 'repeats_an_order_number')
      shown = { order: { ...order, number: earlier.number }, readings: this.#readings };
    return orderAnswer(
      shown.order,
      shown.readings,
      this.#nowMs(),
      (iccid) => this.ledger.esims.get(iccid)?.state,
    );
  }

  #buy(call: ApiCall): ApiAnswer {
    const body: unknown = JSON.parse(call.body ?? '{}');
    const asked = readPurchase(call.path, body);
    if (asked === null) return errorAnswer(422, 'invalid_request', 'A field is missing.');
    const account = this.#account.accountOf(call);
    const remembered = this.#refused.get(`${account} ${asked.reference}`);
    if (remembered !== undefined) return remembered;
    const known = this.ledger.findIn(account, asked.reference);
    if (known !== undefined && known.family !== asked.family)
      return errorAnswer(
        409,
        'reference_in_use',
        'The reference belongs to an order of the other family.',
      );
    if (known !== undefined && this.#readings.replay === 'first') return this.#answerFor(known);
    const esim = asked.iccid === null ? null : (this.ledger.esims.get(asked.iccid) ?? null);
    const refusal = this.#account.refusalOf(asked, esim, this.#nowMs());
    if (refusal !== null) {
      const isTemporary = refusal.status === 402 || refusal.code === 'out_of_stock';
      const answer = errorAnswer(refusal.status, refusal.code, refusal.message);
      // Balance and stock change, so their refusals do not stay with the reference.
      if (this.#readings.refusalsStick && !isTemporary && known === undefined)
        this.#refused.set(`${account} ${asked.reference}`, answer);
      return answer;
    }
    if (known !== undefined) return this.#answerFor(known);
    return this.#answerFor(this.#sell(asked, esim, account, call.body ?? ''));
  }

  #sell(
    asked: Purchase,
    esim: SimEsim | null,
    account: SimOrder['account'],
    body: string,
  ): SimOrder {
    const { readings, random } = { readings: this.#readings, random: this.#random };
    const cost = this.#account.charge(asked, this.#nowMs());
    this.#onSold({ ...asked, cents: cost, atMs: this.#nowMs() });
    const later = random.chance(readings.laterShare) ? random.int(1000, readings.laterMs) : 0;
    const never = random.chance(readings.neverShare);
    const trouble = this.#troubles.products.get(asked.product);
    const comesAtMs = unitsComeAtMs(trouble, this.#nowMs());
    const state = random.chance(readings.refundedShare)
      ? 'refunded'
      : random.chance(readings.failedShare)
        ? 'failed'
        : 'sold';
    if (state === 'refunded') this.#account.refund(asked.reference, asked.currency, cost);
    const sale = { ...asked, account, atMs: this.#nowMs() };
    const isSoldAgain = trouble?.kind === 'sells_a_code_twice' && lasts(trouble, sale.atMs);
    const completeAtMs =
      comesAtMs !== null ? comesAtMs : never ? Number.POSITIVE_INFINITY : sale.atMs + later;
    const order = this.ledger.add(
      { ...sale, body, cost, state, completeAtMs },
      isSoldAgain ? this.ledger.firstLike(sale)?.units : undefined,
    );
    if (esim !== null) esim.state = 'topped_up';
    // The eSIMs of an order that is refunded at once cannot be refunded again (Spec 3).
    if (state === 'refunded' && order.operation === 'esim_order') {
      for (const iccid of order.units) {
        const gone = this.ledger.esims.get(iccid);
        if (gone !== undefined) gone.state = 'cancelled';
      }
    }
    return order;
  }

  #cancel(iccid: string): ApiAnswer {
    const esim = this.ledger.esims.get(iccid);
    if (esim === undefined) return errorAnswer(404, 'not_found', 'No eSIM with that ICCID.');
    if (this.#account.cannotCheck(iccid, this.#nowMs()))
      return errorAnswer(409, 'not_cancellable', this.#readings.couldNotCheckMessage);
    if (esim.state !== 'fresh')
      return errorAnswer(409, 'not_cancellable', this.#readings.notCancellableMessage);
    esim.state = 'cancelled';
    this.ledger.cancels.push({ iccid, atMs: this.#nowMs() });
    const order = esim.orderReference === null ? undefined : this.ledger.find(esim.orderReference);
    // An order of one eSIM shows as refunded; an order of several does not.
    if (
      order !== undefined &&
      this.#readings.cancelShows === 'order_refunded' &&
      order.units.length === 1
    )
      order.shownAsRefunded = true;
    this.#account.refund(`cancel:${iccid}`, esim.currency, esim.cost);
    const cancelled = { iccid, status: 'cancelled' };
    const refund = { currency: esim.currency, refund: { amount: moneyText(esim.cost) } };
    const shown = { ...cancelled, ...(this.#readings.refundShown ? refund : {}) };
    return { status: 200, headers: {}, body: JSON.stringify(shown) };
  }
}

/** The order in the body of a buying call. */
export interface Purchase {
  readonly operation: 'gift_card_order' | 'esim_order' | 'esim_topup';
  readonly family: 'gift_card' | 'esim';
  readonly reference: string;
  readonly product: string;
  readonly quantity: number;
  readonly currency: string;
  readonly iccid: string | null;
  readonly days: number | null;
}

function readPurchase(path: string, body: unknown): Purchase | null {
  if (typeof body !== 'object' || body === null) return null;
  const text = (name: string): string | null => {
    const value: unknown = Reflect.get(body, name);
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const quantity: unknown = Reflect.get(body, 'quantity') ?? 1;
  const reference = text('reference');
  const currency = text('currency');
  const product = text(path === '/orders' ? 'variant' : 'plan');
  if (reference === null || currency === null || product === null || typeof quantity !== 'number')
    return null;
  const days: unknown = Reflect.get(body, 'days');
  const base = {
    reference,
    currency,
    product,
    quantity,
    days: typeof days === 'number' ? days : null,
  };
  if (path === '/orders')
    return { ...base, operation: 'gift_card_order', family: 'gift_card', iccid: null };
  if (path === '/esim/orders')
    return { ...base, operation: 'esim_order', family: 'esim', iccid: null };
  const iccid = idOf(path, '/esim/esims/', '/topups');
  return iccid === null ? null : { ...base, operation: 'esim_topup', family: 'esim', iccid };
}
