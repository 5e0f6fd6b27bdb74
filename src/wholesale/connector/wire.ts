import { z } from 'zod';
import { catalogueWire } from './wire-catalogue.ts';
import { answerWire } from './wire-answer.ts';
import { pathTemplate } from './wire-parts.ts';

const fieldName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'must be the name of a JSON field');
const fieldOrOff = z.union([z.literal('off'), fieldName]);
const fixedNames = ['reference', 'quantity', 'days'];

/** Constants that are added to a request body; they may not take the place of a field that means something. */
const extra = z.record(fieldName, z.json()).default({});

function withoutCollisions(
  operation: { readonly fields: Readonly<Record<string, string>>; readonly extra: Readonly<Record<string, unknown>> },
  context: z.RefinementCtx,
): void {
  const names = [...fixedNames, ...Object.values(operation.fields).filter((name) => name !== 'off')];
  const taken = names.find((name, index) => names.indexOf(name) !== index || Object.hasOwn(operation.extra, name));
  if (taken !== undefined) {
    context.addIssue({ code: 'custom', message: `uses the field name "${taken}" twice` });
  }
}

function carriesIccid(
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
  .superRefine(withoutCollisions);

const esimOrder = z
  .strictObject({
    fields: z.strictObject({ plan: fieldName.default('plan'), currency: fieldName.default('currency') }).prefault({}),
    extra,
  })
  .superRefine(withoutCollisions);

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
  .superRefine(withoutCollisions)
  .superRefine(carriesIccid);

const esimCancel = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
    path: pathTemplate('iccid').default('/esim/esims/{iccid}/cancel'),
    /** `none`: no body and no content type, whatever the fields say. */
    body: z.enum(['json', 'none']).default('json'),
    fields: z.strictObject({ iccid: fieldOrOff.default('off') }).prefault({}),
    extra,
  })
  .superRefine(withoutCollisions)
  .superRefine(carriesIccid)
  .superRefine((cancel, context) => {
    if (cancel.body === 'none' && !cancel.path.includes('{iccid}')) {
      context.addIssue({ code: 'custom', message: 'must name the eSIM with {iccid} in path, since there is no body' });
    }
  });

const read = (placeholder: string) => z.strictObject({ path: pathTemplate(placeholder).includes(`{${placeholder}}`) });

/** What of a found order is compared with what was ordered. */
const comparedFields = ['product', 'quantity', 'days', 'currency', 'iccid'] as const;
export type ComparedField = (typeof comparedFields)[number];

/** How one order, or one eSIM, is read back; `off` where the API has no such call. */
const lookup = z.strictObject({
  gift_card: z.union([z.literal('off'), read('key')]).default({ path: '/orders/{key}' }),
  esim: z.union([z.literal('off'), read('key')]).default({ path: '/esim/orders/{key}' }),
  /** The specification names no such call: it stays off until a config names its path. */
  get_sim: z.union([z.literal('off'), read('iccid')]).default('off'),
  /** Leave one out where the API shows something else under the same name, for example the currency of a card. */
  compare: z.array(z.enum(comparedFields)).default([...comparedFields]),
});

/**
 * Everything about the wire that the specification marks "not shown", in one place: methods, paths, names of fields,
 * and where an answer keeps what. Config overrides any part under `wholesale.wire`; what is left out keeps its
 * default, and a list replaces the default list. What the specification does fix (`reference`, `quantity`, `days`,
 * the given paths, the error body and its codes) is no part of it.
 */
export const wireSchema = z.strictObject({
  gift_card_order: giftCardOrder.prefault({}),
  esim_order: esimOrder.prefault({}),
  esim_topup: esimTopup.prefault({}),
  esim_cancel: esimCancel.prefault({}),
  lookup: lookup.prefault({}),
  answer: answerWire.prefault({}),
  catalogue: catalogueWire.prefault({}),
});

export type Wire = z.output<typeof wireSchema>;
/** What a config may say: any part of the mapping. */
export type WireOverrides = z.input<typeof wireSchema>;

export const defaultWire: Wire = wireSchema.parse({});
