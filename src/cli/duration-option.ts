import { InvalidArgumentError } from 'commander';

const unitsMs: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses the value of an option such as `--older-than 7d`. Returns milliseconds. */
export function durationMs(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})(s|min|h|d)$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (amount === undefined || unitMs === undefined) {
    throw new InvalidArgumentError('It must be a whole number with s, min, h or d, for example 7d.');
  }
  return Number(amount) * unitMs;
}
