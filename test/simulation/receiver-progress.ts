/**
 * The calls to one receiver about each order: the oracle judges by them whether a result came in
 * time.
 */
export class ReceiverProgress {
  readonly #failures = new Map<string, number>();
  readonly #lastMs = new Map<string, number>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  answered(orderId: string, isSuccess: boolean): void {
    if (isSuccess) this.#lastMs.set(orderId, this.#nowMs());
    else this.#failures.set(orderId, (this.#failures.get(orderId) ?? 0) + 1);
  }

  /** How often a call about it failed. */
  failuresOf(orderId: string): number {
    return this.#failures.get(orderId) ?? 0;
  }

  /** When the last call about it succeeded; null: none did. */
  lastSuccessMs(orderId: string): number | null {
    return this.#lastMs.get(orderId) ?? null;
  }
}
