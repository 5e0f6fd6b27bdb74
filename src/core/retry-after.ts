/** A server that asks for more than this is not believed: the worker would stand still on one wrong header. */
const longestMs = 3_600_000;

/**
 * How long a server asks to wait, in ms, from `Retry-After` as seconds or as a date; null when it does not ask. A date
 * is compared with the answer's own `Date`, so that a wrong clock on either side does no harm; without one, with ours.
 */
export function retryAfterMs(
  headers: { readonly retryAfter: string | undefined; readonly date: string | undefined },
  nowWallMs: number,
): number | null {
  const text = headers.retryAfter?.trim() ?? '';
  if (text === '') return null;
  if (/^\d{1,12}(\.\d{1,6})?$/.test(text)) return Math.min(longestMs, Math.ceil(Number(text) * 1000));
  // Date.parse would also read "-1" or "2026" as a date; an HTTP date starts with the name of a day.
  const until = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return null;
  const theirs = Date.parse(headers.date ?? '');
  const now = Number.isNaN(theirs) ? nowWallMs : theirs;
  return Math.min(longestMs, Math.max(0, until - now));
}
