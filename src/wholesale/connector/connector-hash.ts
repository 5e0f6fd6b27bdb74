import { createHash } from 'node:crypto';
import type { Wire } from './wire.ts';

/**
 * Identifies a mapping: 16 hex characters. The order in which its keys were written does not count; the order of a list
 * does, because the first candidate wins.
 */
export function connectorHash(wire: Wire): string {
  const text = JSON.stringify(wire, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
