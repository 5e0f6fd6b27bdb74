import { join } from 'node:path';
import { z } from 'zod';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { sandboxConfigSchema, type SandboxConfig } from '../sandbox/config.ts';

/** What the worker's side adds to the sandbox's own settings: where it stands. */
const placeSchema = z.looseObject({
  listen: z.string().default('127.0.0.1:8090'),
  database: z.string().min(1).optional(),
  seed: z.int().min(0).default(1),
});

export interface SandboxSection {
  readonly listen: string;
  /** Its own file, beside that of the worker and never the same. */
  readonly database: string;
  readonly seed: number;
  readonly config: SandboxConfig;
}

/** Reads the `sandbox` section of a configuration. Throws CONFIG_INVALID with every mistake in it. */
export function readSandboxSection(section: unknown, dataDir: string): SandboxSection {
  const place = placeSchema.safeParse(section ?? {});
  if (!place.success) throw invalid(place.error);
  const { listen, database, seed, ...rest } = place.data;
  const config = sandboxConfigSchema.safeParse(rest);
  if (!config.success) throw invalid(config.error);
  return { listen, seed, database: database ?? join(dataDir, 'sandbox.db'), config: rest };
}

function invalid(error: z.ZodError): OrderSyncError {
  const mistakes = error.issues.map((issue) => `  sandbox.${issue.path.join('.')}: ${issue.message}`);
  return new OrderSyncError('CONFIG_INVALID', ['The sandbox section has mistakes:', ...mistakes].join('\n'), {
    hint: 'every key is described in docs/sandbox.md',
  });
}
