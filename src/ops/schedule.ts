import { schedule, validate } from 'node-cron';

/** Five fields, or six with seconds, for example `*\/5 * * * *`: every five minutes. */
export function isCronExpression(text: string): boolean {
  return validate(text);
}

export interface Schedule {
  stop(): void;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined };

/** Calls `notify` whenever the expression says, in UTC. A time that passed while the machine slept is not made up for. */
export function onSchedule(expression: string, notify: () => void): Schedule {
  const task = schedule(expression, notify, { timezone: 'UTC', logger: silent, suppressMissedWarning: true });
  return { stop: () => void task.destroy() };
}
