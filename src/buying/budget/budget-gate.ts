import {
  BudgetWindow,
  isThrottled,
  type Throttle,
  throttleAfterSurprise,
  throttledDistanceMs,
} from './budget-window.ts';
import type { Clock } from '../../core/clock.ts';
import { assert } from '../../core/order-sync-error.ts';
import type { KeyBackOff } from '../../store/wholesale-keys.ts';
import type { BudgetSlot } from './budget-sql.ts';
import type { BudgetLimits } from '../decision/settings.ts';

/**
 * `spend` is a call that buys, tops up or cancels (Spec 8: they count together); `read` is every
 * other one.
 */
export type CallKind = 'spend' | 'read';

interface LimitUsage {
  readonly used: number;
  readonly capacity: number;
  /** In how many ms a slot is free; Infinity when that depends on calls in flight. */
  readonly freeInMs: number;
}

export interface KeyUsage {
  readonly keyName: string;
  readonly isPaused: boolean;
  readonly orders: LimitUsage;
  readonly requests: LimitUsage;
  /** For how long the key backs off; 0: it does not. */
  readonly backOffMs: number;
  /** How many calls of the kind that buys the key may make in a minute now. */
  readonly spendsPerMinute: number;
  /**
   * For how long the key is throttled, and the distance that its orders keep meanwhile; null: it is
   * not.
   */
  readonly throttle: { readonly forMs: number; readonly distanceMs: number } | null;
}

/** The longest back-off that a server may ask for; see `retryAfterMs`. */
const longestBlockMs = 3_600_000;

interface KeyBudget {
  readonly name: string;
  /** Removed from the configuration: nothing new is sent with it, but its slots are remembered. */
  retired: boolean;
  readonly requests: BudgetWindow;
  readonly orders: BudgetWindow;
  /** The end of the back-off that the server asked for. */
  blockedUntilMs: number;
  throttle: Throttle | null;
  /** The first of the 429s of the present throttle. */
  surprisedSinceMs: number;
  /** When the last call was started: throttled calls keep their distance from it. */
  lastSpendAtMs: number;
  lastCallAtMs: number;
}

/**
 * Decides when a call may be made, and with which key. A slot of each limit (Spec 8) is taken
 * before the send and is free again one window after the answer. All times are monotonic; the store
 * keeps the slots across restarts.
 */
export class BudgetGate {
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #limits: BudgetLimits;
  /** Keys that may be used, and those that were removed while slots of theirs are held. */
  #keys: readonly KeyBudget[];
  #isPaused: (keyName: string, kind: CallKind) => boolean = () => false;
  readonly #rateLimited = new Map<string, number>();

  constructor(keyNames: readonly string[], limits: BudgetLimits, clock: Pick<Clock, 'steadyMs'>) {
    assert(keyNames.length > 0, 'a budget belongs to at least one key');
    this.#clock = clock;
    this.#limits = limits;
    this.#keys = keyNames.map((name) => this.#newKey(name, false));
  }

