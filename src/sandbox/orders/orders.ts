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
  fingerprint: string;
  item: string;
  quantity: number;
  days: number | null;
  iccid: string | null;
  currency: string;
  unit_minor: number;
  cost_minor: number;
  refunded_minor: number;
  status: 'pending' | 'completed' | 'refunded';
  answer: string;
  created_at: number;
  due_at: number | null;
  due_outcome: 'completed' | 'refunded' | null;
};

/** An order to place; missing fields follow from the others. Without `dueAt` it is completed at once. */
type NewOrder = Omit<
  Order,
  'id' | 'number' | 'cost_minor' | 'refunded_minor' | 'status' | 'answer' | 'created_at' | 'due_at' | 'due_outcome'
> & { dueAt: number | null; outcome: 'completed' | 'refunded' };

const prefixOf = { gift_card_order: 'GC', esim_order: 'ES', esim_topup: 'TU' } as const;

/**
 * Orders of all kinds, with the charge and the refunds of each.
 * @internal
 */
export class Orders {
  readonly #accounts: Accounts;
  readonly #sql;

  constructor(database: Database, accounts: Accounts) {
    this.#accounts = accounts;
    this.#sql = {
      nextId: database
        .prepare<[], number>("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'orders'), 0) + 1")
        .pluck(),
      insert: database.prepare(
        `INSERT INTO orders (number, account, family, kind, reference, fingerprint, item, quantity, days, iccid,
           currency, unit_minor, cost_minor, status, created_at, due_at, due_outcome)
         VALUES (@number, @account, @family, @kind, @reference, @fingerprint, @item, @quantity, @days, @iccid,
           @currency, @unit_minor, @cost_minor, @status, @created_at, @due_at, @due_outcome)`,
      ),
      byNumber: database.prepare<[string], Order>('SELECT * FROM orders WHERE number = ?'),
      byReference: database.prepare<[string, string], Order>(
        'SELECT * FROM orders WHERE account = ? AND reference = ?',
      ),
      due: database.prepare<[number], Order>("SELECT * FROM orders WHERE status = 'pending' AND due_at <= ?"),
      settle: database.prepare("UPDATE orders SET status = ? WHERE number = ? AND status = 'pending'"),
      refund: database.prepare('UPDATE orders SET refunded_minor = refunded_minor + ?, status = ? WHERE number = ?'),
      keepAnswer: database.prepare('UPDATE orders SET answer = ? WHERE number = ?'),
    };
  }

  /** Stores the order and charges its balance. The caller has checked the balance in the same transaction. */
  place(order: NewOrder, now: number): Order {
    const { dueAt, outcome, ...facts } = order;
    const number = `${prefixOf[order.kind]}-${100_000 + (this.#sql.nextId.get() ?? 1)}`;
    const cost = order.unit_minor * order.quantity * (order.days ?? 1);
    this.#sql.insert.run({
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

  byReference(account: string, reference: string): Order | undefined {
    return this.#sql.byReference.get(account, reference);
  }

  byNumber(account: string, number: string): Order | undefined {
    const order = this.find(number);
    return order?.account === account ? order : undefined;
  }

  /** Stores the first answer, for the replays of the reference. */
  keepAnswer(number: string, answer: string): void {
    this.#sql.keepAnswer.run(answer, number);
  }

  /** Completes or refunds the pending orders that are due at `now`. Runs before every call, so no answer is outdated. */
  settleDue(now: number): void {
    for (const order of this.#sql.due.all(now)) this.settle(order, order.due_at ?? now);
  }

  /** Completes or refunds a pending order. */
  settle(order: Order, now: number): void {
    if (order.due_outcome === 'refunded') this.refundRest(order, now);
    else this.#sql.settle.run('completed', order.number);
  }

  /** Refunds what was not refunded before. Returns the amount in minor units. */
  refundRest(order: Order, now: number): number {
    const rest = order.cost_minor - order.refunded_minor;
    if (rest > 0) {
      this.#accounts.move(order.account, order.currency, rest, 'refund', now, { orderNumber: order.number });
    }
    this.#sql.refund.run(rest, 'refunded', order.number);
    return rest;
  }

  /** Spec 3: refunds the price of one eSIM, once. After the last one the order is refunded. Returns minor units. */
  refundEsim(order: Order, iccid: string, now: number): number {
    const share = order.cost_minor / order.quantity;
    this.#accounts.move(order.account, order.currency, share, 'refund', now, { orderNumber: order.number, iccid });
    const status = order.refunded_minor + share === order.cost_minor ? 'refunded' : order.status;
    this.#sql.refund.run(share, status, order.number);
    return share;
  }

  find(number: string): Order | undefined {
    return this.#sql.byNumber.get(number);
  }

  /** As `find`; throws when there is no such order. */
  require(number: string): Order {
    const order = this.find(number);
    if (order === undefined) throw new Error(`order ${number} must exist`);
    return order;
  }
}
