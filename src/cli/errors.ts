import { ConfigInvalidError } from '../config/config-issue.ts';
import { codeOf, type OrderSyncErrorCode } from '../core/order-sync-error.ts';
import { isOutOfSpace } from '../store/sqlite/disk-errors.ts';
import { plainText, type TextStream } from './output.ts';

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

/** Total: a new error code cannot be added without an exit code. */
const byErrorCode: Readonly<Record<OrderSyncErrorCode, ExitCode>> = {
  CONFIG_INVALID: exitCodes.configInvalid,
  USAGE: exitCodes.usage,
  INVALID_INPUT: exitCodes.usage,
  DATABASE_MISSING: exitCodes.notFound,
  NOT_FOUND: exitCodes.notFound,
  DATABASE_NEWER: exitCodes.databaseNewer,
  DATABASE_FOREIGN: exitCodes.refused,
  DATABASE_OLDER: exitCodes.refused,
  DATABASE_LOCKED: exitCodes.refused,
  DATABASE_BUSY: exitCodes.refused,
  DATABASE_UNSAFE: exitCodes.refused,
  UPSTREAM_MISMATCH: exitCodes.refused,
  REFERENCE_SECRET_MISSING: exitCodes.refused,
  REFERENCE_SECRET_CHANGED: exitCodes.refused,
  SEAL_KEY_MISSING: exitCodes.refused,
  SEAL_KEY_CHANGED: exitCodes.refused,
  SEALED_UNREADABLE: exitCodes.refused,
  FOLDER_UNUSABLE: exitCodes.refused,
  DISK_FULL: exitCodes.refused,
  LISTEN_FAILED: exitCodes.refused,
  NOT_ALLOWED: exitCodes.refused,
  UNREACHABLE: exitCodes.unreachable,
  DATABASE_REPLACED: exitCodes.unexpected,
  DATABASE_WRITE_FAILED: exitCodes.unexpected,
  INVARIANT: exitCodes.unexpected,
};

/**
 * The exit code of an error, matched by its code: an error of another copy of the class counts as
 * well.
 */
export function exitCodeFor(error: unknown): ExitCode {
  if (error instanceof AggregateError) return exitCodeFor(error.errors[0]);
  const code = codeOf(error);
  return isErrorCode(code) ? byErrorCode[code] : exitCodes.unexpected;
}

export function isErrorCode(code: unknown): code is OrderSyncErrorCode {
  return typeof code === 'string' && Object.hasOwn(byErrorCode, code);
}

/**
 * The one place that prints a failure. An error with a code is printed with its hint; any other
 * error is a defect, and its stack helps in a report.
 */
export function reportError(error: unknown, stderr: TextStream, json: boolean): ExitCode {
  const all = error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
  for (const each of all)
    stderr.write(json ? `${JSON.stringify({ error: asJson(each) })}\n` : asText(each));
  return exitCodeFor(error);
}

/** Prints what commander found wrong with the arguments, in the JSON form of an error. */
export function reportUsage(complaint: string, stderr: TextStream): ExitCode {
  const message =
    complaint === '(outputHelp)' ? 'a command is missing' : complaint.replace(/^error: /, '');
  const hint = 'see `order-sync --help`';
  stderr.write(`${JSON.stringify({ error: { code: 'USAGE', message, hint } })}\n`);
  return exitCodes.usage;
}

function asJson(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { code: 'UNEXPECTED', message: String(error), hint: null };
  const issues = error instanceof ConfigInvalidError ? { issues: error.issues } : {};
  return {
    code: ownCodeOf(error) ?? 'UNEXPECTED',
    message: error.message,
    hint: hintOf(error) ?? null,
    ...issues,
  };
}

function asText(error: unknown): string {
  if (!(error instanceof Error)) return `order-sync: ${plainText(String(error))}\n`;
  if (isOutOfSpace(error))
    return `order-sync: a disk is full: ${plainText(error.message)}\nWhat to do: free some space\n`;
  if (isDenied(error))
    return `order-sync: no permission for ${plainText(error.path)}\nWhat to do: start order-sync in a folder of this user, or set data_dir\n`;
  if (ownCodeOf(error) === null) {
    return `order-sync: unexpected failure: ${error.stack ?? error.message}\nThis is a defect of order-sync: please report it with the lines above.\n`;
  }
  const hint = hintOf(error);
  const message = error.message.split('\n').map(plainText).join('\n');
  return `order-sync: ${message}\n${hint === undefined ? '' : `What to do: ${hint}\n`}`;
}

/** The system does not let this user read or write a file. */
function isDenied(error: Error): error is Error & { readonly path: string } {
  return ['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error) ?? '') && 'path' in error;
}

const ownCodeOf = (error: Error): string | null =>
  error.name === 'OrderSyncError' ? codeOf(error) : null;

function hintOf(error: Error): string | undefined {
  return 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined;
}