  #newKey(name: string, retired: boolean): KeyBudget {
    const { requests, orders, windowMs } = this.#limits;
    return {
      name,
      retired,
      requests: new BudgetWindow(requests, windowMs),
      orders: new BudgetWindow(orders, windowMs),
      blockedUntilMs: Number.NEGATIVE_INFINITY,
      throttle: null,
      surprisedSinceMs: Number.NEGATIVE_INFINITY,
      lastSpendAtMs: Number.NEGATIVE_INFINITY,
      lastCallAtMs: Number.NEGATIVE_INFINITY,
    };
  }

  /**
   * Uses the keys of a changed configuration. A name keeps its slots, even with another value: that
   * never allows more calls than before. A removed key is remembered until its last slot is free,
   * in case it comes back.
   * @param replaced names with another value: a back-off of the old value does not apply to the new
   * one
   */
  reload(
    keyNames: readonly string[],
    limits: { requests: number; orders: number },
    replaced: readonly string[],
  ): void {
    assert(keyNames.length > 0, 'a budget belongs to at least one key');
    const now = this.#clock.steadyMs();
    this.#limits = { ...this.#limits, requests: limits.requests, orders: limits.orders };
    for (const key of this.#keys) {
      key.retired = !keyNames.includes(key.name);
      key.requests.resize(limits.requests);
      key.orders.resize(limits.orders);
      if (!replaced.includes(key.name)) continue;
      key.blockedUntilMs = Number.NEGATIVE_INFINITY;
      key.throttle = null;
    }
    const kept = this.#keys.filter(
      (key) => !key.retired || key.requests.used(now) > 0 || key.blockedUntilMs > now,
    );
    const added = keyNames.filter((name) => !kept.some((key) => key.name === name));
    this.#keys = [...kept, ...added.map((name) => this.#newKey(name, false))];
  }

  /** A paused key is not used, as if it had no slots. */
  excludeKeys(isPaused: (keyName: string, kind: CallKind) => boolean): void {
    this.#isPaused = isPaused;
  }

  /**
   * When calls that an earlier process left open count as settled: they may still be on their way.
   */
  restartSettlesAtMs(): number {
    return this.#clock.steadyMs() + this.#limits.transitMs;
  }

  /** Holds the slots that earlier processes used. */
  restore(slots: readonly BudgetSlot[]): void {
    const now = this.#clock.steadyMs();
    for (const slot of slots) {
      const key = this.#findOrRetire(slot.keyName);
      // A time ahead of the clock would hold the slot longer than any real call can.
      const settledMs = Math.min(slot.settledMs, now + this.#limits.transitMs);
      if (settledMs + this.#limits.windowMs > now)
        key[slot.limitName].restore(settledMs + this.#limits.windowMs);
      // Throttled calls keep their distance also from the last call of an earlier process.
      const calledMs = Math.min(settledMs, now);
      if (slot.limitName === 'requests') key.lastCallAtMs = Math.max(key.lastCallAtMs, calledMs);
      else key.lastSpendAtMs = Math.max(key.lastSpendAtMs, calledMs);
    }
  }

  /** Continues the back-offs and throttles of before a restart. */
  restoreBackOffs(backOffs: readonly KeyBackOff[]): void {
    const now = this.#clock.steadyMs();
    for (const { keyName, blockedUntilMs, throttledUntilMs, throttleLengthMs } of backOffs) {
      const key = this.#findOrRetire(keyName);
      key.blockedUntilMs = Math.min(blockedUntilMs, now + longestBlockMs);
      key.throttle = {
        untilMs: Math.min(throttledUntilMs, Math.max(now, key.blockedUntilMs) + throttleLengthMs),
        lengthMs: throttleLengthMs,
      };
      key.surprisedSinceMs = key.throttle.untilMs - throttleLengthMs;
    }
  }

  /** A key that is not configured now may come back within the window: its slots wait for it. */
  #findOrRetire(name: string): KeyBudget {
    const found = this.#keys.find((it) => it.name === name);
    if (found !== undefined) return found;
    const retired = this.#newKey(name, true);
    this.#keys = [...this.#keys, retired];
    return retired;
  }

  get keyNames(): readonly string[] {
    return this.#keys.filter((key) => !key.retired).map((key) => key.name);
  }

  /** The key to call with now, its slots taken; null when no key has any free. */
  tryTake(kind: CallKind, except: readonly string[] = []): string | null {
    const now = this.#clock.steadyMs();
    const key = this.#usable(now, kind).find(({ name }) => !except.includes(name));
    if (key === undefined) return null;
    key.requests.take(now);
    key.lastCallAtMs = now;
    if (kind === 'spend') {
      key.orders.take(now);
      key.lastSpendAtMs = now;
    }
    return key.name;
  }

  /** Takes a slot to probe a paused key; null when it has none free. Returns its name. */
  takeForProbe(keyName: string): string | null {
    const now = this.#clock.steadyMs();
    const key = this.#keys.find((it) => it.name === keyName);
    if (
      key === undefined ||
      key.retired ||
      key.blockedUntilMs > now ||
      this.#freeFor(key, 'read', now) <= 0
    )
      return null;
    key.requests.take(now);
    return key.name;
  }

  #usable(now: number, kind: CallKind): readonly KeyBudget[] {
    return this.#keys
      .filter(
        (key) =>
          !key.retired &&
          !this.#isPaused(key.name, kind) &&
          this.#notBeforeMs(key, kind, now) <= now &&
          this.#freeFor(key, kind, now) > 0,
      )
      .toSorted((a, b) => this.#freeFor(b, kind, now) - this.#freeFor(a, kind, now));
  }

  /** When back-off and throttle allow the next call. */
  #notBeforeMs(key: KeyBudget, kind: CallKind, now: number): number {
    if (!isThrottled(key.throttle, now)) return key.blockedUntilMs;
    const { windowMs, requests, orders } = this.#limits;
    const call = key.lastCallAtMs + throttledDistanceMs(requests, windowMs);
    const spend =
      kind === 'spend' ? key.lastSpendAtMs + throttledDistanceMs(orders, windowMs) : call;
    return Math.max(key.blockedUntilMs, call, spend);
  }

  /**
   * Slots that a call of this kind may take. A read leaves each free order slot its request slot,
   * so it never delays an order.
   */
  #freeFor(key: KeyBudget, kind: CallKind, now: number): number {
    const requests = key.requests.free(now);
    const orders = key.orders.free(now);
    return kind === 'spend'
      ? Math.min(requests, orders)
      : requests - Math.min(orders, Math.max(0, key.requests.capacity - 1));
  }

  /** When a call of this kind may be made; Infinity when that depends on calls in flight. */
  readyAtMs(kind: CallKind): number {
    const now = this.#clock.steadyMs();
    const times = this.#keys
      .filter((key) => !key.retired && !this.#isPaused(key.name, kind))
      .map((key) => {
        const free =
          kind === 'spend'
            ? Math.max(key.requests.freeAtMs(now), key.orders.freeAtMs(now))
            : this.#readFreeAt(key, now);
        return Math.max(free, this.#notBeforeMs(key, kind, now));
      });
    return Math.min(Number.POSITIVE_INFINITY, ...times);
  }

  #readFreeAt(key: KeyBudget, now: number): number {
    return this.#freeFor(key, 'read', now) > 0
      ? now
      : key.requests.freeAtMs(now, Math.min(key.requests.capacity, key.orders.free(now) + 1));
  }

  /** The call is over: its slots are free again one window after `settledMs`. */
  settle(keyName: string, kind: CallKind, settledMs: number): void {
    const key = this.#find(keyName);
    key.requests.settle(settledMs);
    if (kind === 'spend') key.orders.settle(settledMs);
  }

  /** The call was not made, or surely never left. */
  giveBack(keyName: string, kind: CallKind): void {
    const key = this.#find(keyName);
    key.requests.giveBack();
    if (kind === 'spend') key.orders.giveBack();
  }

  /**
   * The server answered 429 although the budget allowed the call: the key backs off until `untilMs`
   * and is throttled for a while. Returns what a restart must remember.
   */
  rateLimited(keyName: string, untilMs: number): KeyBackOff {
    const key = this.#find(keyName);
    this.#rateLimited.set(keyName, (this.#rateLimited.get(keyName) ?? 0) + 1);
    key.blockedUntilMs = Math.max(key.blockedUntilMs, untilMs);
    const now = this.#clock.steadyMs();
    const { windowMs } = this.#limits;
    if (!isThrottled(key.throttle, now)) key.surprisedSinceMs = now;
    const surprisedForMs = now - key.surprisedSinceMs;
    const throttle = throttleAfterSurprise(
      key.throttle,
      Math.max(now, key.blockedUntilMs),
      now,
      windowMs,
    );
    key.throttle = throttle;
    return {
      keyName,
      blockedUntilMs: key.blockedUntilMs,
      throttledUntilMs: throttle.untilMs,
      throttleLengthMs: throttle.lengthMs,
      // A burst that the server counts in another way is over after a window, and the throttle
      // keeps from the next.
      surprise: { forMs: surprisedForMs, isUnexplained: surprisedForMs >= windowMs },
    };
  }

  /** How many calls with a key were answered with 429 since the start of the worker. */
  rateLimitedTotal(keyName: string): number {
    return this.#rateLimited.get(keyName) ?? 0;
  }

  /** How much of each limit is used, and what holds each key back. */
  usage(): readonly KeyUsage[] {
    const now = this.#clock.steadyMs();
    const { windowMs, requests, orders } = this.#limits;
    const distanceMs = throttledDistanceMs(Math.min(requests, orders), windowMs);
    const limitUsage = (window: BudgetWindow): LimitUsage => ({
      used: window.used(now),
      capacity: window.capacity,
      freeInMs: window.freeAtMs(now) - now,
    });
    return this.#keys
      .filter((key) => !key.retired)
      .map((key) => ({
        keyName: key.name,
        isPaused: this.#isPaused(key.name, 'spend'),
        orders: limitUsage(key.orders),
        requests: limitUsage(key.requests),
        backOffMs: Math.max(0, key.blockedUntilMs - now),
        spendsPerMinute:
          60_000 /
          (isThrottled(key.throttle, now) ? distanceMs : windowMs / Math.min(requests, orders)),
        throttle: isThrottled(key.throttle, now)
          ? { forMs: key.throttle.untilMs - now, distanceMs }
          : null,
      }));
  }

  /** In how many ms the next call may start, about: Infinity while no key may be used. */
  nextInMs(kind: CallKind): number {
    const inMs = this.readyAtMs(kind) - this.#clock.steadyMs();
    if (Number.isFinite(inMs)) return inMs;
    // That depends on calls in flight: their slots are free one window after the answer.
    return this.#keys.some((key) => !key.retired && !this.#isPaused(key.name, kind))
      ? this.#limits.windowMs
      : inMs;
  }

  #find(keyName: string): KeyBudget {
    const key = this.#keys.find((it) => it.name === keyName);
    assert(key !== undefined, `the key ${keyName} has a budget`);
    return key;
  }
}
