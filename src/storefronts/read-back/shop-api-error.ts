/**
 * Why a call to a shop brought nothing. `unauthorized`: the keys; `refused`: any other 4xx; `rate_limited`: too fast;
 * `unavailable`: the shop is ill (5xx); `unreachable`: no answer; `unreadable`: an answer, but not the API's;
 * `changed`: the list moved while it was read; `clock`: that of this machine is so wrong that nothing may be bought by it;
 * `stopped`: the worker stops.
 */
export type ShopApiErrorKind =
  | 'unauthorized'
  | 'refused'
  | 'rate_limited'
  | 'unavailable'
  | 'unreachable'
  | 'unreadable'
  | 'changed'
  | 'clock'
  | 'stopped';

/** Names the call and what came back; never a key. */
export class ShopApiError extends Error {
  readonly kind: ShopApiErrorKind;
  /** How long the shop asks to be left alone, in ms; null when it does not say. */
  readonly retryAfterMs: number | null;

  constructor(
    kind: ShopApiErrorKind,
    message: string,
    options: { retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ShopApiError';
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
