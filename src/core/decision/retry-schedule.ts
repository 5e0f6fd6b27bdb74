import type { Random } from '../clock.ts';

/** Delays before the n-th further try, in ms; the last one repeats. Jitter keeps many entries from moving as one. */
interface Schedule {
  readonly stepsMs: readonly number[];
  /** The share of a delay by which it is spread, to both sides. */
  readonly spread: number;
}

const seconds = (...values: number[]): number[] => values.map((value) => value * 1000);

export const schedules = {
  /** At once: a call that this process, or its predecessor, left open is cleared up first of all. */
  now: { stepsMs: [0], spread: 0 },
  standard: { stepsMs: seconds(5, 15, 45, 120, 300), spread: 0.2 },
  /** After an answer that took too long, the server is given time to finish what it may still be doing. */
  slow: { stepsMs: seconds(30, 45, 120, 300), spread: 0.2 },
  /** Spec 7: "Wait a few seconds, retry." */
  rate_limit: { stepsMs: seconds(5, 7.5, 11, 17, 25, 38, 60), spread: 0.2 },
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
export function retryDelayMs(name: ScheduleName, tries: number, scale: number, random: Random): number {
  const schedule: Schedule = schedules[name];
  const step = schedule.stepsMs[Math.min(tries, schedule.stepsMs.length - 1)] ?? 0;
  const jittered = step * (1 + schedule.spread * (2 * random() - 1));
  return Math.round(jittered * scale);
}
