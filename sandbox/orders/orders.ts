import type { Accounts } from '../account/accounts.ts';
import type { Database } from '../storage/database.ts';
import type { Family, PurchaseOperation } from '../values/operations.ts';

export type Order = {
  id: number;
  number: string;
  account: string;
  family: Family;
  kind: PurchaseOperation;
  reference: string;
  item: string;
  quantity: number;
  days: number | null;
  iccid: string | null;
  currency: string;
  unit_minor: number;
  cost_minor: number;
  refunded_minor: number;
  status: 'pending' | 'completed' | 'refunded';
  /** The codes of a gift card order, as JSON. */
  codes: string;
  created_at: number;
  due_at: number | null;
  due_outcome: 'completed' | 'refunded' | null;
};

/**
 * An order to place; missing fields follow from the others. Without `due_at` its outcome is reached
 * at once.
 */
type NewOrder = Omit<
  Order,
  | 'id'
  | 'number'
  | 'cost_minor'
  | 'refunded_minor'
  | 'status'
  | 'codes'
  | 'created_at'
  | 'due_outcome'
> & { outcome: 'completed' | 'refunded' };

const prefixOf = { gift_card_order: 'GC', esim_order: 'ES', esim_topup: 'TU' } as const;

/**
 * Orders of all kinds, with the charge and the refunds of each.
 * @internal
 */
export class Orders {
  readonly #database: Database;
  readonly #accounts: Accounts;

  constructor(database: Database, accounts: Accounts) {
    this.#database = database;
    this.#accounts = accounts;
  }

  /**
   * Stores the order and charges its balance. The caller has checked the balance in the same
   * transaction.
   */
  place({ outcome, ...facts }: NewOrder, now: number): Order {
    const number = `${prefixOf[facts.kind]}-${100_000 + this.#database.nextId('orders')}`;
    const cost = facts.unit_minor * facts.quantity * (facts.days ?? 1);
    const isDelayed = facts.due_at !== null;
    this.#database.run(
      `INSERT INTO orders (number, account, family, kind, reference, item, quantity, days, iccid,
         currency, unit_minor, cost_minor, status, created_at, due_at, due_outcome)
       VALUES (@number, @account, @family, @kind, @reference, @item, @quantity, @days, @iccid,
         @currency, @unit_minor, @cost, @status, @now, @due_at, @due_outcome)`,
      {
        ...facts,
        number,
        cost,
        now,
        status: isDelayed ? 'pending' : 'completed',
        due_outcome: isDelayed ? outcome : null,
      },
    );
    this.#accounts.move(facts.account, facts.currency, -cost, 'charge', now, {
      orderNumber: number,
    });
    if (!isDelayed && outcome === 'refunded') this.refundRest(this.require(number), now);
    return this.require(number);
  }

  byReference(account: string, reference: string): Order | undefined {
    const sql = 'SELECT * FROM orders WHERE account = ? AND reference = ?';
    return this.#database.all<Order>(sql, account, reference)[0];
  }

  keepCodes(number: string, codes: readonly object[]): void {
    this.#database.run(
      'UPDATE orders SET codes = ? WHERE number = ?',
      JSON.stringify(codes),
      number,
    );
  }

  /**
   * Completes or refunds the pending orders that are due at `now`. Runs before every call, so no
   * answer is outdated.
   */
  settleDue(now: number): void {
    const due = this.#database.all<Order>(
      "SELECT * FROM orders WHERE status = 'pending' AND due_at <= ?",
      now,
    );
    for (const order of due) this.settle(order, order.due_at ?? now);
  }

  settle(order: Order, now: number): void {
    if (order.due_outcome === 'refunded') this.refundRest(order, now);
    else
      this.#database.run("UPDATE orders SET status = 'completed' WHERE number = ?", order.number);
  }

  /** Refunds what was not refunded before. */
  refundRest(order: Order, now: number): void {
    const rest = order.cost_minor - order.refunded_minor;
    if (rest > 0) this.#refund(order, rest, now);
    this.#database.run("UPDATE orders SET status = 'refunded' WHERE number = ?", order.number);
  }

  /**
   * Spec 3: refunds the price of one eSIM, once. After the last one the order is refunded. Returns
   * minor units.
   */
  refundEsim(order: Order, iccid: string, now: number): number {
    const share = order.cost_minor / order.quantity;
    this.#refund(order, share, now, iccid);
    if (order.refunded_minor + share === order.cost_minor)
      this.refundRest(this.require(order.number), now);
    return share;
  }

  #refund({ number, account, currency }: Order, minor: number, now: number, iccid?: string): void {
    const subject = iccid === undefined ? { orderNumber: number } : { orderNumber: number, iccid };
    this.#accounts.move(account, currency, minor, 'refund', now, subject);
    this.#database.run(
      'UPDATE orders SET refunded_minor = refunded_minor + ? WHERE number = ?',
      minor,
      number,
    );
  }

  find(number: string): Order | undefined {
    return this.#database.all<Order>('SELECT * FROM orders WHERE number = ?', number)[0];
  }

  /** As `find`; throws when there is no such order. */
  require(number: string): Order {
    const order = this.find(number);
    if (order === undefined) throw new Error(`order ${number} must exist`);
    return order;
  }
}
