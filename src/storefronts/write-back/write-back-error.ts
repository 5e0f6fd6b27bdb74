import type { DeliveryFailure } from '../../core/result/delivery-error.ts';

/**
 * Why an order of a shop does not show its result. `waits`: the shop's state does not allow it now. `final`: trying again
 * changes nothing, and a person has to look. The message says what to do.
 */
export class WriteBackError extends Error implements DeliveryFailure {
  /** The order decides, not the shop. */
  readonly refusesResult = true;
  readonly reason: string;
  readonly kind: 'waits' | 'final';
  /** Not tried again before that, in ms. */
  readonly retryAfterMs: number;

  constructor(kind: 'waits' | 'final', message: string, retryAfterMs = 0) {
    super(message);
    this.name = 'WriteBackError';
    this.kind = kind;
    this.reason = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
