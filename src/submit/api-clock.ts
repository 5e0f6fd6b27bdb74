import type { Clock } from '../core/clock.ts';
import { ApiTime, type ClockReading, type ClockSample, type PresentTime } from '../core/time/wall-clock.ts';
import type { AnswerTimes } from '../wholesale/transport/dated-answers.ts';

/** Who knows the time by which deadlines are judged. Without an API clock, that is what this machine's clock shows. */
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
    this.#time = new ApiTime(clock.monoMs());
  }

  /** The API client reports the time of each answer here. */
  get answerTimes(): AnswerTimes {
    return {
      monoMs: () => this.#clock.monoMs(),
      onAnswer: (time) => this.#time.record(time, this.#now()),
    };
  }

  /** The wall clock was set; it shows the new time already. */
  stepped(stepMs: number): void {
    this.#time.wallClockStepped(stepMs, this.#now());
  }

  /** Whether the clock of this machine is right, by the answers so far. */
  read(): ClockReading {
    return this.#time.read(this.#now());
  }

  /** The time by which deadlines are judged. */
  present(): PresentTime {
    return this.#time.present(this.#now());
  }

  #now(): ClockSample {
    return { wallMs: this.#clock.wallMs(), monoMs: this.#clock.monoMs() };
  }
}
