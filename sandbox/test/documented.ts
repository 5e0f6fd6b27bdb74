import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';

const operationSchema = z.looseObject({
  operationId: z.string(),
  requestBody: z
    .object({ content: z.object({ 'application/json': z.object({ example: z.unknown() }) }) })
    .optional(),
  responses: z.record(z.string(), z.object({ description: z.string() })),
});

/** `sandbox/http/openapi.yaml`, as the sandbox serves it. */
export const documented = z
  .object({
    paths: z.record(z.string(), z.record(z.enum(['get', 'post']), operationSchema.optional())),
    components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
  })
  .parse(parse(readFileSync(join(import.meta.dirname, '../http/openapi.yaml'), 'utf8')));

/** Every operation of the API, with the example of its body. */
export const documentedOperations = Object.entries(documented.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, operation]) =>
    operation === undefined
      ? []
      : [
          {
            ...operation,
            method,
            path,
            example: operation.requestBody?.content['application/json'].example,
          },
        ],
  ),
);
