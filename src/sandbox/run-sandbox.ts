import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { sandboxConfigSchema } from './config.ts';
import { createSandbox, type LogLine, type Sandbox } from './create-sandbox.ts';

export type RunOptions = {
  /** A YAML file: either the sandbox's settings alone, or any config with them under `sandbox:`. */
  configFile?: string;
  /** These three count instead of what the file says. */
  listen?: string;
  database?: string;
  seed?: number;
  /** Empties the database first. */
  reset?: boolean;
  log?: (line: LogLine) => void;
};

/** Where a sandbox keeps its data when nobody says otherwise: relative to the working directory. */
export const defaultDatabase = 'data/sandbox.db';
/** Where it listens when it runs as a service of its own. */
export const defaultListen = '127.0.0.1:8090';

/** Starts a sandbox as a service: from a file, with the overrides of a command line. Throws when the file is not valid. */
export async function runSandbox(options: RunOptions): Promise<Sandbox> {
  const { configFile, reset = false, log } = options;
  const config = configFile === undefined ? {} : sectionOf(readFileSync(configFile, 'utf8'), configFile);
  const configDir = configFile === undefined ? '.' : dirname(configFile);
  const database =
    options.database ??
    (config.database === undefined ? resolve(defaultDatabase) : resolve(configDir, config.database));
  const sandbox = await createSandbox({
    listen: options.listen ?? config.listen ?? defaultListen,
    database,
    config,
    configDir,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    ...(log === undefined ? {} : { log }),
  });
  if (reset) await sandbox.operate((operator) => operator.reset());
  return sandbox;
}

const combinedFile = z.looseObject({ sandbox: z.unknown() });

function sectionOf(text: string, file: string): z.input<typeof sandboxConfigSchema> {
  const content: unknown = parse(text) ?? {};
  const combined = combinedFile.safeParse(content);
  const section = combined.success && combined.data.sandbox !== undefined ? combined.data.sandbox : content;
  const parsed = sandboxConfigSchema.safeParse(section ?? {});
  if (!parsed.success)
    throw new Error(`the sandbox's settings in ${file} are not valid:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
