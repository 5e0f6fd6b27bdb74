import { join } from 'node:path';
import { z } from 'zod';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { sandboxConfigSchema, type SandboxConfig } from '../../sandbox/settings/config.ts';

/** The command line reads the first three keys itself; the rest belongs to the sandbox. */
export const sectionSchema = sandboxConfigSchema.extend({
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

/**
 * Reads the `sandbox` section of a configuration. Throws CONFIG_INVALID with every mistake in it.
 */
export function readSandboxSection(section: unknown, dataDir: string): SandboxSection {
  const { data, error } = sectionSchema.safeParse(section ?? {});
  if (error !== undefined) {
    const mistakes = error.issues.map(
      (issue) => `  ${['sandbox', ...issue.path].join('.')}: ${issue.message}`,
    );
    throw new OrderSyncError(
      'CONFIG_INVALID',
      ['The sandbox section has mistakes:', ...mistakes].join('\n'),
      {
        hint: 'every key is described in docs/sandbox.md',
      },
    );
  }
  const { listen, database = join(dataDir, 'sandbox.db'), seed, ...config } = data;
  return { listen, database, seed, config };
}
