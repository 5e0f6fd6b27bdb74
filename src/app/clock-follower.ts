import type { Logger } from 'pino';
import { smallestStepMs } from '../core/time/wall-clock.ts';
import type { ContinuousClock } from '../ops/system-clock.ts';
import { Loop } from '../ops/loop.ts';
import type { Store } from '../store/store.ts';

/**
 * How long a step of the wall clock may stay unnoticed; nothing depends on it, because the worker's
 * clock continues.
 */
const everyMs = 1000;
const recordedEveryMs = 60_000;

interface FollowerDeps {
  readonly store: Pick<Store, 'times'>;
  readonly clock: ContinuousClock;
  readonly logger: Logger;
  /**
   * Called when the stored times have moved, before any other code runs: parts read again what they
   * keep in memory.
   */
  readonly onStep?: (stepMs: number) => Promise<void>;
  readonly everyMs?: number;
}

/**
 * Moves the stored times with the wall clock, in both directions and by any step, so that nothing
 * is due sooner or later because somebody has set the clock. While the worker runs, the monotonic
 * clock tells how large a step was. At a start only one thing is sure: time has not run backwards.
 * If the clock shows less than the last time on disk, the difference is a step; if it shows more,
 * that may be how long no worker ran.
 */
export class ClockFollower {
  readonly #deps: FollowerDeps;
  readonly loop: Loop;
  #recordAtMono = 0;

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
    const round = async (signal: AbortSignal): Promise<number> => {
      // The next start cannot tell a step forward from the time in which no worker ran.
      if (signal.aborted) this.#recordAtMono = deps.clock.monoMs();
      await this.check();
      return deps.everyMs ?? everyMs;
    };
    this.loop = new Loop({ clock: deps.clock, round, endsWithRound: true });
  }

  async catchUp(): Promise<void> {
    const { store, clock } = this.#deps;
    const lastSeenMs = await store.times.lastSeenMs();
    const nowMs = clock.wallMs();
    const behindMs = lastSeenMs === null ? 0 : lastSeenMs - nowMs;
    await this.#follow({ stepMs: behindMs >= smallestStepMs ? -behindMs : 0, nowMs });
    await this.#record();
  }

  async check(): Promise<void> {
    const { clock } = this.#deps;
    const stepMs = clock.pendingStepMs();
    if (stepMs !== 0) {
      let done = Promise.resolve();
      const onMoved = (): void => {
        clock.accept(stepMs);
        done = this.#deps.onStep?.(stepMs) ?? done;
      };
      await this.#follow({ stepMs, nowMs: clock.wallMs() + stepMs, onMoved });
      await done;
    }
    if (clock.monoMs() >= this.#recordAtMono) await this.#record();
  }

  async #follow(step: { stepMs: number; nowMs: number; onMoved?: () => void }): Promise<void> {
    const moved = await this.#deps.store.times.follow(step);
    if (step.stepMs === 0) return;
    const details = { step_ms: step.stepMs, moved };
    this.#deps.logger.warn(
      details,
      'the clock of this machine was set: the stored times moved with it',
    );
  }

  async #record(): Promise<void> {
    const { store, clock } = this.#deps;
    this.#recordAtMono = clock.monoMs() + recordedEveryMs;
    await store.times.recordSeen(clock.wallMs());
  }
}
