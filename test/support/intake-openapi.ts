import { z } from 'zod';
import {
  orderHeadSchema,
  orderLimits,
  orderLineSchema,
} from '../../src/core/order/order-request.ts';
import { entryStates } from '../../src/core/entry/states.ts';
import {
  lineStates,
  orderStates,
  resultEntryStates,
} from '../../src/core/result/result-document.ts';
import { operations } from '../../src/core/order/purchase.ts';
import { type ProblemCode, problemKinds } from '../../src/intake/http/problem.ts';

/** One order, as it is posted and as it is written in an order file. */
export const orderSchema = orderHeadSchema
  .extend({
    // Any JSON: the real schema refers to itself, which OpenAPI cannot express here.
    metadata: z.record(z.string(), z.unknown()).optional().describe('Carried into the result.'),
    lines: z.array(orderLineSchema).min(1).max(orderLimits.linesPerRequest),
  })
  .meta({
    id: 'Order',
    description: 'One order of a shop. Source and order_id identify it permanently.',
  });

const errorSchema = z.strictObject({
  code: z.string(),
  message: z.string(),
  action: z.string().nullable(),
});

export const acknowledgementSchema = z
  .strictObject({
    source: z.string(),
    order_id: z.string(),
    status: z
      .enum(['accepted', 'known'])
      .describe('known: the order was accepted before with the same content.'),
    state: z.enum(orderStates),
    lines: z.array(z.strictObject({ line_id: z.string(), reference: z.string() })),
    url: z.string().describe('The path at which the order is read and cancelled.'),
  })
  .meta({
    id: 'Acknowledgement',
    description: 'The order is on disk. The API sells its lines under these references.',
  });

const unitSchema = z.looseObject({ code: z.string().optional(), iccid: z.string().optional() });

export const resultSchema = z
  .strictObject({
    source: z.string(),
    order_id: z.string(),
    state: z.enum(orderStates),
    sandbox: z.boolean().describe('true: bought from the sandbox; the codes are worthless.'),
    metadata: z.record(z.string(), z.unknown()),
    lines: z.array(
      z.strictObject({
        line_id: z.string().nullable(),
        state: z.enum(lineStates),
        entries: z.array(
          z.strictObject({
            reference: z.string(),
            operation: z.enum(operations),
            state: z
              .enum(resultEntryStates)
              .describe(
                'needs_manual_delivery: a person found that it was bought, and units are missing.',
              ),
            resolved_by: z
              .string()
              .nullable()
              .describe('Who resolved it by hand; null: the answers of the API did.'),
            order_number: z.string().nullable(),
            currency: z.string().nullable(),
            cost: z.string().nullable(),
            units: z.array(unitSchema).describe('The delivered codes or eSIMs.'),
            shredded: z
              .object({ units: z.int(), at: z.string() })
              .optional()
              .describe(
                'Only after the units were shredded: how many there were, and when that was.',
              ),
            error: errorSchema.nullable(),
          }),
        ),
        error: errorSchema.nullable(),
        extra: z.record(z.string(), z.string()).optional(),
      }),
    ),
    updated_at: z.string(),
  })
  .meta({
    id: 'Result',
    description: 'The state of the order, with everything that was delivered.',
  });

const differenceSchema = z.strictObject({ field: z.string(), was: z.unknown(), is: z.unknown() });

export const problemSchema = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(Object.keys(problemKinds)).describe('Stable: match on it.'),
    errors: z
      .array(
        z.strictObject({
          pointer: z.string(),
          code: z.string(),
          detail: z.string(),
          value: z.string().optional(),
        }),
      )
      .optional()
      .describe('invalid_order: each mistake, with a JSON pointer to it.'),
    conflicts: z
      .array(
        z.strictObject({
          source: z.string(),
          order_id: z.string(),
          url: z.string(),
          lines: z.array(
            z.strictObject({
              line_id: z.string(),
              reference: z.string().nullable(),
              differences: z.array(differenceSchema),
            }),
          ),
        }),
      )
      .optional()
      .describe('conflict: the differences from the order that was accepted.'),
    lines: z
      .array(
        z.strictObject({ line_id: z.string(), reference: z.string(), state: z.enum(entryStates) }),
      )
      .optional()
      .describe('already_sent: the state of each line.'),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });

