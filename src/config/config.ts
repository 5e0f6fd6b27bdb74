import type { z } from 'zod';
import type { ConfigIssue } from './config-issue.ts';
import type { Origin } from './layers.ts';
import type { ConfigDocument, Readings, toConfig } from './resolve.ts';
import type { ConfigPath } from './section-check.ts';

/**
 * The whole configuration: every path absolute, every secret read, every default filled in. It
 * never changes.
 */
export type Config = ReturnType<typeof toConfig>;

/** A valid configuration, with what `check-config` and a reload need to know about it. */
export interface LoadedConfig {
  readonly config: Config;
  readonly document: ConfigDocument;
  readonly readings: Readings;
  readonly file: string;
  /** Sentences for the log about what works but should be corrected. */
  readonly warnings: readonly string[];
  readonly values: readonly ConfigValue[];
  /**
   * Dotted path to a digest of its value, also of secrets: a comparison finds changes without
   * showing values.
   */
  readonly digests: ReadonlyMap<string, string>;
  /** What is wrong with the section at this path, which another module reads by its schema. */
  readonly issuesIn: (
    at: ConfigPath,
    error: z.ZodError,
    schema: z.ZodType,
  ) => readonly ConfigIssue[];
}

/** One value with its source, for `check-config --explain`. Secrets are masked. */
export interface ConfigValue {
  readonly path: string;
  readonly value: unknown;
  readonly source: 'default' | Origin['kind'];
  readonly place: string;
}
