import { join } from 'node:path';
import { z } from 'zod';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { sandboxConfigSchema, type SandboxConfig } from '../sandbox/settings/config.ts';

/** The keys that the command line reads itself; the rest belongs to the sandbox. */
const placeSchema = z.strictObject({
  listen: z.string().default('127.0.0.1:8090'),
  database: z.string().min(1).optional(),
  seed: z.int().min(0).default(1),
});

export interface SandboxSection {
  readonly listen: string;
  /** A file of its own, never that of the worker. */
  readonly database: string;
  readonly seed: number;
  readonly config: SandboxConfig;
}

/** Reads the `sandbox` section of a configuration. Throws CONFIG_INVALID with every mistake in it. */
export function readSandboxSection(section: unknown, dataDir: string): SandboxSection {
  const { place, rest } = splitSection(section ?? {});
  const where = placeSchema.safeParse(place);
  const config = sandboxConfigSchema.safeParse(rest);
  if (!where.success || !config.success) {
    throw invalid([...(where.error?.issues ?? []), ...(config.error?.issues ?? [])]);
  }
  const { listen, database, seed } = where.data;
  return { listen, seed, database: database ?? join(dataDir, 'sandbox.db'), config: config.data };
}

const isOurs = ([key]: [string, unknown]): boolean => Object.hasOwn(placeSchema.shape, key);

/** Both parts are checked, so that the mistakes of both are reported together. */
function splitSection(section: unknown): { place: unknown; rest: unknown } {
  if (typeof section !== 'object' || section === null || Array.isArray(section)) return { place: section, rest: {} };
  const entries = Object.entries(section);
  return {
    place: Object.fromEntries(entries.filter(isOurs)),
    rest: Object.fromEntries(entries.filter((entry) => !isOurs(entry))),
  };
}

function invalid(issues: readonly z.core.$ZodIssue[]): OrderSyncError {
  const mistakes = issues.map((issue) => `  ${['sandbox', ...issue.path].join('.')}: ${issue.message}`);
  return new OrderSyncError('CONFIG_INVALID', ['The sandbox section has mistakes:', ...mistakes].join('\n'), {
    hint: 'every key is described in docs/sandbox.md',
  });
}
