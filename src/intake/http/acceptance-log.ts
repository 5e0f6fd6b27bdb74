import type { Logger } from 'pino';
import type { AcceptedOrder } from '../../store/intake/accept-request.ts';

/** The orders of one caller that were accepted since the last log line. */
interface Counts {
  readonly first: AcceptedOrder;
  requests: number;
  orders: number;
  lines: number;
}

/**
 * Logs accepted orders: one line for each caller and turn of the event loop. This is a line for each request while few
 * arrive, and a line for each commit while thousands arrive: a line for each of those would double their cost.
 */
export class AcceptanceLog {
  readonly #logger: Logger;
  #counts = new Map<string, Counts>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Records a request that is on disk. */
  add(caller: string, orders: readonly AcceptedOrder[]): void {
    const [first] = orders;
    if (first === undefined) return;
    if (this.#counts.size === 0) setImmediate(() => this.#write());
    const counts = this.#counts.get(caller) ?? { first, requests: 0, orders: 0, lines: 0 };
    counts.requests += 1;
    counts.orders += orders.length;
    for (const { lines } of orders) counts.lines += lines.length;
    this.#counts.set(caller, counts);
  }

  #write(): void {
    const written = this.#counts;
    this.#counts = new Map();
    for (const [caller, { first, requests, orders, lines }] of written) {
      const { source, orderId } = first;
      this.#logger.info({ caller, source, order_id: orderId, requests, orders, lines }, 'orders accepted');
    }
  }
}
