import { type Answer, refusal } from '../http/answers.ts';
import type { LimitSettings } from '../config.ts';
import { type LimitModel, limitModel } from './limit-models.ts';

/** A call as the request log remembers it, for filling the limiter again after a restart. */
export type CountedCall = {
  key: number;
  arrived_at: number;
  request_counted: number;
  order_counted: number;
  limited: number;
  spending: boolean;
};

type PerKey = { requests: LimitModel; orders: LimitModel };

/**
 * Both limits of Spec 8, per key: 60 requests and 20 calls that move money, a minute. A spending call takes a place
 * in both or in neither.
 */
export class Limits {
  #settings: LimitSettings;
  readonly #keys = new Map<number, PerKey>();

  constructor(settings: LimitSettings) {
    this.#settings = settings;
  }

  get settings(): LimitSettings {
    return this.#settings;
  }

  /** Other settings, and nothing counted yet; the caller replays the log. */
  restart(settings: LimitSettings): void {
    this.#settings = settings;
    this.#keys.clear();
  }

  /** Counts the call, or says how long to wait: null when it was let in. */
  take(key: number, spending: boolean, now: number): Answer | null {
    if (!this.#settings.enabled) return null;
    const { requests, orders } = this.#of(key);
    const waitMs = Math.max(requests.waitMs(now), spending ? orders.waitMs(now) : 0);
    if (waitMs > 0) {
      requests.reject(now);
      if (spending) orders.reject(now);
      return tooMany(this.#settings, waitMs, now);
    }
    requests.admit(now);
    if (spending) orders.admit(now);
    return null;
  }

  /** Takes a call of before the restart into account, in the order of arrival. */
  replay(call: CountedCall): void {
    if (!this.#settings.enabled) return;
    const { requests, orders } = this.#of(call.key);
    requests.waitMs(call.arrived_at);
    orders.waitMs(call.arrived_at);
    if (call.request_counted === 1) requests.admit(call.arrived_at);
    if (call.order_counted === 1) orders.admit(call.arrived_at);
    if (call.limited === 1) {
      requests.reject(call.arrived_at);
      if (call.spending) orders.reject(call.arrived_at);
    }
  }

  #of(key: number): PerKey {
    let models = this.#keys.get(key);
    if (models === undefined) {
      const { model, window_ms: windowMs, requests, orders } = this.#settings;
      models = { requests: limitModel(model, windowMs, requests), orders: limitModel(model, windowMs, orders) };
      this.#keys.set(key, models);
    }
    return models;
  }
}

/** HTTP 429 as this server says it: with or without Retry-After, with or without the JSON body (Spec 7 gives no code). */
export function tooMany(settings: LimitSettings, waitMs: number, now: number): Answer {
  const headers: Record<string, string> = {};
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  if (settings.retry_after === 'seconds') headers['retry-after'] = String(seconds);
  if (settings.retry_after === 'date') headers['retry-after'] = new Date(now + seconds * 1000).toUTCString();
  const message = `Rate limit reached: at most ${settings.requests} requests and ${settings.orders} orders per ${settings.window_ms / 1000} s and key. Wait a few seconds, then retry.`;
  if (settings.body === 'empty') return { status: 429, body: '', headers };
  if (settings.body === 'text') {
    return { status: 429, body: 'Too Many Requests\n', headers: { ...headers, 'content-type': 'text/plain' } };
  }
  if (settings.code !== 'rate_limited') {
    return { status: 429, body: { error: { code: settings.code, message } }, headers };
  }
  return { ...refusal(429, 'rate_limited', message), headers };
}
