/**
 * The seconds of `Prefer: wait=N` (RFC 7240), at most `limit`; null when it is not asked for. A preference that cannot
 * be understood is ignored, as the RFC has it.
 */
export function preferredWaitS(header: string | undefined, limit: number): number | null {
  for (const preference of (header ?? '').split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i.exec(preference)?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), limit);
  }
  return null;
}
