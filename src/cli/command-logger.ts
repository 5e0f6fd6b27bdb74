import type { Config } from '../config/config.ts';
import { createLogger, type Logger } from '../ops/logger.ts';
import { programVersion } from '../ops/program-version.ts';
import type { TextStream } from './output.ts';

// Apart from the context of a command, because the library of the log takes as long to load as the
// rest of a short command.

/** A logger with the settings of a configuration. */
export function loggerFor(
  { log, instance }: Config,
  stream: TextStream,
  level = log.level,
): Logger {
  return createLogger({ level, version: programVersion, instance }, stream);
}
