/** One limit of one key, as far as the outbox remembers it. Times are ms from now on. */
export interface LimitFacts {
  readonly capacity: number;
  readonly windowMs: number;
  /** When each slot that is held comes back; for a call that is open, at the earliest. */
  readonly freeInMs: readonly number[];
}

/** One key: each limit of it is the server's for this key alone. */
export interface KeyFacts {
  /** All limits that a call must have a slot of. */
  readonly limits: readonly LimitFacts[];
  /** How long it is left alone because the server asked for it; 0: it is not. */
  readonly blockedForMs: number;
  /** How long its calls are spread out, and the distance that they keep then; null: they are not. */
  readonly pacing: { readonly forMs: number; readonly distanceMs: number } | null;
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
 * @param notBeforeMs no call starts before this, so that slots which come back earlier are all free by then
 */
export function callStartsInMs(limit: LimitFacts, n: number, notBeforeMs = 0): number {
  const { capacity, windowMs } = limit;
  // More slots than the capacity may be held after a limit was lowered: a call starts when enough of them are back.
  const held = limit.freeInMs.map((ms) => Math.max(0, ms)).toSorted((a, b) => a - b);
  const surplus = Math.max(0, held.length - capacity);
  const round = Math.floor(n / capacity);
  const place = n % capacity;
  const free = Math.max(0, capacity - held.length);
  const first = place < free ? 0 : (held[surplus + place - free] ?? 0);
  return Math.max(notBeforeMs, first) + round * windowMs;
}

/** When the n-th call of one key may start, at the earliest; a later call never starts before an earlier one. */
function keyStartsInMs(key: KeyFacts, n: number): number {
  const { blockedForMs, pacing } = key;
  const slots = Math.max(0, ...key.limits.map((limit) => callStartsInMs(limit, n, blockedForMs)));
  if (pacing === null) return slots;
  // While they are spread out, each keeps its distance from the one before; then the slots alone decide.
  return Math.max(slots, Math.min(blockedForMs + n * pacing.distanceMs, Math.max(blockedForMs, pacing.forMs)));
}

/** How many calls of a key may have started by then, counted up to a number that nobody asks beyond. */
function startedBy(key: KeyFacts, inMs: number, most: number): number {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (keyStartsInMs(key, middle - 1) <= inMs) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * When the n-th call may start, taken from whichever key is free first; Infinity without a key. Found by halving, so
 * that neither a long backlog nor a long block costs anything.
 */
export function spendStartsInMs(keys: readonly KeyFacts[], n: number): number {
  if (keys.length === 0) return Number.POSITIVE_INFINITY;
  const started = (inMs: number): number => keys.reduce((total, key) => total + startedBy(key, inMs, n + 1), 0);
  let low = Math.min(...keys.map((key) => keyStartsInMs(key, 0)));
  if (started(low) > n) return low;
  // One key alone would have started it by then.
  let high = Math.min(...keys.map((key) => keyStartsInMs(key, n)));
  while (high - low > 0.5) {
    const middle = (low + high) / 2;
    if (started(middle) > n) high = middle;
    else low = middle;
  }
  // What is left is stepped through, from one start to the next, so that the answer is one of them.
  while (low < high && started(low) <= n) {
    const from = low;
    low = Math.min(...keys.map((key) => keyStartsInMs(key, startedBy(key, from, n + 1))));
  }
  return low;
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
  readonly keys: readonly KeyFacts[];
  readonly ahead: number;
  readonly dueInMs: number;
}): Forecast {
  return { ahead: facts.ahead, inMs: Math.max(0, facts.dueInMs, spendStartsInMs(facts.keys, facts.ahead)) };
}

/** When the last of so many calls starts; null when there are none. */
export function drainsInMs(keys: readonly KeyFacts[], calls: number): number | null {
  return calls === 0 ? null : spendStartsInMs(keys, calls - 1);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
