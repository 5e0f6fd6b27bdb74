import { z } from 'zod';
import { sourceSchema } from '../core/order/order-request.ts';

type Shape = z.core.$ZodLooseShape;

/** A section that need not be in the file: each of its keys has a default, or may be unset. */
export const section = <Keys extends Shape>(description: string, keys: Keys) =>
  z
    .strictObject(keys)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema itself checks the empty section
    .prefault({} as never)
    .describe(description);

/** A list of entries, which is empty where it is not in the file. */
export const listOf = <Keys extends Shape>(most: number, description: string, keys: Keys) =>
  z.array(z.strictObject(keys)).max(most).default([]).describe(description);

export const someSources = z.array(sourceSchema).min(1).max(100).optional();
