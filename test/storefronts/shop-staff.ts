/** The order as the shop shows it at one time. */
export interface Version {
  readonly second: number;
  readonly status: string;
  /** The order was deleted then: the shop tells nothing more of it. */
  readonly isDeleted: boolean;
  /** How many of each line the customer keeps. */
  readonly left: ReadonlyMap<string, number>;
  readonly refunded: ReadonlyMap<string, number>;
}

/** The shop: what its staff make of an order. */
export class Staff {
  readonly versions: Version[] = [];
  #lines = new Map([['11', 1]]);
  readonly #refunded = new Map<string, number>();
  #lastLine = 11;
  #second = 10;
  #status = 'processing';

  constructor() {
    this.#note(false);
  }

  /** The time in the shop: no change is later. */
  get second(): number {
    return Math.max(...this.versions.map(({ second }) => second));
  }

  /** The next change is in the same second as the last one. */
  sameSecond(): void {
    this.#second -= 1;
  }

  setStatus(status: string): void {
    this.#status = status;
    this.#changed();
  }

  /** Each later change restores the order first. */
  delete(): void {
    this.#second += 1;
    this.#note(true);
  }

  refund(nth: number): void {
    const id = this.#kept(nth);
    if (id === undefined) return;
    this.#lines.set(id, 0);
    this.#refunded.set(id, 1);
    this.#changed();
  }

  /** The line is removed and added again: it has another id then. */
  readd(nth: number): void {
    const id = this.#kept(nth);
    if (id === undefined) return;
    this.#lines.delete(id);
    this.add();
  }

  add(): void {
    this.#lastLine += 1;
    this.#lines.set(String(this.#lastLine), 1);
    this.#changed();
  }

  #kept(nth: number): string | undefined {
    const ids = [...this.#lines].filter(([, left]) => left > 0).map(([id]) => id);
    return ids[nth % Math.max(1, ids.length)];
  }

  #changed(): void {
    this.#second += 1;
    this.#note(false);
  }

  #note(isDeleted: boolean): void {
    const [left, refunded] = [new Map(this.#lines), new Map(this.#refunded)];
    this.versions.push({ second: this.#second, status: this.#status, isDeleted, left, refunded });
  }
}
