import { readFileSync } from 'node:fs';
import { z } from 'zod';

/**
 * The version in package.json, two folders above this file in the sources and in the compiled
 * package.
 */
export const programVersion: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version;
