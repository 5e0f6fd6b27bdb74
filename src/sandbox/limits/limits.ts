import type { LimitSettings } from '../config.ts';
import type { Answer } from '../http/answers.ts';
import { movesMoney } from '../orders/operations.ts';
import { type LimitModel, limitModel } from './limit-models.ts';
import type { RequestLog } from './request-log.ts';

type LimitsOfKey = { requests: LimitModel; orders: LimitModel };

/**
 * The two limits of Spec 8, for each key: 60 requests, and 20 calls that move money, in a minute. A call that moves
 * money counts toward both limits or toward neither.
 */
export class Limits {
  #settings: LimitSettings;
  readonly #keys = new Map<number, LimitsOfKey>();

  constructor(settings: LimitSettings) {
    this.#settings = settings;
  }

  /** Counts the call and returns null, or returns the answer 429. */
  take(key: number, spending: boolean, now: number): Answer | null {
    if (!this.#settings.enabled) return null;
    const { requests, orders } = this.#of(key);
    const waitMs = Math.max(requests.waitMs(now), spending ? orders.waitMs(now) : 0);
    if (waitMs > 0) {
      requests.reject(now);
      if (spending) orders.reject(now);
      return tooManyRequests(this.#settings, waitMs, now);
    }
    requests.admit(now);
    if (spending) orders.admit(now);
    return null;
  }

  /** Starts over with these settings, and counts the calls in the log that can still matter. */
  restart(settings: LimitSettings, log: RequestLog, now: number): void {
    this.#settings = settings;
    this.#keys.clear();
    if (!settings.enabled) return;
    for (const call of log.since(now - 2 * settings.window_ms)) {
      if (call.key === null) continue;
      const { arrived_at: arrivedAt } = call;
      const { requests, orders } = this.#of(call.key);
      requests.waitMs(arrivedAt);
      orders.waitMs(arrivedAt);
      if (call.request_counted === 1) requests.admit(arrivedAt);
      if (call.order_counted === 1) orders.admit(arrivedAt);
      if (call.limited === 1) {
        requests.reject(arrivedAt);
        if (movesMoney(call.operation)) orders.reject(arrivedAt);
      }
    }
  }

  #of(key: number): LimitsOfKey {
    let limits = this.#keys.get(key);
    if (limits === undefined) {
      const { model, window_ms: windowMs, requests, orders } = this.#settings;
      limits = { requests: limitModel(model, windowMs, requests), orders: limitModel(model, windowMs, orders) };
      this.#keys.set(key, limits);
    }
    return limits;
  }
}

/** HTTP 429 as the settings describe it. Spec 7 fixes neither `Retry-After` nor a code. */
function tooManyRequests(settings: LimitSettings, waitMs: number, now: number): Answer {
  const headers: Record<string, string> = {};
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  if (settings.retry_after === 'seconds') headers['retry-after'] = String(seconds);
  if (settings.retry_after === 'date') headers['retry-after'] = new Date(now + seconds * 1000).toUTCString();
  if (settings.body === 'empty') return { status: 429, body: '', headers };
  if (settings.body === 'text') {
    return { status: 429, body: 'Too Many Requests\n', headers: { ...headers, 'content-type': 'text/plain' } };
  }
  const { code, requests, orders, window_ms: windowMs } = settings;
  const message = `Rate limit reached: at most ${requests} requests and ${orders} orders per ${windowMs / 1000} s and key. Wait a few seconds, then retry.`;
  return { status: 429, code, body: { error: { code, message } }, headers };
}
