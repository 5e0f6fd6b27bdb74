import { InvalidArgumentError } from 'commander';
import { OrderSyncError } from '../core/order-sync-error.ts';

/** Reads the value of an option that is a whole number in a range. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`The value must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

const unitsMs: Readonly<Record<string, number>> = {
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Parses the value of an option such as `--older-than 7d`. Returns milliseconds. */
export function durationMs(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})(s|min|h|d)$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (amount !== undefined && unitMs !== undefined) return Number(amount) * unitMs;
  throw new InvalidArgumentError(
    'The value must be a whole number with s, min, h or d, for example 7d.',
  );
}

/**
 * The time that an option names, in ms; undefined where it is not given.
 * @throws OrderSyncError USAGE
 */
export function timeOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const isIso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(
    text,
  );
  const ms = isIso ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new OrderSyncError(
    'USAGE',
    `${option} must be a time such as 2026-11-21 or 2026-11-21T08:00:00Z, got "${text}"`,
  );
}