const batchSchema = z.strictObject({ orders: z.array(orderSchema).min(1) }).meta({ id: 'Batch' });
const acknowledgementsSchema = z
  .strictObject({ orders: z.array(acknowledgementSchema) })
  .meta({ id: 'Acknowledgements' });

const named = {
  Order: orderSchema,
  Batch: batchSchema,
  Acknowledgement: acknowledgementSchema,
  Acknowledgements: acknowledgementsSchema,
  Result: resultSchema,
  Problem: problemSchema,
};

const exampleOrder = {
  source: 'shop1',
  order_id: '1001',
  currency: 'USD',
  lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-20', quantity: 2 }],
};

const uri = (id: string): string => `#/components/schemas/${id}`;
const ref = (name: keyof typeof named) => ({ $ref: uri(name) });
const json = (...names: (keyof typeof named)[]) => {
  const [first] = names;
  const schema = names.length === 1 && first !== undefined ? ref(first) : { oneOf: names.map(ref) };
  return { 'application/json': { schema } };
};

/** The refusals of one route by status; one status may have several codes. */
function refusals(codes: readonly ProblemCode[]): Record<string, object> {
  const byStatus = Map.groupBy(codes, (code) => problemKinds[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, meant]) => [
      String(status),
      {
        description: meant.map((code) => `\`${code}\`: ${problemKinds[code].title}.`).join(' '),
        content: { 'application/problem+json': { schema: ref('Problem') } },
        ...(status === 429 || status === 503
          ? {
              headers: {
                'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
              },
            }
          : {}),
      },
    ]),
  );
}

const ofAllRoutes = [
  'unauthorized',
  'source_not_allowed',
  'rate_limited',
  'internal',
  'unavailable',
] as const;

const orderParameters = ['source', 'order_id'].map((name) => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string' },
}));

const paths = {
  '/v1/orders': {
    post: {
      operationId: 'postOrders',
      summary: 'Post one or more orders',
      description:
        'The request is accepted whole or not at all. The answer is sent when it is on disk; the orders are bought after that. The same request sent again buys nothing and is answered with the same references.',
      security: [{ token: [] }, { standardWebhooks: [] }],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              oneOf: [
                ref('Order'),
                ref('Batch'),
                { type: 'array', items: ref('Order'), minItems: 1 },
              ],
            },
            example: exampleOrder,
          },
        },
      },
      responses: {
        '200': {
          description: 'Every order was accepted before with the same content.',
          content: json('Acknowledgement', 'Acknowledgements'),
        },
        '202': {
          description: 'Accepted and on disk.',
          content: json('Acknowledgement', 'Acknowledgements'),
        },
        ...refusals([
          'invalid_json',
          'incomplete',
          ...ofAllRoutes,
          'conflict',
          'too_large',
          'unsupported_media_type',
          'invalid_order',
          'overloaded',
        ]),
      },
    },
  },
  '/v1/orders/{source}/{order_id}': {
    parameters: orderParameters,
    get: {
      operationId: 'getOrder',
      summary: 'Read the state of an order',
      description: 'The result document, with everything that was delivered. It requires a token.',
      security: [{ token: [] }],
      responses: {
        '200': { description: 'The result.', content: json('Result') },
        ...refusals([...ofAllRoutes, 'not_found']),
      },
    },
    delete: {
      operationId: 'cancelOrder',
      summary: 'Cancel an order that was never sent',
      description:
        'All of its lines are cancelled, or none when a line was already sent. Repeating it changes nothing. It requires a token.',
      security: [{ token: [] }],
      responses: {
        '200': {
          description: 'Cancelled: nothing of it was or will be bought.',
          content: json('Result'),
        },
        ...refusals([...ofAllRoutes, 'not_found', 'already_sent']),
      },
    },
  },
};

/**
 * What `src/intake/http/openapi.yaml` must say, made from the schemas that check the orders; the
 * worker puts its version in.
 */
export function openApiDocument(): object {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri, io: 'input', unrepresentable: 'any' });
  return {
    openapi: '3.1.0',
    info: {
      title: 'order-sync',
      version: '0',
      description:
        'Orders of a shop, bought exactly once. An acknowledgement means that the order is on disk.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        standardWebhooks: {
          type: 'apiKey',
          in: 'header',
          name: 'webhook-signature',
          description:
            'Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature over the raw body, or the same as svix-id and so on.',
        },
      },
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([id, { $schema: _dialect, $id: _own, ...schema }]) => [
          id,
          schema,
        ]),
      ),
    },
  };
}
