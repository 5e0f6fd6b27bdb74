import { z } from 'zod';
import { placeholdersOf } from './wire-path.ts';

/** A path below the base address; its only variable parts are the placeholders named here. */
export function pathTemplate(...placeholders: readonly string[]) {
  const shown = placeholders.map((name) => `{${name}}`).join(', ');
  return z
    .string()
    .regex(/^\/(?!\/)[!-~]*$/, 'must start with a single "/" and have no spaces')
    .regex(/^[^#\\]*$/, 'must not contain "#" or "\\"')
    .refine((path) => placeholdersOf(path).every((name) => placeholders.includes(name)), {
      error: shown === '' ? 'must have no placeholder' : `may have no placeholder but ${shown}`,
    });
}

/** Where a value may stand in an answer, best first, as dotted paths; an empty list means that it is never read. */
export const candidates = (...paths: readonly string[]) =>
  z
    .array(z.string().regex(/^(\$|[^\s.]+(\.[^\s.]+)*)$/, 'must be a dotted path such as order.total, or $'))
    .max(50)
    .default([...paths]);

export const words = (...defaults: readonly string[]) =>
  z.array(z.string().min(1).max(64)).max(100).default(defaults.slice());
