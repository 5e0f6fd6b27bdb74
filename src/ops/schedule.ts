import { schedule, validate } from 'node-cron';

/**
 * Whether this is a cron expression of five fields, or six with seconds, such as `*\/5 * * * *`.
 */
export function isCronExpression(text: string): boolean {
  return validate(text);
}

export interface Schedule {
  stop(): void;
}

const silent = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  debug: () => undefined,
};

/**
 * Calls `notify` at the times of a cron expression, in UTC. A time that passes while the machine
 * sleeps is skipped.
 */
export function onSchedule(expression: string, notify: () => void): Schedule {
  const task = schedule(expression, notify, {
    timezone: 'UTC',
    logger: silent,
    suppressMissedWarning: true,
  });
  return { stop: () => void task.destroy() };
}
