/**
 * Every failure a person may meet has a stable code: match on `code`, never on the text or on `instanceof`.
 * The message says what failed and the value met; `hint` says what to do next.
 */
export type OrderSyncErrorCode =
  | 'CONFIG_INVALID'
  | 'USAGE'
  | 'DATABASE_MISSING'
  | 'DATABASE_NEWER'
  | 'DATABASE_OLDER'
  | 'DATABASE_LOCKED'
  | 'DATABASE_UNSAFE'
  | 'DATABASE_REPLACED'
  | 'DATABASE_WRITE_FAILED'
  | 'UPSTREAM_MISMATCH'
  | 'REFERENCE_SECRET_MISSING'
  | 'REFERENCE_SECRET_CHANGED'
  | 'FOLDER_UNUSABLE'
  | 'LISTEN_FAILED'
  | 'NOT_FOUND'
  | 'REFUSED'
  | 'UNREACHABLE'
  | 'INVALID_INPUT'
  | 'INVARIANT';

export class OrderSyncError extends Error {
  readonly code: OrderSyncErrorCode;
  readonly hint: string | undefined;

  constructor(code: OrderSyncErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OrderSyncError';
    this.code = code;
    this.hint = options.hint;
  }
}

/** True for our own failures with this code, across realms and copies of the class. */
export function hasCode(error: unknown, code: OrderSyncErrorCode): error is OrderSyncError {
  return error instanceof Error && 'code' in error && error.code === code;
}

/**
 * States what must hold. A failed assertion is a programmer's mistake: the process stops on it, and the outbox makes
 * that safe.
 */
export function assert(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new OrderSyncError('INVARIANT', `This must hold but does not: ${sentence}`);
}

/** Makes a switch total: the compiler finds the missing case, the process the impossible value. */
export function unreachable(value: never): never {
  throw new OrderSyncError('INVARIANT', `Unexpected value ${JSON.stringify(value)}`);
}
