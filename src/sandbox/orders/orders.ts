import type { Accounts } from '../account/accounts.ts';
import type { Database } from '../database.ts';
import type { Family, PurchaseOperation } from './operations.ts';

export type OrderStatus = 'pending' | 'completed' | 'refunded';

export type Order = {
  id: number;
  number: string;
  account: string;
  channel: 'api' | 'website';
  family: Family;
  kind: PurchaseOperation;
  reference: string | null;
  fingerprint: string;
  item: string;
  quantity: number;
  days: number | null;
  iccid: string | null;
  currency: string;
  unit_minor: number;
  cost_minor: number;
  refunded_minor: number;
  status: OrderStatus;
  answer: string;
  created_at: number;
  due_at: number | null;
  due_outcome: 'completed' | 'refunded' | null;
};

export type NewOrder = Pick<
  Order,
  | 'account'
  | 'channel'
  | 'family'
  | 'kind'
  | 'reference'
  | 'fingerprint'
  | 'item'
  | 'quantity'
  | 'days'
  | 'iccid'
  | 'currency'
  | 'unit_minor'
> & { dueAt: number | null; outcome: 'completed' | 'refunded' };

const prefixOf = { gift_card_order: 'GC', esim_order: 'ES', esim_topup: 'TU' } as const;

/** Orders of all kinds, and the money that each one moves. */
export class Orders {
  readonly #accounts: Accounts;
  readonly #nextId;
  readonly #insert;
  readonly #any;
  readonly #byReference;
  readonly #byNumber;
  readonly #due;
  readonly #settle;
  readonly #refund;
  readonly #keepAnswer;

  constructor(database: Database, accounts: Accounts) {
    this.#accounts = accounts;
    this.#nextId = database
      .prepare<[], number>("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'orders'), 0) + 1")
      .pluck();
    this.#insert = database.prepare(
      `INSERT INTO orders (number, account, channel, family, kind, reference, fingerprint, item, quantity, days, iccid,
         currency, unit_minor, cost_minor, status, created_at, due_at, due_outcome)
       VALUES (@number, @account, @channel, @family, @kind, @reference, @fingerprint, @item, @quantity, @days, @iccid,
         @currency, @unit_minor, @cost_minor, @status, @created_at, @due_at, @due_outcome)`,
    );
    this.#any = database.prepare<[string], Order>('SELECT * FROM orders WHERE number = ?');
    this.#byReference = database.prepare<[string, string], Order>(
      "SELECT * FROM orders WHERE account = ? AND reference = ? AND channel = 'api'",
    );
    this.#byNumber = database.prepare<[string, string], Order>(
      "SELECT * FROM orders WHERE number = ? AND account = ? AND channel = 'api'",
    );
    this.#due = database.prepare<[number], Order>("SELECT * FROM orders WHERE status = 'pending' AND due_at <= ?");
    this.#settle = database.prepare("UPDATE orders SET status = ? WHERE number = ? AND status = 'pending'");
    this.#refund = database.prepare(
      'UPDATE orders SET refunded_minor = refunded_minor + ?, status = ? WHERE number = ?',
    );
    this.#keepAnswer = database.prepare('UPDATE orders SET answer = ? WHERE number = ?');
  }

  /** Records the order and charges its balance. The caller has checked the balance, in the same transaction. */
  place(order: NewOrder, now: number): Order {
    const { dueAt, outcome, ...facts } = order;
    const number = `${prefixOf[order.kind]}-${100_000 + (this.#nextId.get() ?? 1)}`;
    const cost = order.unit_minor * order.quantity * (order.days ?? 1);
    this.#insert.run({
      ...facts,
      number,
      cost_minor: cost,
      status: dueAt === null ? 'completed' : 'pending',
      created_at: now,
      due_at: dueAt,
      due_outcome: dueAt === null ? null : outcome,
    });
    this.#accounts.move(order.account, order.currency, -cost, 'charge', now, { orderNumber: number });
    if (dueAt === null && outcome === 'refunded') this.refundRest(this.require(number), now);
    return this.require(number);
  }

  /** Orders of the API only: a key cannot read website orders (Spec 5.9). */
  byReference(account: string, reference: string): Order | undefined {
    return this.#byReference.get(account, reference);
  }

  byNumber(account: string, number: string): Order | undefined {
    return this.#byNumber.get(number, account);
  }

  /** The first answer, word for word, for the replays of its reference. */
  keepAnswer(number: string, answer: string): void {
    this.#keepAnswer.run(answer, number);
  }

  /** Delivers or refunds what has become due by `now`. Runs before every call, so nobody sees an order overdue. */
  settleDue(now: number): void {
    for (const order of this.#due.all(now)) {
      if (order.due_outcome === 'refunded') this.refundRest(order, order.due_at ?? now);
      else this.#settle.run('completed', order.number);
    }
  }

  /** Gives back whatever of the order was not given back before. Returns the amount in minor units. */
  refundRest(order: Order, now: number): number {
    const rest = order.cost_minor - order.refunded_minor;
    if (rest > 0) {
      this.#accounts.move(order.account, order.currency, rest, 'refund', now, { orderNumber: order.number });
    }
    this.#refund.run(rest, 'refunded', order.number);
    return rest;
  }

  /** Spec 3: gives back one eSIM's share, once. When nothing of the order is left, the order is refunded. */
  refundEsim(order: Order, iccid: string, now: number): number {
    const share = order.cost_minor / order.quantity;
    this.#accounts.move(order.account, order.currency, share, 'refund', now, { orderNumber: order.number, iccid });
    const status = order.refunded_minor + share === order.cost_minor ? 'refunded' : order.status;
    this.#refund.run(share, status, order.number);
    return share;
  }

  /** Any order, of the website too. Throws when there is none: the caller knows that it exists. */
  require(number: string): Order {
    const order = this.#any.get(number);
    if (order === undefined) throw new Error(`order ${number} must exist`);
    return order;
  }
}
