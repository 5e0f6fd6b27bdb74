/** The headers of an HTTP answer, by their names in small letters. */
export type PlainHeaders = Readonly<Record<string, string>>;

/**
 * The headers as undici gives them. A header that came more than once is joined with a comma (RFC
 * 9110, 5.3).
 */
export function plainHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): PlainHeaders {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined)
      plain[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return plain;
}

/** A longer wait is cut to this: one wrong header must not stop the worker for days. */
const longestRetryAfterMs = 3_600_000;

/**
 * How long a server asks to wait, in ms, from `Retry-After` as seconds or as a date (RFC 9110,
 * 10.2.3); null when it does not ask. A date is compared with the answer's own `Date`, because the
 * clocks of client and server may differ; without one it is compared with `nowWallMs`.
 */
export function retryAfterMs(headers: PlainHeaders, nowWallMs: number): number | null {
  const text = headers['retry-after']?.trim() ?? '';
  if (text === '') return null;
  if (/^\d{1,12}(\.\d{1,6})?$/.test(text))
    return Math.min(longestRetryAfterMs, Math.ceil(Number(text) * 1000));
  // Date.parse would also read "-1" or "2026" as a date; an HTTP date starts with the name of a
  // day.
  const until = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return null;
  const serverNow = Date.parse(headers['date'] ?? '');
  return Math.min(
    longestRetryAfterMs,
    Math.max(0, until - (Number.isNaN(serverNow) ? nowWallMs : serverNow)),
  );
}
