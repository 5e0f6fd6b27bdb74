import type { Database } from '../database.ts';
import type { Order } from './orders.ts';
import { derivedDigits, derivedText } from '../randomness.ts';

export type Code = {
  position: number;
  code: string;
  pin: string | null;
  serial: string;
  url: string | null;
  expires_at: number | null;
};

const threeYearsMs = 3 * 365 * 86_400_000;

/** The codes of gift card and software orders. */
export class Codes {
  readonly #seed: number;
  readonly #insert;
  readonly #ofOrder;

  constructor(database: Database, seed: number) {
    this.#seed = seed;
    this.#insert = database.prepare('INSERT INTO codes VALUES (?, ?, ?, ?, ?, ?, ?)');
    this.#ofOrder = database.prepare<[string], Code>('SELECT * FROM codes WHERE order_number = ? ORDER BY position');
  }

  /** Makes one code for each unit. A gift card code has a PIN, an address and an end date; a software key has none. */
  deliver(order: Order, category: string): void {
    for (let position = 1; position <= order.quantity; position += 1) {
      const purpose = `${order.number}/${position}`;
      const software = category === 'software';
      const code = software ? derivedText(this.#seed, purpose, 5, 5) : derivedText(this.#seed, purpose, 4, 4);
      this.#insert.run(
        order.number,
        position,
        code,
        software ? null : derivedDigits(this.#seed, purpose, 4),
        `${order.number}-${position}`,
        software ? null : `https://redeem.sandbox.example/${code}`,
        software ? null : order.created_at + threeYearsMs,
      );
    }
  }

  of(order: Order): Code[] {
    return this.#ofOrder.all(order.number);
  }
}
