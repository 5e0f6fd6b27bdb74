import type { OrderSyncErrorCode } from '../core/order-sync-error.ts';

/** The exit codes are a contract (docs/cli.md): scripts and orchestrators act on them. */
export const exitCodes = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  configInvalid: 3,
  notFound: 4,
  refused: 5,
  unreachable: 6,
  databaseNewer: 7,
  problemsFound: 8,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Total, so that a new error code cannot be added without deciding how it ends the program. */
const byErrorCode: Readonly<Record<OrderSyncErrorCode, ExitCode>> = {
  CONFIG_INVALID: exitCodes.configInvalid,
  USAGE: exitCodes.usage,
  INVALID_INPUT: exitCodes.usage,
  DATABASE_MISSING: exitCodes.notFound,
  NOT_FOUND: exitCodes.notFound,
  DATABASE_NEWER: exitCodes.databaseNewer,
  DATABASE_OLDER: exitCodes.refused,
  DATABASE_LOCKED: exitCodes.refused,
  DATABASE_UNSAFE: exitCodes.refused,
  UPSTREAM_MISMATCH: exitCodes.refused,
  REFERENCE_SECRET_MISSING: exitCodes.refused,
  REFERENCE_SECRET_CHANGED: exitCodes.refused,
  FOLDER_UNUSABLE: exitCodes.refused,
  LISTEN_FAILED: exitCodes.refused,
  REFUSED: exitCodes.refused,
  UNREACHABLE: exitCodes.unreachable,
  DATABASE_REPLACED: exitCodes.unexpected,
  DATABASE_WRITE_FAILED: exitCodes.unexpected,
  INVARIANT: exitCodes.unexpected,
};

/** How the program ends with an error: matched by its code, so that copies of the class do not matter. */
export function exitCodeFor(error: unknown): ExitCode {
  if (error instanceof AggregateError) return exitCodeFor(error.errors[0]);
  if (!(error instanceof Error) || !('code' in error)) return exitCodes.unexpected;
  return isErrorCode(error.code) ? byErrorCode[error.code] : exitCodes.unexpected;
}

export function isErrorCode(code: unknown): code is OrderSyncErrorCode {
  return typeof code === 'string' && Object.hasOwn(byErrorCode, code);
}
