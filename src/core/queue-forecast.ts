/** One limit of all keys together, as far as the outbox remembers it. Times are ms from now on. */
export interface LimitFacts {
  readonly capacity: number;
  readonly windowMs: number;
  /** When each slot that is held comes back; for a call that is open, at the earliest. */
  readonly freeInMs: readonly number[];
}

/** A lane: what waits in it is served in turn with the others. */
export interface LaneFacts {
  readonly source: string;
  readonly name: string;
  /** Entries in it that may be sent now. */
  readonly due: number;
}

export interface Forecast {
  /** How many calls come before it, at most. */
  readonly ahead: number;
  /** In how many ms its call starts, if all calls are answered at once; a little later in truth. */
  readonly inMs: number;
}

/**
 * When the n-th call from now may start (from 0), if nothing else uses the limit: the slots that are free, then those
 * that come back, then the same again one window later. No loop, so a backlog of a million costs nothing.
 */
export function callStartsInMs(limit: LimitFacts, n: number): number {
  const { capacity, windowMs } = limit;
  // More slots than the capacity may be held after a limit was lowered: a call starts when enough of them are back.
  const held = limit.freeInMs.map((ms) => Math.max(0, ms)).toSorted((a, b) => a - b);
  const surplus = Math.max(0, held.length - capacity);
  const round = Math.floor(n / capacity);
  const place = n % capacity;
  const free = Math.max(0, capacity - held.length);
  const first = place < free ? 0 : (held[surplus + place - free] ?? 0);
  return first + round * windowMs;
}

/** When the n-th call may start that needs a slot of every limit at once. */
export function spendStartsInMs(limits: readonly LimitFacts[], n: number): number {
  return Math.max(0, ...limits.map((limit) => callStartsInMs(limit, n)));
}

/**
 * How many calls come before an entry at most: shops take turns, and within a shop its lanes do. Whose turn is next is
 * known to the worker alone, so every other shop and lane counts as being before it in its round.
 */
export function callsAhead(
  lanes: readonly LaneFacts[],
  own: { readonly source: string; readonly name: string; readonly before: number },
): number {
  const round = own.before + 1;
  const ofShop = lanes.filter((lane) => lane.source === own.source && lane.name !== own.name);
  const turns = own.before + sum(ofShop.map((lane) => Math.min(lane.due, round)));
  const others = new Map<string, number>();
  for (const lane of lanes) {
    if (lane.source !== own.source) others.set(lane.source, (others.get(lane.source) ?? 0) + lane.due);
  }
  return turns + sum([...others.values()].map((due) => Math.min(due, turns + 1)));
}

/** When an entry is sent: after those before it, not before its time, and when the budget has a slot for it. */
export function forecast(facts: {
  readonly limits: readonly LimitFacts[];
  readonly ahead: number;
  readonly dueInMs: number;
}): Forecast {
  return { ahead: facts.ahead, inMs: Math.max(0, facts.dueInMs, spendStartsInMs(facts.limits, facts.ahead)) };
}

/** When the last of so many calls starts; null when there are none. */
export function drainsInMs(limits: readonly LimitFacts[], calls: number): number | null {
  return calls === 0 ? null : spendStartsInMs(limits, calls - 1);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
