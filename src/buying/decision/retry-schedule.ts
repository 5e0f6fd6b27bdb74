import type { Random } from '../../core/clock.ts';

/**
 * Delays before each further try; the last one repeats. Jitter keeps many entries from being due at
 * once.
 */
interface Schedule {
  readonly stepsMs: readonly number[];
  /** How much longer or shorter a delay may be, as a share of it. */
  readonly spread: number;
}

const seconds = (...values: number[]): number[] => values.map((value) => value * 1000);

export const schedules = {
  /** At once: a call that the worker left open when it stopped. */
  now: { stepsMs: [0], spread: 0 },
  standard: { stepsMs: seconds(5, 15, 45, 120, 300), spread: 0.2 },
  /** After a timeout the server gets time to finish the call. */
  slow: { stepsMs: seconds(30, 45, 120, 300), spread: 0.2 },
  /** Spec 7: "Wait a few seconds, retry." */
  rate_limit: { stepsMs: seconds(5, 7.5, 11, 17, 25, 38, 60), spread: 0.2 },
  /** An order that has failed to arrive more than once. */
  absent: { stepsMs: seconds(60, 120, 300, 600, 900), spread: 0.2 },
  stock: { stepsMs: seconds(300), spread: 0.2 },
  balance: { stepsMs: seconds(60, 120, 240, 480, 900), spread: 0.1 },
  /** Spec 7, `not_cancellable`: worth a retry "after about a minute". */
  cancel: { stepsMs: seconds(67), spread: 0.1 },
} as const satisfies Record<string, Schedule>;
export type ScheduleName = keyof typeof schedules;

/**
 * How long to wait before the next try, in ms.
 * @param tries how many tries of this kind were made before, from 0
 * @param scale stretches or shrinks every delay; 1 in production, small in a sandbox
 */
export function retryDelayMs(
  name: ScheduleName,
  tries: number,
  scale: number,
  random: Random,
): number {
  const schedule: Schedule = schedules[name];
  const step = schedule.stepsMs[Math.min(tries, schedule.stepsMs.length - 1)] ?? 0;
  const jittered = step * (1 + schedule.spread * (2 * random() - 1));
  return Math.round(jittered * scale);
}
