import * as z from 'zod';
import { errorRows } from '../orders/answers.ts';
import { type ApiOperation, apiOperations } from './api-operations.ts';
import { errorAnswer, wireSchemas } from '../orders/wire.ts';

const requestId = { description: 'Names this call in the request log of the sandbox.', schema: { type: 'string' } };
const schemaPath = '#/components/schemas/';

/** The OpenAPI 3.1 document of the API, made from the same schemas that check the requests and shape the answers. */
export function openApiDocument(baseUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of apiOperations) {
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
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' } },
      schemas: namedSchemas(),
    },
  };
}

function describe(operation: ApiOperation): object {
  const { request, answer, parameters, given, example } = operation;
  const assumed = given === true ? '' : ' Method and path are assumed: the specification does not show them.';
  const successes = Object.entries(operation.successes).map(([status, description]) => [
    status,
    { description, headers: { 'Request-Id': requestId }, content: jsonContent(answer) },
  ]);
  return {
    operationId: operation.operation,
    summary: operation.summary,
    description: operation.description + assumed,
    tags: [operation.tag],
    parameters,
    ...(request === undefined
      ? {}
      : {
          requestBody: {
            // A cancel has no fields, so it may come without a body.
            required: operation.operation !== 'esim_cancel',
            content: jsonContent(request, { example }),
          },
        }),
    responses: { ...Object.fromEntries(successes), ...errorResponses(operation) },
  };
}

/** One response for each status, with the codes that it can carry as examples. */
function errorResponses({ errors }: ApiOperation): Record<string, object> {
  const byStatus = Map.groupBy(
    errorRows.filter(({ code }) => errors.includes(code)),
    ({ status }) => status,
  );
  return Object.fromEntries(
    [...byStatus].map(([status, rows]) => [
      String(status),
      {
        description: rows.map(({ code, meaning }) => `\`${code}\`: ${meaning}`).join(' '),
        headers: {
          'Request-Id': requestId,
          ...(status === 429 ? { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'string' } } } : {}),
        },
        content: jsonContent(errorAnswer, {
          examples: Object.fromEntries(
            rows.map(({ code, meaning }) => [code, { value: { error: { code, message: meaning } } }]),
          ),
        }),
      },
    ]),
  );
}

function jsonContent(schema: z.ZodType, examples: object = {}): object {
  const id = wireSchemas.get(schema)?.id;
  if (id === undefined) throw new Error('every schema of the document must have a name');
  return { 'application/json': { schema: { $ref: schemaPath + id }, ...examples } };
}

/** Where one schema is part of another, the document has a $ref. `$schema` and `$id` are for files of their own. */
function namedSchemas(): Record<string, object> {
  const { schemas } = z.toJSONSchema(wireSchemas, { uri: (id) => schemaPath + id, io: 'input' });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _own, ...schema }]) => [id, schema]),
  );
}
