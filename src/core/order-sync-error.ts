/**
 * Every failure that people can see has a stable code: match on `code`, never on the text or with
 * `instanceof`. The message says what failed, with the value; `hint` says what to do next.
 */
export type OrderSyncErrorCode =
  | 'CONFIG_INVALID'
  | 'USAGE'
  | 'DATABASE_MISSING'
  | 'DATABASE_FOREIGN'
  | 'DATABASE_NEWER'
  | 'DATABASE_OLDER'
  | 'DATABASE_LOCKED'
  | 'DATABASE_BUSY'
  | 'DATABASE_UNSAFE'
  | 'DATABASE_REPLACED'
  | 'DATABASE_WRITE_FAILED'
  | 'DISK_FULL'
  | 'UPSTREAM_MISMATCH'
  | 'REFERENCE_SECRET_MISSING'
  | 'REFERENCE_SECRET_CHANGED'
  | 'SEAL_KEY_MISSING'
  | 'SEAL_KEY_CHANGED'
  | 'SEALED_UNREADABLE'
  | 'FOLDER_UNUSABLE'
  | 'LISTEN_FAILED'
  | 'NOT_FOUND'
  | 'NOT_ALLOWED'
  | 'UNREACHABLE'
  | 'INVALID_INPUT'
  | 'INVARIANT';

export class OrderSyncError extends Error {
  readonly code: OrderSyncErrorCode;
  readonly hint: string | undefined;

  constructor(
    code: OrderSyncErrorCode,
    message: string,
    options: { hint?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OrderSyncError';
    this.code = code;
    this.hint = options.hint;
  }
}

/** The code of a failure of this worker, of the system or of a library; null: it has none. */
export const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error ? String(error.code) : null;

/** Whether this is a failure of this worker with this code. */
export function hasCode(error: unknown, code: OrderSyncErrorCode): error is OrderSyncError {
  return codeOf(error) === code;
}

/**
 * Checks an invariant. A failed assertion is a bug: the process stops, which the outbox makes safe.
 */
export function assert(condition: boolean, sentence: string): asserts condition {
  if (!condition)
    throw new OrderSyncError('INVARIANT', `This must be true but is not: ${sentence}`);
}

/**
 * For the default of a switch: the compiler reports a missing case, and an unexpected value throws.
 */
export function unreachable(value: never): never {
  throw new OrderSyncError('INVARIANT', `Unexpected value ${JSON.stringify(value)}`);
}
