import * as z from 'zod';

/** The named schemas of the wire; their ids are the names in the OpenAPI document. */
export const wireSchemas = z.registry<{ id: string }>();

/**
 * What goes over the wire, in both directions. The service fixes `reference`, `quantity`, `days` and the error body
 * (Spec 2, 4, 7); every other name is an assumption, listed in docs/spec-gaps.md. The OpenAPI document is
 * generated from these very schemas.
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
const days = z.int().min(-1_000_000).max(1_000_000).meta({ description: 'Only for daily plans.' });
const quantity = z.int().min(-1_000_000_000).max(1_000_000_000);

export const giftCardOrderRequest = z
  .strictObject({
    reference,
    variant: item.meta({ description: 'The product, as /products names it.', examples: ['steam-usd-20'] }),
    quantity: quantity.min(1).meta({ description: 'Up to the limit of the product.', examples: [1] }),
    currency,
  })
  .register(wireSchemas, { id: 'GiftCardOrderRequest' });

export const esimOrderRequest = z
  .strictObject({
    reference,
    plan: item.meta({ description: "The plan, as its destination's list names it.", examples: ['es-5gb-30d'] }),
    quantity: quantity.meta({ description: '1 to 30; anything else is 422 invalid_plan.', examples: [1] }),
    currency,
    days: days.optional(),
  })
  .register(wireSchemas, { id: 'EsimOrderRequest' });

export const topupRequest = z
  .strictObject({
    reference,
    plan: item.meta({ description: "One of the eSIM's top-up plans.", examples: ['es-1gb-7d'] }),
    currency,
    days: days.optional(),
  })
  .register(wireSchemas, { id: 'TopupRequest' });

export const cancelRequest = z.strictObject({}).register(wireSchemas, { id: 'CancelRequest' });

const amount = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .meta({ examples: ['18.90'] });
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time', examples: ['2026-11-21T12:00:00.000Z'] });
const status = z.enum(['pending', 'completed', 'refunded']);
const iccid = z.string().regex(/^89\d{17}$/);

export const codeUnit = z
  .strictObject({
    code: z.string(),
    serial: z.string(),
    pin: z.string().optional(),
    url: z.string().optional(),
    expires_at: time.optional(),
  })
  .register(wireSchemas, { id: 'Code' });

export const esimUnit = z
  .strictObject({
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
  })
  .register(wireSchemas, { id: 'Esim' });

const orderFacts = {
  number: z.string(),
  reference,
  status,
  currency,
  total: amount,
  refunded_amount: amount.optional(),
  quantity: z.int().min(1),
  created_at: time,
};

export const giftCardOrderAnswer = z
  .strictObject({ ...orderFacts, variant: z.string(), codes: z.array(codeUnit) })
  .register(wireSchemas, { id: 'GiftCardOrder' });

export const esimOrderAnswer = z
  .strictObject({
    ...orderFacts,
    plan: z.string(),
    days: z.int().optional(),
    /** Present when the order is a top-up: the eSIM that was topped up. */
    iccid: iccid.optional(),
    esims: z.array(esimUnit),
  })
  .register(wireSchemas, { id: 'EsimOrder' });

export const cancelAnswer = z
  .strictObject({
    ...esimUnit.shape,
    number: z.string().meta({ description: 'The order that bought the eSIM.' }),
    status: z.literal('refunded'),
    currency,
    refund: z.strictObject({ amount, currency }),
  })
  .register(wireSchemas, { id: 'CancelledEsim' });

export const productUnit = z
  .strictObject({
    variant: z.string(),
    name: z.string(),
    brand: z.string(),
    category: z.string(),
    prices: z.record(z.string(), amount),
    stock: z.int().min(0),
    max_quantity: z.int().min(1),
    website_only: z.boolean(),
    api_sellable: z.boolean(),
  })
  .register(wireSchemas, { id: 'Product' });

export const productsAnswer = z
  .strictObject({
    products: z.array(productUnit),
    page: z.int().min(1),
    last_page: z.int().min(1),
    total: z.int().min(0),
    next: z.string().nullable(),
  })
  .register(wireSchemas, { id: 'Products' });

export const planUnit = z
  .strictObject({
    plan: z.string(),
    name: z.string(),
    destination: z.string(),
    prices: z.record(z.string(), amount),
    data_mb: z.int().nullable(),
    unlimited: z.boolean(),
    daily: z.boolean(),
    min_days: z.int().optional(),
    max_days: z.int().optional(),
    validity_days: z.int().optional(),
  })
  .register(wireSchemas, { id: 'Plan' });

export const destinationsAnswer = z
  .strictObject({
    destinations: z.array(
      z.strictObject({ destination: z.string(), name: z.string(), countries: z.array(z.string()), plans: z.int() }),
    ),
  })
  .register(wireSchemas, { id: 'Destinations' });

export const plansAnswer = z
  .strictObject({ destination: z.string(), plans: z.array(planUnit) })
  .register(wireSchemas, { id: 'Plans' });

export const topupsAnswer = z
  .strictObject({ iccid, topups: z.array(planUnit) })
  .register(wireSchemas, { id: 'Topups' });

export const balancesAnswer = z
  .strictObject({ balances: z.array(z.strictObject({ currency, amount })) })
  .register(wireSchemas, { id: 'Balances' });

/** Spec 7: the one shape of every error. */
export const errorAnswer = z
  .strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }) })
  .register(wireSchemas, { id: 'Error' });

export type GiftCardOrderRequest = z.output<typeof giftCardOrderRequest>;
export type EsimOrderRequest = z.output<typeof esimOrderRequest>;
export type TopupRequest = z.output<typeof topupRequest>;
