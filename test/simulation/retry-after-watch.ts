import type { Reply } from '../support/shops/shop-order.ts';
import type { SimProcess } from './sim-process.ts';

/** Whether a worker that was asked to wait makes no call until then. */
export class RetryAfterWatch {
  readonly #nowMs: () => number;
  readonly #violate: (sentence: string) => void;
  readonly #name: string;
  #asked: { readonly process: SimProcess; readonly atMs: number; readonly untilMs: number } | null =
    null;
  /**
   * When the last call about each order was answered: the next event of a result that is under way
   * follows at once.
   */
  readonly #answeredMs = new Map<string, number>();

  constructor(name: string, nowMs: () => number, violate: (sentence: string) => void) {
    this.#name = name;
    this.#nowMs = nowMs;
    this.#violate = violate;
  }

  leaves(process: SimProcess, orderId: string): void {
    const nowMs = this.#nowMs();
    const asked = this.#asked;
    if (asked === null || asked.process !== process || this.#answeredMs.get(orderId) === nowMs)
      return;
    if (nowMs > asked.atMs && nowMs < asked.untilMs)
      this.#violate(
        `${this.#name} is called ${asked.untilMs - nowMs} ms before the time that it asked to wait for`,
      );
  }

  answered(process: SimProcess, orderId: string, reply: Reply | null): void {
    const nowMs = this.#nowMs();
    this.#answeredMs.set(orderId, nowMs);
    const seconds = Number(reply?.headers?.['retry-after'] ?? 0);
    const untilMs = nowMs + seconds * 1000;
    if (seconds > 0 && untilMs > (this.#asked?.untilMs ?? 0))
      this.#asked = { process, atMs: nowMs, untilMs };
  }
}
