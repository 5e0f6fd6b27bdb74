import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
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
import { problemKinds } from '../../src/intake/http/problem.ts';

const [giftCard, esim, topup, cancel] = orderLineSchema.options;
/** The SKU map says the rest. */
const bySku = giftCard
  .extend({ ...topup.shape, type: z.enum(operations), sku: z.string() })
  .omit({ variant: true, plan: true })
  .partial()
  .required({ sku: true });
/** What `completeLine` fills in may be absent. */
const lineSchema = z.union([
  giftCard.partial({ line_id: true, type: true, quantity: true }),
  esim.partial({ line_id: true, type: true, quantity: true }),
  topup.partial({ line_id: true, type: true }),
  cancel.partial({ line_id: true }),
  bySku,
]);

/** One order, as it is posted and as it is written in an order file. */
export const orderSchema = orderHeadSchema
  .extend({
    // Any JSON: the real schema refers to itself, which OpenAPI cannot express here.
    metadata: z.record(z.string(), z.unknown()).optional().describe('Carried into the result.'),
    lines: z
      .array(lineSchema)
      .min(1)
      .max(orderLimits.linesPerRequest)
      .describe(
        'A line may leave out its type if it names a variant, a plan or a SKU of `sku_map` (a plan with an iccid is a top-up), a quantity of 1, and its line_id if the order has no other line.',
      ),
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
                'needs_manual_delivery: an operator found that it was bought, and units are missing.',
              ),
            resolved_by: z
              .string()
              .nullable()
              .describe('Who resolved it by hand; null: the answers of the API did.'),
            order_number: z.string().nullable(),
            currency: z.string().nullable(),
            cost: z.string().nullable(),
            units: z
              .array(unitSchema)
              .describe('The delivered codes or eSIMs; none in needs_review.'),
            cancelled_iccids: z
              .array(z.string())
              .optional()
              .describe('Those of its eSIMs that were cancelled since. Absent: none.'),
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

/** The named schemas of the document: of the orders that are checked, and of the answers. */
export function documentSchemas(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  const named = {
    Order: orderSchema,
    Batch: batchSchema,
    Acknowledgement: acknowledgementSchema,
    Acknowledgements: acknowledgementsSchema,
    Result: resultSchema,
    Problem: problemSchema,
  };
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const uri = (id: string): string => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(registry, { uri, io: 'input', unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _own, ...schema }]) => [
      id,
      schema,
    ]),
  );
}

/** `src/intake/http/openapi.yaml`. */
export const documented = z
  .looseObject({
    paths: z.record(z.string(), z.record(z.string(), z.unknown())),
    components: z.object({ schemas: z.record(z.string(), z.unknown()) }).loose(),
  })
  .parse(
    parse(readFileSync(join(import.meta.dirname, '../../src/intake/http/openapi.yaml'), 'utf8')),
  );
