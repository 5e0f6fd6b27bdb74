/**
 * Counts what arrives, as the server of the specification does: at most `limit` in any `windowMs`
 * (Spec 8).
 */
export class SlidingWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #admittedAtMs: number[] = [];

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /**
   * Whether one more is allowed now. It is not counted before `count`: an order needs a place in
   * two windows.
   */
  hasPlace(nowMs: number): boolean {
    while ((this.#admittedAtMs[0] ?? Number.POSITIVE_INFINITY) <= nowMs - this.#windowMs)
      this.#admittedAtMs.shift();
    return this.#admittedAtMs.length < this.#limit;
  }

  count(nowMs: number): void {
    this.#admittedAtMs.push(nowMs);
  }
}
