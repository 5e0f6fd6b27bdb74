import * as z from 'zod';
import * as requests from '../../sandbox/orders/wire.ts';

/** The named schemas of the API of the sandbox; their ids are the names in the OpenAPI document. */
export const wireSchemas = z.registry<{ id: string }>();

function named<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.strictObject(shape).register(wireSchemas, { id });
}

for (const [id, schema] of Object.entries({
  GiftCardOrderRequest: requests.giftCardOrderRequest,
  EsimOrderRequest: requests.esimOrderRequest,
  TopupRequest: requests.topupRequest,
  CancelRequest: requests.cancelRequest,
}))
  wireSchemas.add(schema, { id });

const { reference, currency } = requests.giftCardOrderRequest.shape;
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
    z.strictObject({
      destination: z.string(),
      name: z.string(),
      countries: z.array(z.string()),
      plans: z.int(),
    }),
  ),
});

export const plansAnswer = named('Plans', { destination: z.string(), plans: z.array(planUnit) });

export const topupsAnswer = named('Topups', { iccid, topups: z.array(planUnit) });

export const balancesAnswer = named('Balances', {
  balances: z.array(z.strictObject({ currency, amount })),
});

/** Spec 7: the one shape of every error. */
export const errorAnswer = named('Error', {
  error: z.strictObject({ code: z.string(), message: z.string() }),
});
