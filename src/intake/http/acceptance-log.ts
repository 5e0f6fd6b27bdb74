import type { Logger } from 'pino';
import type { AcceptedOrder } from '../../store/intake/intake.ts';

/** What one caller had accepted since the last line. */
interface Noted {
  readonly first: AcceptedOrder;
  requests: number;
  orders: number;
  lines: number;
}

/**
 * Tells what was accepted: one line for each caller in a turn of the event loop, which is one for each request while
 * they come one by one, and one for each commit when they come by the thousand. A line for each of those would cost as
 * much as accepting it does.
 */
export class AcceptedLog {
  readonly #logger: Logger;
  #noted = new Map<string, Noted>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Takes note of a request that is on disk. */
  note(caller: string, orders: readonly AcceptedOrder[]): void {
    const [first] = orders;
    if (first === undefined) return;
    if (this.#noted.size === 0) setImmediate(() => this.#write());
    const noted = this.#noted.get(caller) ?? { first, requests: 0, orders: 0, lines: 0 };
    noted.requests += 1;
    noted.orders += orders.length;
    for (const { lines } of orders) noted.lines += lines.length;
    this.#noted.set(caller, noted);
  }

  #write(): void {
    const noted = this.#noted;
    this.#noted = new Map();
    for (const [caller, { first, requests, orders, lines }] of noted) {
      const { source, orderId } = first;
      this.#logger.info({ caller, source, order_id: orderId, requests, orders, lines }, 'orders accepted');
    }
  }
}
