import { pino, stdTimeFunctions, type Logger } from 'pino';
import { messageText } from '../core/message-text.ts';

export type { Logger } from 'pino';

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly version: string;
  readonly instance: string;
}

/**
 * Standard output, or the stream of a test. Node writes at once, and keeps in memory what a pipe does
 * not take.
 */
interface LogStream {
  readonly isTTY?: boolean | undefined;
  readonly writableLength?: number;
  write(line: string): unknown;
}

/**
 * Log fields that may contain a key or a delivered code. This is a second protection: the code
 * never puts such values into a log object. pino compares names exactly, so headers are listed as
 * Node and undici write them.
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

/** So much is kept for a reader that is late. */
const mostUnreadBytes = 8 * 1_048_576;

/**
 * The log of the worker. Each line is written before the call returns: nothing is lost when the
 * process is killed, but lines that nobody reads are dropped and counted. A line has `level` as a word, `time` as ISO 8601 UTC, `instance` and
 * `version`; on a terminal it is formatted for people.
 */
export function createLogger(options: LogOptions, stream: LogStream): Logger {
  const pretty = stream.isTTY === true;
  const children: Logger[] = [];
  let dropped = 0;
  const write = (line: string): void => {
    if ((stream.writableLength ?? 0) > mostUnreadBytes) {
      dropped += 1;
      return;
    }
    if (dropped > 0) {
      const lines = dropped;
      dropped = 0;
      logger.error({ lines }, 'the log was read too slowly: lines were dropped');
    }
    stream.write(pretty ? terminalText(line) : line);
  };
  const logger = pino(
    {
      level: options.level,
      onChild: (child) => void children.push(child),
      base: pretty ? {} : { instance: options.instance, version: options.version },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths, censor: '***' },
    },
    { write },
  );
  childrenOf.set(logger, children);
  return logger;
}

/**
 * The children of each logger. pino gives every child a level of its own; each component has one,
 * made at the start.
 */
const childrenOf = new WeakMap<Logger, readonly Logger[]>();

export function setLogLevel(logger: Logger, level: string): void {
  for (const each of [logger, ...(childrenOf.get(logger) ?? [])]) each.level = level;
}

const longestLine = 1000;
const colours: Readonly<Record<string, string>> = {
  warn: '\u001b[33m',
  error: '\u001b[31m',
  fatal: '\u001b[31m',
};

/** What is bought, as people call it. */
const purchases: Readonly<Record<string, string>> = {
  gift_card_order: 'gift card',
  esim_order: 'eSIM',
  esim_topup: 'eSIM top-up',
  esim_cancel: 'eSIM cancellation of',
};

/** For programs, or said by the beginning of the line. A reader who needs them has the JSON log. */
const unsaid = [
  'component',
  'source',
  'reference',
  'purpose',
  'key',
  'outcome',
  'http',
  'code',
  'duration_ms',
  'file_id',
];

/**
 * One event of the log for a person at a terminal: its time here, the order that it is about, what
 * happened, then what else is known. Nothing from outside can move the cursor. An error has its
 * stack below.
 */
function terminalText(json: string): string {
  const event: Readonly<Record<string, unknown>> = JSON.parse(json);
  const { time, level, msg, err, order_id, line_id, operation, state, product, ...rest } = event;
  const { order_number, cost, currency, message, ...more } = rest;
  const isAttempt = msg === `${String(operation)} ${String(state)}`;
  const words = [
    [order_id, line_id].filter(isSaid).join('/'),
    purchases[String(operation)],
    product,
    isAttempt ? outcomeOf(String(operation), String(state)) : msg,
    order_number,
    cost,
    isSaid(cost) ? currency : null,
    isSaid(message) ? `- ${String(message)}` : null,
    operation === undefined ? state : null,
  ];
  const details = Object.entries(more).filter(
    ([name, value]) => !unsaid.includes(name) && isSaid(value),
  );
  const said = details.map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const text = [...words.filter(isSaid), said.length === 0 ? '' : `(${said.join(', ')})`].join(' ');
  const colour = colours[String(level)];
  const mark = colour === undefined ? '' : `${colour}${String(level).toUpperCase()}\u001b[39m `;
  return `${new Date(String(time)).toTimeString().slice(0, 8)} ${mark}${messageText(text, longestLine)}\n${stackOf(err)}`;
}

const isSaid = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && value !== 0;

function outcomeOf(operation: string, state: string): string {
  if (state !== 'fulfilled') return state.replaceAll('_', ' ');
  return operation === 'esim_cancel' ? 'done' : 'bought';
}

function stackOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return '';
  const stack = 'stack' in err ? String(err.stack) : JSON.stringify(err);
  return stack
    .split('\n')
    .map((line) => `    ${messageText(line, longestLine)}\n`)
    .join('');
}
