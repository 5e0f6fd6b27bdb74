import type { Clock } from '../core/clock.ts';
import { ClockSteps } from '../core/time/clock-steps.ts';

/**
 * The clock of the machine, except that its wall time does not jump by itself. After a step of the machine's wall clock it
 * continues as if there had been none, until the step is accepted. So the stored times can be moved first: no part of the
 * worker ever compares a time from before the step with one from after it.
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

  /** By how much the machine's wall clock has stepped, in ms, if that was not accepted yet; else 0. */
  pendingStepMs(): number {
    return this.#read().stepMs;
  }

  /** Lets the wall time jump by this step. */
  accept(stepMs: number): void {
    this.#steps.accept(stepMs);
  }

  #read(): ReturnType<ClockSteps['read']> {
    return this.#steps.read({ wallMs: this.#machine.wallMs(), monoMs: this.#machine.monoMs() });
  }
}
