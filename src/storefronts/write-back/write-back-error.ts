import type { DeliveryFailure } from '../../core/result/delivery-error.ts';

/**
 * Why an order of a shop does not show its result. `waits`: the shop's state does not allow it now. `settles`: an
 * earlier call may still be processed, until a time that is known. `final`: trying again changes nothing, and a person has to look. The message says what to do.
 */
export class WriteBackError extends Error implements DeliveryFailure {
  /** The order decides, not the shop. */
  readonly refusesResult = true;
  readonly reason: string;
  readonly kind: 'waits' | 'settles' | 'final';
  /** Not tried again before that, in ms. */
  readonly retryAfterMs: number;
  readonly countsTry: boolean;

  constructor(kind: WriteBackError['kind'], message: string, retryAfterMs = 0) {
    super(message);
    this.name = 'WriteBackError';
    this.kind = kind;
    this.reason = kind;
    this.retryAfterMs = retryAfterMs;
    this.countsTry = kind !== 'settles';
  }
}
