import type { Config } from '../config/config.ts';
import { isoTime } from '../core/clock.ts';
import { throttledDistanceMs } from '../core/budget/throttle.ts';
import { spendStartsInMs, type KeyFacts, type LimitFacts } from '../core/budget/queue-forecast.ts';
import type { HeldSlot, QueueFacts } from '../store/read/queue-facts.ts';
import type { Pause } from '../store/submission/submission.ts';

/** Everything that an explanation is made from, at one moment. */
export interface Situation {
  readonly nowMs: number;
  readonly nowMono: number;
  readonly bootId: string | null;
  readonly config: Config;
  readonly facts: QueueFacts;
  readonly pauses: readonly Pause[];
  /** Whether a worker of this configuration answers. */
  readonly workerAnswers: boolean;
}

/** One key, as far as it decides when something is sent. */
export interface KeyView {
  readonly name: string;
  /** `backing_off`: the server asked for it. `throttled`: after a 429 that the budget could not explain. */
  readonly state: 'ready' | 'paused' | 'backing_off' | 'throttled';
  /** When this state began, and when it ends by itself; null where nobody can tell. */
  readonly since: string | null;
  readonly until: string | null;
  readonly orders: number;
  readonly requests: number;
  /** In words; null for `ready`. */
  readonly why: string | null;
  readonly facts: KeyFacts;
}

/** What is used of one limit by all keys that may be used, and when the next slot comes; null: not by itself. */
export interface LimitUse {
  readonly limit: 'orders' | 'requests';
  readonly used: number;
  readonly capacity: number;
  readonly nextFreeAt: string | null;
}

function limitOf(situation: Situation, keyName: string, limit: 'orders' | 'requests'): LimitFacts {
  const { windowMs, transitMs, ...limits } = situation.config.wholesale.limits;
  const freeIn = (slot: HeldSlot): number => {
    // A call that is open, or was made before the machine was restarted, holds its slot for a window from now.
    if (slot.settledMono === null || slot.bootId !== situation.bootId || slot.bootId === null) return windowMs;
    return Math.min(slot.settledMono + windowMs - situation.nowMono, windowMs + transitMs);
  };
  const held = situation.facts.slots.filter((slot) => slot.limitName === limit && slot.keyName === keyName).map(freeIn);
  return { capacity: limits[limit], windowMs, freeInMs: held.filter((ms) => ms > 0) };
}

/** What the server asked of a key, as ms from now on; in another run of the machine it lasts as long again. */
function restOf(
  situation: Situation,
  keyName: string,
): { blockedForMs: number; throttledForMs: number; sinceMs: number } {
  const rest = situation.facts.rests.find((it) => it.keyName === keyName);
  if (rest === undefined) return { blockedForMs: 0, throttledForMs: 0, sinceMs: 0 };
  const isSameRun = rest.bootId !== null && rest.bootId === situation.bootId;
  const from = isSameRun ? situation.nowMono : rest.stampedMono;
  return {
    blockedForMs: Math.max(0, rest.blockedUntilMono - from),
    throttledForMs: Math.max(0, rest.throttledUntilMono - from),
    sinceMs: rest.rateLimitedAtMs,
  };
}

export function keyViews(situation: Situation): readonly KeyView[] {
  return situation.config.wholesale.keys.map(({ name }) => keyView(situation, name));
}

function keyView(situation: Situation, name: string): KeyView {
  const limits = [limitOf(situation, name, 'orders'), limitOf(situation, name, 'requests')] as const;
  const { blockedForMs, throttledForMs, sinceMs } = restOf(situation, name);
  const [orders, requests] = limits;
  const distanceMs = Math.max(...limits.map(({ capacity, windowMs }) => throttledDistanceMs(capacity, windowMs)));
  const view = {
    name,
    orders: orders.freeInMs.length,
    requests: requests.freeInMs.length,
    facts: { limits, blockedForMs, pacing: throttledForMs > 0 ? { forMs: throttledForMs, distanceMs } : null },
  };
  const at = (inMs: number): string => isoTime(situation.nowMs + Math.ceil(inMs));
  const pause = situation.pauses.find((it) => it.scope === `key:${name}`);
  if (pause !== undefined) {
    return { ...view, state: 'paused', since: isoTime(pause.sinceMs), until: null, why: stoppedBy(pause) };
  }
  const since = isoTime(sinceMs);
  if (blockedForMs > 0) {
    const until = at(blockedForMs);
    const why = `the key ${name} is left alone until ${until}: the API turned a call away with 429 at ${since}`;
    return { ...view, state: 'backing_off', since, until, why };
  }
  if (throttledForMs > 0) {
    const until = at(throttledForMs);
    const seconds = (distanceMs / 1000).toFixed(1);
    const why = `the key ${name} sends one call in ${seconds} s until ${until}, because of a 429 at ${since}`;
    return { ...view, state: 'throttled', since, until, why };
  }
  return { ...view, state: 'ready', since: null, until: null, why: null };
}

/** Who stopped a scope, when and why, and when the worker looks at it again. */
export function stoppedBy(pause: Pause): string {
  const since = `${pause.scope} stands still since ${isoTime(pause.sinceMs)}, by ${pause.openedBy}`;
  const again = pause.probeAtMs === null ? '' : `; looked at again at ${isoTime(pause.probeAtMs)}`;
  return `${since}: ${pause.reason}: ${pause.message}${again}`;
}

export const usableKeys = (situation: Situation): readonly KeyView[] =>
  keyViews(situation).filter((key) => key.state !== 'paused');

export function limitUses(situation: Situation): readonly LimitUse[] {
  const keys = usableKeys(situation);
  return (['orders', 'requests'] as const).map((limit, place) => {
    const own = keys.map(({ facts }) => ({ ...facts, limits: facts.limits.slice(place, place + 1) }));
    const nextMs = spendStartsInMs(own, 0);
    return {
      limit,
      used: keys.reduce((sum, key) => sum + key[limit], 0),
      capacity: keys.length * situation.config.wholesale.limits[limit],
      nextFreeAt: Number.isFinite(nextMs) ? isoTime(situation.nowMs + Math.ceil(nextMs)) : null,
    };
  });
}
