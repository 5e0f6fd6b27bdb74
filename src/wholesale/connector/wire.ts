import { z } from 'zod';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { catalogueWire } from './wire-catalogue.ts';
import { answerWire } from './wire-answer.ts';
import { pathTemplate } from './wire-parts.ts';
import { createHash } from 'node:crypto';

const fieldName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'must be the name of a JSON field');
const fieldOrOff = z.union([z.literal('off'), fieldName]);
const fixedNames = ['reference', 'quantity', 'days'];

/** Constants that are added to a request body. Their names must differ from those of its other fields. */
const extra = z.record(fieldName, z.json()).default({});

function usesEachNameOnce(
  operation: { readonly fields: Readonly<Record<string, string>>; readonly extra: Readonly<Record<string, unknown>> },
  context: z.RefinementCtx,
): void {
  const names = [...fixedNames, ...Object.values(operation.fields).filter((name) => name !== 'off')];
  const taken = names.find((name, index) => names.indexOf(name) !== index || Object.hasOwn(operation.extra, name));
  if (taken !== undefined) {
    context.addIssue({ code: 'custom', message: `uses the field name "${taken}" twice` });
  }
}

function namesTheEsim(
  operation: { readonly path: string; readonly fields: { readonly iccid: string } },
  context: z.RefinementCtx,
): void {
  if (!operation.path.includes('{iccid}') && operation.fields.iccid === 'off') {
    context.addIssue({ code: 'custom', message: 'must name the eSIM: with {iccid} in path, or with fields.iccid' });
  }
}

const giftCardOrder = z
  .strictObject({
    fields: z
      .strictObject({ variant: fieldName.default('variant'), currency: fieldName.default('currency') })
      .prefault({}),
    extra,
  })
  .superRefine(usesEachNameOnce);

const esimOrder = z
  .strictObject({
    fields: z.strictObject({ plan: fieldName.default('plan'), currency: fieldName.default('currency') }).prefault({}),
    extra,
  })
  .superRefine(usesEachNameOnce);

const esimTopup = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
    path: pathTemplate('iccid').default('/esim/esims/{iccid}/topups'),
    fields: z
      .strictObject({
        plan: fieldName.default('plan'),
        currency: fieldName.default('currency'),
        iccid: fieldOrOff.default('off'),
      })
      .prefault({}),
    extra,
  })
  .superRefine(usesEachNameOnce)
  .superRefine(namesTheEsim);

const esimCancel = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
    path: pathTemplate('iccid').default('/esim/esims/{iccid}/cancel'),
    /** `none`: no body and no content type; `fields` is then not used. */
    body: z.enum(['json', 'none']).default('json'),
    fields: z.strictObject({ iccid: fieldOrOff.default('off') }).prefault({}),
    extra,
  })
  .superRefine(usesEachNameOnce)
  .superRefine(namesTheEsim)
  .superRefine((cancel, context) => {
    if (cancel.body === 'none' && !cancel.path.includes('{iccid}')) {
      context.addIssue({ code: 'custom', message: 'must name the eSIM with {iccid} in path, since there is no body' });
    }
  });

const read = z.strictObject({ path: pathTemplate('key').includes('{key}') });

/** The fields of a found order that are compared with the purchase. */
const comparedFields = ['product', 'quantity', 'days', 'currency', 'iccid'] as const;
export type ComparedField = (typeof comparedFields)[number];

/** How one order is read back; `off` where the API has no such call. */
const lookup = z.strictObject({
  gift_card: z.union([z.literal('off'), read]).default({ path: '/orders/{key}' }),
  esim: z.union([z.literal('off'), read]).default({ path: '/esim/orders/{key}' }),
  /** Omit a field where the API uses its name for something else, for example for the currency of a gift card. */
  compare: z.array(z.enum(comparedFields)).default([...comparedFields]),
});

/**
 * The wire mapping: everything that the specification marks "not shown". It has the methods, paths and field names of requests,
 * and the places where answers keep their values. A config overrides parts of it under `wholesale.wire`: an omitted part keeps
 * its default, and a list replaces the default list. It leaves out the parts that the specification fixes: `reference`,
 * `quantity`, `days`, the given paths, the error body and its codes.
 */
export const wireSchema = z.strictObject({
  gift_card_order: giftCardOrder.prefault({}),
  esim_order: esimOrder.prefault({}),
  esim_topup: esimTopup.prefault({}),
  esim_cancel: esimCancel.prefault({}),
  lookup: lookup.prefault({}),
  answer: answerWire.prefault({}),
  catalogue: catalogueWire.prefault({}),
  /** Fields of units that nobody needs, beside those that `answer` ignores: without them an order counts as read. */
  ignored: z.array(z.string().min(1).max(64)).max(100).default([]),
});

export type Wire = z.output<typeof wireSchema>;
/** Any part of the mapping, as a config gives it. */
export type WireOverrides = z.input<typeof wireSchema>;

/** For one mapping, to compile a parser takes longer than to read without one. */
const readOnce = { jitless: true } as const;

let defaultWire: Wire | undefined;

function withIgnored(wire: Wire): Wire {
  const { codes, esims } = wire.answer;
  const add = (names: readonly string[]): string[] => [...new Set([...names, ...wire.ignored])];
  const lists = { codes: { ...codes, ignored: add(codes.ignored) }, esims: { ...esims, ignored: add(esims.ignored) } };
  return { ...wire, answer: { ...wire.answer, ...lists } };
}

/**
 * Reads `wholesale.wire` of a config; omitted parts get their defaults.
 * @throws OrderSyncError CONFIG_INVALID, naming every wrong place
 */
export function readWire(value: unknown): Wire {
  if (value === undefined || value === null) return (defaultWire ??= wireSchema.parse({}, readOnce));
  const parsed = wireSchema.safeParse(value, readOnce);
  if (parsed.success) return withIgnored(parsed.data);
  const mistakes = z.prettifyError(parsed.error);
  throw new OrderSyncError('CONFIG_INVALID', `wholesale.wire is not a wire mapping:\n${mistakes}`, {
    hint: 'run `order-sync wire` to see the mapping with all its names',
  });
}

/**
 * Identifies a mapping: 16 hex characters. The order in which its keys were written does not count; the order of a list
 * does, because the first candidate wins.
 */
export function connectorHash(wire: Wire): string {
  const text = JSON.stringify(wire, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
