import { z } from 'zod';

/** An id as exact text: a shop's ids may be larger than a JavaScript number can hold. */
export const shopId = z.string().regex(/^\d{1,20}$/);

/** ISO 8601 as shops write it, in UTC where it has no zone. Null when it is no time. */
export function shopTime(text: unknown): number | null {
  if (typeof text !== 'string' || text === '') return null;
  const ms = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`);
  return Number.isFinite(ms) ? ms : null;
}
