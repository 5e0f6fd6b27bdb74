/**
 * The name of the lane an entry queues in. A source cannot contain the separator; a cancel names no balance. An entry
 * that may be charged to another balance does not stand still with its first one, so it has a lane of its own.
 */
export function laneOf(source: string, currency: string | null, fallback?: string): string {
  const balances = fallback === undefined || fallback === currency ? (currency ?? '-') : `${currency}/${fallback}`;
  return `${source}|${balances}`;
}

function sourceOf(lane: string): string {
  return lane.slice(0, lane.indexOf('|'));
}

function currencyOf(lane: string): string {
  return lane.slice(lane.indexOf('|') + 1);
}

/** New entries and entries that are tried again queue apart, so that neither starves the other. */
export interface Queue {
  readonly state: 'pending' | 'waiting';
  readonly lane: string;
}

/**
 * Whose turn it is: shops in turn, and within a shop its queues in turn. A backlog of thousands delays the single order
 * of another shop by one call. Kept in memory: after a restart the turns begin anew, which harms nobody.
 */
export class Turns {
  #count = 0;
  readonly #servedAt = new Map<string, number>();

  #last(name: string): number {
    return this.#servedAt.get(name) ?? 0;
  }

  /** The queues in the order in which they are looked at, without those whose balance stands still. */
  order(queues: readonly Queue[], pausedCurrencies: readonly string[]): readonly Queue[] {
    return queues
      .filter((queue) => !pausedCurrencies.includes(currencyOf(queue.lane)))
      .toSorted(
        (a, b) =>
          this.#last(sourceOf(a.lane)) - this.#last(sourceOf(b.lane)) ||
          this.#last(`${a.state} ${a.lane}`) - this.#last(`${b.state} ${b.lane}`),
      );
  }

  served(queue: Queue): void {
    this.#count += 1;
    this.#servedAt.set(sourceOf(queue.lane), this.#count);
    this.#servedAt.set(`${queue.state} ${queue.lane}`, this.#count);
  }
}
