import { pino, type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { LogSettings } from './settings.ts';

export type { Logger } from 'pino';

export interface LogOptions extends LogSettings {
  readonly version: string;
  readonly instance: string;
}

/** Where lines go: standard output (which Node writes at once, pipes included), or a stream that a test reads. */
export interface LogStream {
  readonly isTTY?: boolean | undefined;
  write(line: string): unknown;
}

/**
 * Paths that may carry a key or a delivered code. This is the second wall: such values are never put into a log object
 * in the first place. Case matters to pino, so headers are listed as Node and undici write them.
 */
export const redactedPaths = [
  'authorization',
  'Authorization',
  '*.authorization',
  '*.Authorization',
  'headers.authorization',
  'headers.Authorization',
  '*.headers.authorization',
  '*.headers.Authorization',
  'api_key',
  'apiKey',
  '*.api_key',
  '*.apiKey',
  'keys[*].value',
  '*.keys[*].value',
  'secret',
  '*.secret',
  'token',
  '*.token',
  'units',
  '*.units',
  'units[*].code',
  'codes',
  '*.codes',
  'code_text',
  'pin',
  '*.pin',
  'lpa',
  '*.lpa',
  'qr_url',
  '*.qr_url',
  'matching_id',
  '*.matching_id',
  'confirmation_code',
  '*.confirmation_code',
  'body',
  '*.body',
];

/**
 * The log of the worker. Every line is written before the call returns, so that nothing is lost when the process ends
 * or is killed. Lines carry `level` as a word, `time` as ISO 8601 UTC, `instance` and `version`.
 */
export function createLogger(options: LogOptions, stream: LogStream): Logger {
  const pretty = options.format === 'pretty' || (options.format === 'auto' && stream.isTTY === true);
  const children: Logger[] = [];
  const logger = pino(
    {
      level: options.level,
      onChild: (child) => void children.push(child),
      base: pretty ? {} : { instance: options.instance, version: options.version },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths, censor: '***' },
    },
    pretty ? prettyLines(stream) : stream,
  );
  families.set(logger, children);
  return logger;
}

/** The children of a logger: each has a level of its own. They are made once, at the start, one for each component. */
const families = new WeakMap<Logger, readonly Logger[]>();

/** Changes which lines are written, by the logger and by those that were made from it. */
export function setLogLevel(logger: Logger, level: string): void {
  for (const each of [logger, ...(families.get(logger) ?? [])]) each.level = level;
}

/**
 * Formatted in the call that writes: pino's own transports and pino-pretty's stream work behind a buffer, and what is
 * in it is lost with the process.
 */
function prettyLines(stream: LogStream): { write(line: string): void } {
  const format = prettyFactory({
    colorize: stream.isTTY === true,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname,instance,version',
    singleLine: true,
  });
  return { write: (line) => void stream.write(format(line)) };
}
