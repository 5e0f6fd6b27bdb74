import type { PlainHeaders } from './http-headers.ts';

/** Squid names its own copy in `X-Cache-Lookup` also where it asked all the same. */
const saysNothing = /control|lookup|object/;
/** The words of `X-Cache`, `CF-Cache-Status`, `Cache-Status` (RFC 9211) and their like. */
const hit = /(?<![a-z])(hit|stale|updating)(?![a-z])/i;

const isMark = ([name, value]: readonly [string, string]): boolean =>
  name === 'age'
    ? Number(value) > 0
    : name.includes('cache') && !saysNothing.test(name) && hit.test(value);

/**
 * The header by which a cache says that it gave the answer (`Age`: RFC 9111, 5.1); null when none
 * says so.
 */
export function cacheHeader(headers: PlainHeaders): string | null {
  const mark = Object.entries(headers).find(isMark);
  return mark === undefined ? null : mark.join(': ');
}

/** So many answers tell the time of the API. */
const kept = 8;
/** A `Date` has whole seconds, and the clocks of several servers differ. */
const toleranceMs = 2000;

interface DatedAnswer {
  readonly dateMs: number;
  readonly receivedMs: number;
}

/**
 * Recognises answers that a cache repeats. Without a header that says so, their `Date` is before
 * the call, by the clock that the last answers of the API show. Two answers must show that time:
 * one may come from a gateway with another clock.
 */
export class CachedAnswers {
  #last: readonly DatedAnswer[] = [];

  /**
   * How an answer shows that a cache gave it; null when nothing shows that. Called once for each
   * answer.
   */
  whyCached(
    headers: PlainHeaders,
    { sentMs, receivedMs }: { sentMs: number; receivedMs: number },
  ): string | null {
    const dateMs = Date.parse(headers['date'] ?? '');
    if (Number.isNaN(dateMs)) return cacheHeader(headers);
    const times = this.#last.map((answer) => answer.dateMs + sentMs - answer.receivedMs);
    const [, sentAtMs = Number.NEGATIVE_INFINITY] = times.toSorted((a, b) => b - a);
    this.#last = [{ dateMs, receivedMs }, ...this.#last].slice(0, kept);
    return (
      cacheHeader(headers) ??
      (dateMs + toleranceMs < sentAtMs ? `date: ${headers['date']}, before the call` : null)
    );
  }
}
