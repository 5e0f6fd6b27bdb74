import type { SeededRandom } from './seeded-random.ts';

/** What the wall clock shows when a run begins. */
export const wallStartMs = Date.UTC(2026, 10, 1);

interface TimedEvent {
  readonly atMs: number;
  readonly tie: number;
  readonly fire: () => void;
  cancelled: boolean;
}

function comesBefore(a: TimedEvent, b: TimedEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.tie < b.tie);
}

/**
 * Resolves when nothing is left to run at this time: all microtasks, and the ticks in which a
 * stream passes data on.
 */
function quiescence(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/**
 * The time of the simulation. Events at the same time happen in an order that the seed chooses, so
 * no code can rely on an order.
 */
export class VirtualTime {
  readonly #random: SeededRandom;
  readonly #heap: TimedEvent[] = [];
  #nowMs = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Calls `fire` in `delayMs`; the returned function cancels that. */
  after(delayMs: number, fire: () => void): () => void {
    const event: TimedEvent = {
      atMs: this.#nowMs + Math.max(0, delayMs),
      tie: this.#random.next(),
      fire,
      cancelled: false,
    };
    this.#push(event);
    return () => {
      event.cancelled = true;
    };
  }

  /**
   * Lets events happen until `done` returns true, which is asked between events, or until
   * `limitMs`. Returns whether it was done.
   */
  async run(done: () => boolean, limitMs: number): Promise<boolean> {
    for (;;) {
      await quiescence();
      if (done()) return true;
      const event = this.#next();
      if (event === undefined) return false;
      if (event.atMs > limitMs) {
        this.#push(event);
        this.#nowMs = Math.max(this.#nowMs, limitMs);
        return false;
      }
      this.#nowMs = event.atMs;
      event.fire();
    }
  }

  /** The next event that was not cancelled. */
  #next(): TimedEvent | undefined {
    let event = this.#pop();
    while (event?.cancelled === true) event = this.#pop();
    return event;
  }

  #push(event: TimedEvent): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !comesBefore(event, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): TimedEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const right = heap[child + 1];
      let below = heap[child];
      if (below === undefined) break;
      if (right !== undefined && comesBefore(right, below)) {
        child += 1;
        below = right;
      }
      if (!comesBefore(below, last)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
