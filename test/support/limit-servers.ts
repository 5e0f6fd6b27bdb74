/** A server's way of counting calls; `admit` returns whether a call that arrives now is allowed. */
export interface ServerModel {
  admit(nowMs: number): boolean;
}

type Model = (limit: number, windowMs: number) => ServerModel;

function slidingLog(limit: number, windowMs: number, countRefused: boolean): ServerModel {
  const stamps: number[] = [];
  return {
    admit(nowMs) {
      while ((stamps[0] ?? Number.POSITIVE_INFINITY) <= nowMs - windowMs) stamps.shift();
      const isAdmitted = stamps.length < limit;
      if (isAdmitted || countRefused) stamps.push(nowMs);
      return isAdmitted;
    },
  };
}

/**
 * Counts in fixed windows. `overlap`: adds the share of the previous window that overlaps, as some
 * gateways do.
 */
function fixedWindow(limit: number, windowMs: number, overlap: boolean): ServerModel {
  let window = -1;
  let count = 0;
  let before = 0;
  return {
    admit(nowMs) {
      const current = Math.floor(nowMs / windowMs);
      if (current !== window) {
        before = current === window + 1 ? count : 0;
        window = current;
        count = 0;
      }
      const share = overlap ? 1 - (nowMs % windowMs) / windowMs : 0;
      if (before * share + count + 1 > limit) return false;
      count += 1;
      return true;
    },
  };
}

function tokenBucket(limit: number, windowMs: number): ServerModel {
  let tokens = limit;
  let at = 0;
  return {
    admit(nowMs) {
      tokens = Math.min(limit, tokens + ((nowMs - at) * limit) / windowMs);
      at = nowMs;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}

export const serverModels = {
  'sliding log': (limit, windowMs) => slidingLog(limit, windowMs, false),
  'fixed window': (limit, windowMs) => fixedWindow(limit, windowMs, false),
  'token bucket': tokenBucket,
  'approximate sliding counter': (limit, windowMs) => fixedWindow(limit, windowMs, true),
  'sliding log that counts refused calls': (limit, windowMs) => slidingLog(limit, windowMs, true),
} satisfies Record<string, Model>;
