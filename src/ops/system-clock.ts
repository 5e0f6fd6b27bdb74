import { readFileSync } from 'node:fs';
import type { Clock, MachineClock, Random, TimeMark } from '../core/clock.ts';

/** 2^31 - 1 ms, a little under 25 days. Node fires a longer timer at once. */
const longestTimerMs = 2_147_483_647;

/**
 * `process.hrtime` counts from the start of the machine: processes can compare values while
 * `bootId` is the same.
 */
export class SystemClock implements MachineClock {
  readonly bootId: string | undefined;

  constructor(bootId: string | undefined = readBootId()) {
    this.bootId = bootId;
  }

  wallMs(): number {
    return Date.now();
  }

  steadyMs(): number {
    return Number(process.hrtime.bigint() / 1000n) / 1000;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const endMs = this.steadyMs() + ms;
    let leftMs = ms;
    while (leftMs > 0) {
      if (signal?.aborted) return;
      await oneTimer(Math.min(leftMs, longestTimerMs), signal);
      leftMs = endMs - this.steadyMs();
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

/**
 * The steady time of an outbox: it continues over restarts of the worker and of the machine. In the
 * same run of the machine it counts the time in which no worker ran. After a start of the machine
 * nobody knows how long that was, so it counts nothing of it: whatever is waited for may end later,
 * never earlier.
 */
export class SteadyClock implements Clock {
  readonly #machine: MachineClock;
  #aheadMs = 0;

  constructor(machine: MachineClock) {
    this.#machine = machine;
  }

  wallMs(): number {
    return this.#machine.wallMs();
  }

  steadyMs(): number {
    return this.#machine.steadyMs() + this.#aheadMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#machine.sleep(ms, signal);
  }

  mark(): TimeMark {
    const { bootId = null } = this.#machine;
    const machineMs = this.#machine.steadyMs();
    return { steadyMs: this.steadyMs(), wallMs: this.wallMs(), machineMs, bootId };
  }

  /**
   * Continues from the mark that was written last.
   * @returns for how long the machine did not run, as the wall clock tells; 0: it ran
   */
  continueFrom(last: TimeMark): number {
    const { machineMs, bootId, wallMs } = this.mark();
    const isSameRun = bootId !== null && bootId === last.bootId && machineMs >= last.machineMs;
    this.#aheadMs = last.steadyMs - (isSameRun ? last.machineMs : machineMs);
    return isSameRun ? 0 : Math.max(0, wallMs - last.wallMs);
  }
}
