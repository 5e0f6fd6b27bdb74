import { codeOf, OrderSyncError } from '../order-sync-error.ts';

export interface DeliveryFailure {
  /**
   * A short, stable name of what happened, for example `http_503`. It is shown in health: nothing
   * of others is in it.
   */
  readonly reason: string;
  /** The receiver works, and does not take this result: that says nothing about other results. */
  readonly refusesResult: boolean;
  /**
   * The receiver asks for no further calls for so long, in ms; with `refusesResult`, none for this
   * result.
   */
  readonly retryAfterMs: number | null;
  /** False: nothing failed, an earlier call may still be processed. Else it is a failed try. */
  readonly countsTry?: boolean;
}

/** The reason of a receiver that limits the rate: its calls are no tries. */
export const rateLimited = 'http_429';

export class DeliveryError extends OrderSyncError implements DeliveryFailure {
  readonly reason: string;
  readonly refusesResult: boolean;
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    failure: Pick<DeliveryFailure, 'reason'> &
      Partial<DeliveryFailure> & { readonly hint?: string; readonly cause?: unknown },
  ) {
    const { reason, refusesResult = false, retryAfterMs = null, hint, cause } = failure;
    super('UNREACHABLE', message, { cause, hint });
    this.reason = reason;
    this.refusesResult = refusesResult;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The facts of any error: the fields of `DeliveryFailure` where it has them all, else only the code
 * of a system error.
 */
export function failureOf(error: unknown): DeliveryFailure {
  if (isFailure(error)) return error;
  return { reason: codeOf(error) ?? 'failed', refusesResult: false, retryAfterMs: null };
}

function isFailure(error: unknown): error is DeliveryFailure {
  return (
    error instanceof Error &&
    'reason' in error &&
    'refusesResult' in error &&
    'retryAfterMs' in error
  );
}
