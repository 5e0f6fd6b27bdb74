import * as z from 'zod';
import { errorRows } from './answers.ts';
import { type DocumentedOperation, documentedOperations } from './openapi-operations.ts';
import { examples } from './openapi-examples.ts';
import { errorAnswer, wireSchemas } from './wire.ts';

const schemaPath = '#/components/schemas/';

/** The OpenAPI 3.1 document of the API, made from the very schemas that check and shape what goes over the wire. */
export function openApiDocument(baseUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of documentedOperations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wholesale Ordering API (sandbox)',
      version: '1.0.0',
      description:
        'Buy gift cards, software keys and eSIMs from the balances of a wholesale account. Amounts are decimal text. Per key: 60 requests and 20 orders, top-ups and cancels a minute. Operations marked as assumed are not shown in the specification of the service.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl, description: 'This sandbox' }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Gift cards & software', description: 'Endpoints without a prefix.' },
      { name: 'eSIMs', description: 'Endpoints below /esim.' },
      { name: 'Account', description: 'What a key may know about its account.' },
    ],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account page.' } },
      schemas: namedSchemas(),
    },
  };
}

function describe(operation: DocumentedOperation): object {
  const { request, answer, parameters, given } = operation;
  const example = examples[operation.operation];
  const assumed = given ? '' : ' Method and path are assumed: the specification does not show them.';
  const successes = Object.entries(operation.successes).map(([status, description]) => [
    status,
    { description, content: { 'application/json': { schema: reference(answer), example: example.answer } } },
  ]);
  return {
    operationId: operation.operation,
    summary: operation.summary,
    description: operation.description + assumed,
    tags: [operation.tag],
    ...(parameters === undefined
      ? {}
      : { parameters: parameters.map((parameter) => ({ ...parameter, required: parameter.in === 'path' })) }),
    ...(request === undefined
      ? {}
      : {
          requestBody: {
            // Only the cancel has nothing to say, so only its body may be missing.
            required: operation.operation !== 'esim_cancel',
            content: { 'application/json': { schema: reference(request), example: example.request } },
          },
        }),
    responses: { ...Object.fromEntries(successes), ...errorResponses(operation) },
  };
}

/** One response for each status, with the codes that it can carry as examples. */
function errorResponses({ errors }: DocumentedOperation): Record<string, object> {
  const rows = errorRows.filter(({ code }) => errors.includes(code));
  const byStatus = Map.groupBy(rows, ({ status }) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, meant]) => [
      String(status),
      {
        description: meant.map(({ code, meaning }) => `\`${code}\`: ${meaning}`).join(' '),
        ...(status === 429
          ? { headers: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'string' } } } }
          : {}),
        content: {
          'application/json': {
            schema: reference(errorAnswer),
            examples: Object.fromEntries(
              meant.map(({ code, meaning }) => [code, { value: { error: { code, message: meaning } } }]),
            ),
          },
        },
      },
    ]),
  );
}

function reference(schema: z.ZodType): object {
  const id = wireSchemas.get(schema)?.id;
  if (id === undefined) throw new Error('every schema of the document must have a name');
  return { $ref: schemaPath + id };
}

/** Where one schema is part of another, the document says $ref; `$schema` and `$id` belong to files, not to parts. */
function namedSchemas(): Record<string, object> {
  const { schemas } = z.toJSONSchema(wireSchemas, { uri: (id) => schemaPath + id, io: 'input' });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _own, ...schema }]) => [id, schema]),
  );
}
