import { readFileSync } from 'node:fs';
import type { Clock, Random } from '../core/clock.ts';

/** 2^31 - 1 ms, a little under 25 days. Node fires a longer timer at once. */
const longestTimerMs = 2_147_483_647;

/**
 * The clock of this machine. `process.hrtime` is CLOCK_MONOTONIC, which counts from the start of the machine: values of
 * two processes can be compared while `bootId` is the same.
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
    let leftMs = ms;
    while (leftMs > 0) {
      if (signal?.aborted) return;
      await oneTimer(Math.min(leftMs, longestTimerMs), signal);
      leftMs = endMs - this.monoMs();
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

/** Linux has an id for each start of the machine; undefined on other systems. */
function readBootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

export const systemRandom: Random = () => Math.random();
