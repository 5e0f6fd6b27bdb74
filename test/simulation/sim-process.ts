import type { MachineClock } from '../../src/core/clock.ts';
import type { VirtualTime } from './virtual-time.ts';

/**
 * The clocks of the machine. A power loss restarts the monotonic clock; the wall clock can jump at
 * any time.
 */
export interface MachineClocks {
  bootId: string | undefined;
  bootedAtMs: number;
  /** Wall time minus true time. */
  wallOffsetMs: number;
}

/** Never settles: a dead process waits for ever. */
function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/**
 * One process of the worker, from its start to its stop or crash. Every effect on the world goes
 * through `port`, and the world can kill the process before or after any port call. A dead process
 * has no effect any more.
 */
export class SimProcess implements MachineClock {
  readonly number: number;
  readonly #time: VirtualTime;
  readonly #clocks: MachineClocks;
  readonly #bootId: string | undefined;
  readonly #onPort: (process: SimProcess, name: string) => void;
  #diedAtMs: number | null = null;

  constructor(options: {
    number: number;
    time: VirtualTime;
    clocks: MachineClocks;
    onPort: (process: SimProcess, name: string) => void;
  }) {
    this.number = options.number;
    this.#time = options.time;
    this.#clocks = options.clocks;
    this.#bootId = options.clocks.bootId;
    this.#onPort = options.onPort;
  }

  get alive(): boolean {
    return this.#diedAtMs === null;
  }

  /** When it died, in virtual time; null while it is alive. */
  get diedAtMs(): number | null {
    return this.#diedAtMs;
  }

  die(): void {
    this.#diedAtMs ??= this.#time.nowMs;
  }

  /** Makes a port call. The process can die before it or after it. */
  async port<T>(name: string, effect: () => T | Promise<T>): Promise<T> {
    if (this.alive) this.#onPort(this, `${name} <`);
    if (!this.alive) return await never();
    const result = await effect();
    if (this.alive) this.#onPort(this, `${name} >`);
    return this.alive ? result : await never();
  }

  /** As `port`, for a call that changes nothing in the world. */
  async whileAlive<T>(look: () => T | Promise<T>): Promise<T> {
    if (!this.alive) return await never();
    const result = await look();
    return this.alive ? result : await never();
  }

  wallMs(): number {
    return Math.floor(this.#clocks.wallOffsetMs + this.#time.nowMs);
  }

  steadyMs(): number {
    return this.#time.nowMs - this.#clocks.bootedAtMs;
  }

  get bootId(): string | undefined {
    return this.#bootId;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || ms <= 0) return resolve();
      const wake = (): void => {
        cancel();
        signal?.removeEventListener('abort', wake);
        // A dead process never wakes up.
        if (this.alive) resolve();
      };
      const cancel = this.#time.after(ms, wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** Calls `fire` in `delayMs`, unless the process is dead by then. */
  after(delayMs: number, fire: () => void): () => void {
    return this.#time.after(delayMs, () => {
      if (this.alive) fire();
    });
  }
}
