import { pino, stdTimeFunctions, type Logger } from 'pino';
import { terminalText } from './terminal-log.ts';

export type { Logger } from 'pino';

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly version: string;
  readonly instance: string;
}

/** Standard output, which Node writes synchronously, or the stream of a test. */
interface LogStream {
  readonly isTTY?: boolean | undefined;
  write(line: string): unknown;
}

/**
 * Log fields that may contain a key or a delivered code. This is a second protection: the code never puts such values
 * into a log object. pino compares names exactly, so headers are listed as Node and undici write them.
 */
const secretFields = [
  'authorization',
  'Authorization',
  'api_key',
  'apiKey',
  'secret',
  'token',
  'units',
  'codes',
  'code_text',
  'pin',
  'lpa',
  'qr_url',
  'matching_id',
  'confirmation_code',
  'body',
];
const redactedPaths = [
  ...secretFields.flatMap((field) => [field, `*.${field}`]),
  '*.headers.authorization',
  '*.headers.Authorization',
  'keys[*].value',
  '*.keys[*].value',
];

/**
 * The log of the worker. Each line is written before the call returns: nothing is lost when the process is killed. A
 * line has `level` as a word, `time` as ISO 8601 UTC, `instance` and `version`; on a terminal it is formatted for people.
 */
export function createLogger(options: LogOptions, stream: LogStream): Logger {
  const pretty = stream.isTTY === true;
  const children: Logger[] = [];
  const logger = pino(
    {
      level: options.level,
      onChild: (child) => void children.push(child),
      base: pretty ? {} : { instance: options.instance, version: options.version },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths, censor: '***' },
    },
    pretty ? { write: (line: string) => void stream.write(terminalText(line)) } : stream,
  );
  childrenOf.set(logger, children);
  return logger;
}

/** The children of each logger. pino gives every child a level of its own; each component has one, made at the start. */
const childrenOf = new WeakMap<Logger, readonly Logger[]>();

export function setLogLevel(logger: Logger, level: string): void {
  for (const each of [logger, ...(childrenOf.get(logger) ?? [])]) each.level = level;
}
