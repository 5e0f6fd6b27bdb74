import { ConfigInvalidError } from '../config/config-issue.ts';
import type { TextStream } from './context.ts';
import { exitCodeFor, exitCodes, type ExitCode } from './errors.ts';
import { plainText } from './output.ts';

/**
 * The one place that prints a failure. A failure with a code is told in its own words and its next step; anything else
 * is a defect, whose stack helps whoever reports it.
 */
export function reportError(error: unknown, stderr: TextStream, json: boolean): ExitCode {
  const told = error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
  for (const each of told) stderr.write(json ? `${JSON.stringify({ error: asJson(each) })}\n` : asText(each));
  return exitCodeFor(error);
}

/** What commander found wrong with the arguments, in the same form. */
export function reportUsage(complaint: string, stderr: TextStream): ExitCode {
  const message = complaint === '(outputHelp)' ? 'a command is missing' : complaint.replace(/^error: /, '');
  const hint = 'see `order-sync --help`';
  stderr.write(`${JSON.stringify({ error: { code: 'USAGE', message, hint } })}\n`);
  return exitCodes.usage;
}

function asJson(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { code: 'UNEXPECTED', message: String(error), hint: null };
  const issues = error instanceof ConfigInvalidError ? { issues: error.issues } : {};
  return { code: codeOf(error) ?? 'UNEXPECTED', message: error.message, hint: hintOf(error) ?? null, ...issues };
}

function asText(error: unknown): string {
  if (!(error instanceof Error)) return `order-sync: ${plainText(String(error))}\n`;
  const code = codeOf(error);
  if (code === undefined) {
    return `order-sync: unexpected failure: ${error.stack ?? error.message}\nThis is a defect of order-sync: please report it with the lines above.\n`;
  }
  const hint = hintOf(error);
  const message = error.message.split('\n').map(plainText).join('\n');
  return `order-sync: ${message}\n${hint === undefined ? '' : `What to do: ${hint}\n`}`;
}

function codeOf(error: Error): string | undefined {
  return error.name === 'OrderSyncError' && 'code' in error ? String(error.code) : undefined;
}

function hintOf(error: Error): string | undefined {
  return 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined;
}
