import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { ApiTime, type ClockReading, type PresentTime } from '../../core/time/wall-clock.ts';
import { Loop } from '../../ops/loop.ts';
import type { AnswerTimes } from '../../wholesale/transport/call-end.ts';
import { budgetedProbe, type ProbeDeps } from './budgeted-read.ts';

/**
 * The clock by which deadlines are judged: that of the API, or without it that of this machine.
 */
interface TimeSources {
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly apiClock?: Pick<ApiClock, 'present'>;
}

export function presentTime({ clock, apiClock }: TimeSources): PresentTime {
  const nowMs = clock.wallMs();
  return apiClock?.present() ?? { earliestMs: nowMs, latestMs: nowMs };
}

/** The clock of this machine beside that of the API. */
export class ApiClock {
  readonly #clock: Clock;
  readonly #time: ApiTime;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#time = new ApiTime(clock.steadyMs());
  }

  /** The API client reports the time of each answer here. */
  get answerTimes(): AnswerTimes {
    return {
      steadyMs: () => this.#clock.steadyMs(),
      onAnswer: (time) => this.#time.record(time, this.#now()),
    };
  }

  /** Whether the clock of this machine is right, by the answers so far. */
  read(): ClockReading {
    return this.#time.read(this.#now());
  }

  /** The time by which deadlines are judged. */
  present(): PresentTime {
    return this.#time.present(this.#now());
  }

  #now() {
    return { wallMs: this.#clock.wallMs(), steadyMs: this.#clock.steadyMs() };
  }
}

const checkedEveryMs = 1000;
/** The API is asked for its time at most this often, while it is unknown and while it differs. */
const askedEveryMs = { unknown: 10_000, wrong: 300_000 };

/**
 * Says in the log when the clock of this machine is wrong, and when it is right again. While it is
 * not right and a deadline may have passed, it asks the API for its time with one small read on the
 * budget: without other work no call would show it, and the line would stay open.
 */
export function apiClockCheck(
  deps: ProbeDeps & {
    readonly steps: { nextDeadlineMs(): Promise<number | null> };
    readonly apiClock: ApiClock;
    readonly logger: Logger;
  },
): Loop {
  const { apiClock, clock, logger, pauses, steps } = deps;
  let isWrong = false;
  let askAtMs = 0;

  const log = ({ verdict, aheadMs }: ClockReading): void => {
    if (verdict === 'unknown' || (verdict === 'wrong') === isWrong) return;
    isWrong = verdict === 'wrong';
    const details = { ahead_ms: aheadMs };
    if (isWrong)
      logger.warn(
        details,
        "the clock of this machine differs from the API's by more than a minute",
      );
    else logger.info(details, "the clock of this machine and the API's agree again");
  };
  const round = async (signal: AbortSignal): Promise<number> => {
    const reading = apiClock.read();
    log(reading);
    // While the account is paused its probes are answered, or nothing is.
    if (reading.verdict === 'right' || clock.steadyMs() < askAtMs || pauses.isAccountPaused())
      return checkedEveryMs;
    const deadlineMs = await steps.nextDeadlineMs();
    if (deadlineMs === null || deadlineMs > apiClock.present().latestMs) return checkedEveryMs;
    askAtMs = clock.steadyMs() + askedEveryMs[reading.verdict];
    await budgetedProbe(deps, 'products', signal);
    return checkedEveryMs;
  };
  return new Loop({ clock, round });
}
