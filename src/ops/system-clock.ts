import { readFileSync } from 'node:fs';
import type { Clock, Random } from '../core/clock.ts';

/** Node fires longer timers at once: 2^31 - 1 ms, a little under 25 days. */
const longestTimerMs = 2_147_483_647;

/**
 * The clock of this machine. `process.hrtime` is CLOCK_MONOTONIC, which counts from the machine's start, not the
 * process's: values of two processes can be compared as long as the machine was not restarted, and `bootId` tells.
 */
export class SystemClock implements Clock {
  readonly bootId: string | undefined;

  constructor(bootId: string | undefined = readBootId()) {
    this.bootId = bootId;
  }

  wallMs(): number {
    return Date.now();
  }

  monoMs(): number {
    return Number(process.hrtime.bigint() / 1000n) / 1000;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const endMs = this.monoMs() + ms;
    let restMs = ms;
    while (restMs > 0) {
      if (signal?.aborted) return;
      await oneTimer(Math.min(restMs, longestTimerMs), signal);
      restMs = endMs - this.monoMs();
    }
  }
}

function oneTimer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Linux names each run of the machine; elsewhere a restart cannot be told apart, and undefined says so. */
function readBootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

export const systemRandom: Random = () => Math.random();
