import { readFileSync } from 'node:fs';
import type { Clock, Random } from '../core/clock.ts';
import { ClockSteps } from '../core/time/wall-clock.ts';

/** 2^31 - 1 ms, a little under 25 days. Node fires a longer timer at once. */
const longestTimerMs = 2_147_483_647;

/**
 * `process.hrtime` counts from the start of the machine: processes can compare values while
 * `bootId` is the same.
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

/**
 * The clock of the machine, except that its wall time does not jump by itself. After a step of the
 * machine's wall clock it continues as if there had been none, until the step is accepted. So the
 * stored times can be moved first: no part of the worker ever compares a time from before the step
 * with one from after it.
 */
export class ContinuousClock implements Clock {
  readonly #machine: Clock;
  readonly #steps: ClockSteps;

  constructor(machine: Clock) {
    this.#machine = machine;
    this.#steps = new ClockSteps({ wallMs: machine.wallMs(), monoMs: machine.monoMs() });
  }

  get bootId(): string | undefined {
    return this.#machine.bootId;
  }

  wallMs(): number {
    return this.#read().wallMs;
  }

  monoMs(): number {
    return this.#machine.monoMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#machine.sleep(ms, signal);
  }

  /**
   * By how much the machine's wall clock has stepped, in ms, if that was not accepted yet; else 0.
   */
  pendingStepMs(): number {
    return this.#read().stepMs;
  }

  accept(stepMs: number): void {
    this.#steps.accept(stepMs);
  }

  #read(): ReturnType<ClockSteps['read']> {
    return this.#steps.read({ wallMs: this.#machine.wallMs(), monoMs: this.#machine.monoMs() });
  }
}
