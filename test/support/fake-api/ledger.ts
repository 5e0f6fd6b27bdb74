import type { Family } from './calls.ts';

/** What a call asks to buy. */
export interface OrderCall {
  readonly family: Family;
  readonly reference: string;
  /** A variant or a plan. */
  readonly product: string;
  readonly quantity: number;
  readonly currency: string;
}

/** An order that was sold. */
export interface SoldOrder extends OrderCall {
  readonly number: string;
  /**
   * What its answer, its replay and its lookup show. A test may change it, for example to deliver.
   */
  show: (order: SoldOrder) => unknown;
}

/** Everything that was sold, by reference: a reference is unique over both families (Spec 1). */
export class Ledger {
  readonly #byReference = new Map<string, SoldOrder>();
  readonly #byNumber = new Map<string, SoldOrder>();

  get orders(): readonly SoldOrder[] {
    return [...this.#byReference.values()];
  }

  /** By its reference or its number. */
  find(key: string): SoldOrder | undefined {
    return this.#byReference.get(key) ?? this.#byNumber.get(key);
  }

  sell(call: OrderCall, show: SoldOrder['show']): SoldOrder {
    if (this.#byReference.has(call.reference))
      throw new Error(`${call.reference} was sold already`);
    const order: SoldOrder = { ...call, number: `N${this.#byReference.size + 1}`, show };
    this.#byReference.set(order.reference, order);
    this.#byNumber.set(order.number, order);
    return order;
  }

  /** How many orders of this product were sold. */
  sold(product: string): number {
    return this.orders.filter((order) => order.product === product).length;
  }

  /** How many units of this product were sold. */
  unitsSold(product: string): number {
    return this.orders.reduce(
      (sum, order) => sum + (order.product === product ? order.quantity : 0),
      0,
    );
  }
}
