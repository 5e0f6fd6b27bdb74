/**
 * The lane that an entry queues in. A source cannot contain the separator; a cancel names no balance. An entry that may
 * be charged to another balance does not wait for its first one, so it has a lane of its own.
 */
export function laneOf(source: string, currency: string | null, fallback?: string): string {
  const balances = fallback === undefined || fallback === currency ? (currency ?? '-') : `${currency}/${fallback}`;
  return `${source}|${balances}`;
}

export function sourceOfLane(lane: string): string {
  return lane.slice(0, lane.indexOf('|'));
}

function balancesOfLane(lane: string): string {
  return lane.slice(lane.indexOf('|') + 1);
}

/** New entries and entries that are tried again queue apart, so that neither starves the other. */
export interface Queue {
  readonly state: 'pending' | 'waiting';
  readonly lane: string;
}

const nameOf = (queue: Queue): string => `${queue.state} ${queue.lane}`;

/**
 * Whose turn it is: the shops take turns, and within a shop its queues do. A backlog of thousands delays the single order
 * of another shop by one call. Kept in memory: the turns begin anew after a restart, which harms nobody.
 */
export class Turns {
  #count = 0;
  readonly #servedAt = new Map<string, number>();

  #last(name: string): number {
    return this.#servedAt.get(name) ?? 0;
  }

  /** The queues in the order in which they are tried, without those of a paused balance. */
  order(queues: readonly Queue[], pausedCurrencies: readonly string[]): readonly Queue[] {
    return queues
      .filter(({ lane }) => !pausedCurrencies.includes(balancesOfLane(lane)))
      .toSorted(
        (a, b) =>
          this.#last(sourceOfLane(a.lane)) - this.#last(sourceOfLane(b.lane)) ||
          this.#last(nameOf(a)) - this.#last(nameOf(b)),
      );
  }

  served(queue: Queue): void {
    this.#count += 1;
    this.#servedAt.set(sourceOfLane(queue.lane), this.#count);
    this.#servedAt.set(nameOf(queue), this.#count);
  }
}
