import type { SeededRandom } from './seeded-random.ts';

/** An order that the API has charged. */
export interface SimOrder {
  readonly number: string;
  readonly account: 'own' | 'other';
  readonly reference: string;
  readonly operation: 'gift_card_order' | 'esim_order' | 'esim_topup';
  readonly family: 'gift_card' | 'esim';
  readonly product: string;
  readonly quantity: number;
  readonly currency: string;
  readonly iccid: string | null;
  /** In hundredths. */
  readonly cost: number;
  /** The exact request that bought it. */
  readonly body: string;
  readonly state: 'sold' | 'refunded' | 'failed';
  readonly atMs: number;
  /** When its units are delivered; Infinity: never. */
  readonly completeAtMs: number;
  /** Codes of gift cards, ICCIDs of eSIMs. */
  readonly units: readonly string[];
  shownAsRefunded: boolean;
}

export interface SimEsim {
  readonly iccid: string;
  readonly orderReference: string | null;
  readonly cost: number;
  readonly currency: string;
  state: 'fresh' | 'installed' | 'topped_up' | 'cancelled' | 'expired';
}

type NewOrder = Omit<SimOrder, 'number' | 'units' | 'shownAsRefunded'>;

/** What really happened at the API. Everything else is checked against it. */
export class ApiLedger {
  readonly orders: SimOrder[] = [];
  readonly esims = new Map<string, SimEsim>();
  readonly cancels: { readonly iccid: string; readonly atMs: number }[] = [];
  readonly #byReference = new Map<string, SimOrder>();
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  find(key: string): SimOrder | undefined {
    return this.findIn('own', key) ?? this.findIn('other', key);
  }

  /** What a lookup with a key of the account finds. */
  findIn(account: SimOrder['account'], key: string): SimOrder | undefined {
    const found = this.#byReference.get(`${account} ${key}`);
    return found ?? this.orders.find((order) => order.number === key && order.account === account);
  }

  /** The first order of the same goods before this one. */
  firstLike(
    order: Pick<SimOrder, 'account' | 'product' | 'quantity' | 'currency' | 'atMs'>,
  ): SimOrder | undefined {
    return this.orders.find(
      (it) =>
        it.account === order.account &&
        it.product === order.product &&
        it.quantity === order.quantity &&
        it.currency === order.currency &&
        it.state === 'sold' &&
        it.atMs < order.atMs,
    );
  }

  /** @param again units that are sold again; by default each order has units of its own */
  add(order: NewOrder, again?: SimOrder['units']): SimOrder {
    const number = `${order.family === 'esim' ? 'E' : 'G'}${this.orders.length + 1}`;
    const units =
      order.operation === 'esim_topup'
        ? []
        : Array.from({ length: order.quantity }, () =>
            order.operation === 'esim_order'
              ? `8944${String(this.#random.int(0, 999_999_999)).padStart(9, '0')}${String(this.#random.int(0, 99_999)).padStart(5, '0')}`
              : `CODE-${this.#random.int(100_000, 999_999)}-${this.#random.int(100_000, 999_999)}`,
          );
    const added: SimOrder = { ...order, number, units: again ?? units, shownAsRefunded: false };
    this.orders.push(added);
    this.#byReference.set(`${added.account} ${added.reference}`, added);
    if (order.operation === 'esim_order') {
      for (const iccid of units) {
        this.esims.set(iccid, {
          iccid,
          orderReference: order.reference,
          cost: Math.floor(order.cost / order.quantity),
          currency: order.currency,
          state: 'fresh',
        });
      }
    }
    return added;
  }
}
