import SqliteDatabase from 'better-sqlite3';
import { pino } from 'pino';
import type { Clock } from '../../src/core/clock.ts';
import type { EntryState } from '../../src/core/entry/states.ts';
import { type ShopHandler, StorefrontIntake } from '../../src/storefronts/storefront-intake.ts';
import { Outbox } from '../support/outbox.ts';
import { wooCommerceShop } from './shop-settings.ts';

/** An entry of an order, and who holds it. */
export interface EntryNow {
  readonly reference: string;
  readonly lineId: string;
  readonly state: EntryState;
  readonly heldBy: 'shop' | null;
}

/** The start of every history. */
const startMs = Date.UTC(2026, 10, 1);
/** A large outbox makes its histories slow. */
const historiesAtMost = 500;

/**
 * A SKU map with a product for each history of an outbox: two unknown outcomes of a product hold up
 * all of it.
 */
export const skusOfHistories = `skus:\n${Array.from(
  { length: historiesAtMost },
  (_, index) => `  CARD-${index + 1}: { type: gift_card_order, variant: card-${index + 1} }\n`,
).join('')}`;

/**
 * An outbox that takes in the orders of a shop, for many histories: each is an order of its own,
 * one after the other, and buys a product of its own. With an outbox for each, 200 KB a history
 * wait for the collector of garbage, which does not see the memory of SQLite.
 */
export class HistoryOutbox {
  readonly outbox: Outbox;
  readonly handler: ShopHandler;
  readonly #entries;
  readonly #isOpen;
  readonly #reader: SqliteDatabase.Database;
  #second = 0;
  #histories = 0;

  private constructor(outbox: Outbox, skuMap: string) {
    this.outbox = outbox;
    const clock: Clock = {
      wallMs: () => this.nowMs,
      steadyMs: () => 0,
      sleep: () => Promise.resolve(),
    };
    const intake = new StorefrontIntake({
      shops: [wooCommerceShop({ skuMap, source: 'woo' })],
      store: outbox.store.storefronts,
      clock,
      logger: pino({ level: 'silent' }),
      onChanged: () => undefined,
    });
    const handler = intake.handlerFor('woocommerce', 'main');
    if (handler === null) throw new Error('the shop is configured');
    this.handler = handler;
    this.#reader = new SqliteDatabase(outbox.path, { readonly: true });
    // One that is looked up before it ends as cancelled counts as that.
    this.#entries = this.#reader.prepare<[string], EntryNow>(
      `SELECT e.reference, l.line_id AS lineId, iif(e.error_buffered = 2 AND e.state <> 'needs_review', 'cancelled', e.state) AS state, e.held_by AS heldBy FROM entries e JOIN lines l ON l.id = e.line_id
       JOIN requests r ON r.id = l.request_id WHERE r.source = 'woo' AND r.order_id = ? ORDER BY e.id`,
    );
    this.#isOpen = this.#reader.prepare<[]>(
      `SELECT 1 FROM entries WHERE state NOT IN ('fulfilled', 'cancelled', 'held', 'needs_review') LIMIT 1`,
    );
  }

  static async open(skuMap: string): Promise<HistoryOutbox> {
    return new HistoryOutbox(await Outbox.open(), skuMap);
  }

  /** The order of the next history. */
  nextOrder(): { readonly orderId: string; readonly sku: string } {
    this.#histories += 1;
    this.#second = 0;
    return { orderId: String(1_000_000 + this.#histories), sku: `CARD-${this.#histories}` };
  }

  /** Moves the clock of the worker, which is that of the shop. */
  moveTo(second: number): void {
    this.#second = Math.max(this.#second, second);
  }

  /** Within a second of the shop, which tells whole seconds. */
  get nowMs(): number {
    return this.timeOf(this.#second) + 500;
  }

  timeOf(second: number): number {
    return startMs + second * 1000;
  }

  entriesOf(orderId: string): readonly EntryNow[] {
    return this.#entries.all(orderId);
  }

  /**
   * Whether it has a product for another history, and no call of an earlier one may become due in
   * it.
   */
  canGoOn(): boolean {
    return this.#histories < historiesAtMost && this.#isOpen.get() === undefined;
  }

  async close(): Promise<void> {
    this.#reader.close();
    await this.outbox.close();
  }
}
