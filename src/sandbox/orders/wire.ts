import * as z from 'zod';

/** The named schemas of the API; their ids are the names in the OpenAPI document. */
export const wireSchemas = z.registry<{ id: string }>();

function named<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.strictObject(shape).register(wireSchemas, { id });
}

/*
 * The bodies of the API, in both directions. The spec fixes `reference`, `quantity`, `days` and the error body
 * (Spec 2, 4, 7); every other name is an assumption that docs/spec-gaps.md lists.
 */
const reference = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*$/, 'letters, digits and ._:- are allowed, beginning with a letter or digit')
  .meta({ description: 'Your own id of the order; unique across both families.', examples: ['shop-1001-1'] });
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, 'three capital letters, such as USD')
  .meta({ description: 'The balance to charge.', examples: ['USD'] });
const item = z.string().min(1).max(120);
/** Unbounded: a number that is too large has an error code of its own (Spec 7, `invalid_plan`, `limit_exceeded`). */
const wholeNumber = z
  .number()
  .refine((value) => Number.isInteger(value), 'a whole number is expected')
  .meta({ type: 'integer' });
const days = wholeNumber.meta({ description: 'Only for daily plans.' });

export const giftCardOrderRequest = named('GiftCardOrderRequest', {
  reference,
  variant: item.meta({ description: 'The product, as /products names it.', examples: ['steam-usd-20'] }),
  quantity: wholeNumber.min(1).meta({ description: 'Up to the limit of the product.', examples: [1] }),
  currency,
});

export const esimOrderRequest = named('EsimOrderRequest', {
  reference,
  plan: item.meta({ description: "The plan, as its destination's list names it.", examples: ['es-5gb-30d'] }),
  quantity: wholeNumber.meta({ description: '1 to 30; anything else is 422 invalid_plan.', examples: [1] }),
  currency,
  days: days.optional(),
});

export const topupRequest = named('TopupRequest', {
  reference,
  plan: item.meta({ description: "One of the eSIM's top-up plans.", examples: ['es-1gb-7d'] }),
  currency,
  days: days.optional(),
});

export const cancelRequest = named('CancelRequest', {});

const amount = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .meta({ examples: ['18.90'] });
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time', examples: ['2026-11-21T12:00:00.000Z'] });
const iccid = z.string().regex(/^89\d{17}$/);
const prices = z.record(z.string(), amount);

export const codeUnit = named('Code', {
  code: z.string(),
  serial: z.string(),
  pin: z.string().optional(),
  url: z.string().optional(),
  expires_at: time.optional(),
});

export const esimUnit = named('Esim', {
  iccid,
  state: z.enum(['new', 'installed', 'topped_up', 'cancelled', 'expired']),
  plan: z.string(),
  smdp_address: z.string(),
  matching_id: z.string(),
  lpa: z.string().regex(/^LPA:1\$/),
  installed: z.boolean(),
  topped_up: z.boolean(),
  created_at: time,
  expires_at: time,
});

const orderFields = {
  number: z.string(),
  reference,
  status: z.enum(['pending', 'completed', 'refunded']),
  currency,
  total: amount,
  refunded_amount: amount.optional(),
  quantity: z.int().min(1),
  created_at: time,
};

export const giftCardOrderAnswer = named('GiftCardOrder', {
  ...orderFields,
  variant: z.string(),
  codes: z.array(codeUnit),
});

export const esimOrderAnswer = named('EsimOrder', {
  ...orderFields,
  plan: z.string(),
  days: z.int().optional(),
  /** Present when the order is a top-up: the eSIM that was topped up. */
  iccid: iccid.optional(),
  esims: z.array(esimUnit),
});

export const cancelAnswer = named('CancelledEsim', {
  ...esimUnit.shape,
  number: z.string().meta({ description: 'The order that bought the eSIM.' }),
  status: z.literal('refunded'),
  currency,
  refund: z.strictObject({ amount, currency }),
});

export const productUnit = named('Product', {
  variant: z.string(),
  name: z.string(),
  brand: z.string(),
  category: z.string(),
  prices,
  stock: z.int().min(0),
  max_quantity: z.int().min(1),
  website_only: z.boolean(),
  api_sellable: z.boolean(),
});

export const productsAnswer = named('Products', {
  products: z.array(productUnit),
  page: z.int().min(1),
  last_page: z.int().min(1),
  total: z.int().min(0),
  next: z.string().nullable(),
});

export const planUnit = named('Plan', {
  plan: z.string(),
  name: z.string(),
  destination: z.string(),
  prices,
  data_mb: z.int().nullable(),
  unlimited: z.boolean(),
  daily: z.boolean(),
  min_days: z.int().optional(),
  max_days: z.int().optional(),
  validity_days: z.int().optional(),
});

export const destinationsAnswer = named('Destinations', {
  destinations: z.array(
    z.strictObject({ destination: z.string(), name: z.string(), countries: z.array(z.string()), plans: z.int() }),
  ),
});

export const plansAnswer = named('Plans', { destination: z.string(), plans: z.array(planUnit) });

export const topupsAnswer = named('Topups', { iccid, topups: z.array(planUnit) });

export const balancesAnswer = named('Balances', { balances: z.array(z.strictObject({ currency, amount })) });

/** Spec 7: the one shape of every error. */
export const errorAnswer = named('Error', { error: z.strictObject({ code: z.string(), message: z.string() }) });
