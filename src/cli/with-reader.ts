import { openReader } from '../store/read/reader.ts';
import { configFrom, type ConfigOptions } from './config-options.ts';

export type Reader = ReturnType<typeof openReader>;

/** Opens the outbox of a configuration for reading, beside a running worker or without one, and closes it again. */
export function withReader<T>(options: ConfigOptions, read: (reader: Reader) => T): T {
  const reader = openReader(configFrom(options).config.databasePath);
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}
