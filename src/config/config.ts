import type { CamelKeys } from '../core/settings/schema-values.ts';
import type { Origin } from './layers.ts';
import type { Readings, ResolvedDocument, toConfig } from './resolve.ts';

/** The whole configuration: every path absolute, every secret read, every default filled in. It never changes. */
export type Config = CamelKeys<ReturnType<typeof toConfig>>;

/** A valid configuration, with what `check-config` and a reload need to know about it. */
export interface LoadedConfig {
  readonly config: Config;
  readonly document: ResolvedDocument;
  readonly readings: Readings;
  readonly file: string;
  /** Sentences for the log about what works but should be corrected. */
  readonly warnings: readonly string[];
  readonly values: readonly ConfigValue[];
  /** Dotted path to a digest of its value, also of secrets: a comparison finds changes without showing values. */
  readonly digests: ReadonlyMap<string, string>;
}

/** One value with its source, for `check-config --explain`. Secrets are masked. */
export interface ConfigValue {
  readonly path: string;
  readonly value: unknown;
  readonly source: 'default' | Origin['kind'];
  readonly place: string;
}
