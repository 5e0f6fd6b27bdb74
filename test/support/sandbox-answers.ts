import * as z from 'zod';
import * as requests from '../../sandbox/orders/wire.ts';

const { reference, currency } = requests.giftCardOrderRequest.shape;
const amount = z.string().regex(/^\d+(\.\d+)?$/);
const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const iccid = z.string().regex(/^89\d{17}$/);
const prices = z.record(z.string(), amount);

const codeUnit = z.strictObject({
  code: z.string(),
  serial: z.string(),
  pin: z.string().optional(),
  url: z.string().optional(),
  expires_at: time.optional(),
});

export const esimUnit = z.strictObject({
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

export const giftCardOrderAnswer = z.strictObject({
  ...orderFields,
  variant: z.string(),
  codes: z.array(codeUnit),
});

export const esimOrderAnswer = z.strictObject({
  ...orderFields,
  plan: z.string(),
  days: z.int().optional(),
  /** Present when the order is a top-up: the eSIM that was topped up. */
  iccid: iccid.optional(),
  esims: z.array(esimUnit),
});

export const cancelAnswer = z.strictObject({
  ...esimUnit.shape,
  number: z.string(),
  status: z.literal('refunded'),
  currency,
  refund: z.strictObject({ amount, currency }),
});

const productUnit = z.strictObject({
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

export const productsAnswer = z.strictObject({
  products: z.array(productUnit),
  page: z.int().min(1),
  last_page: z.int().min(1),
  total: z.int().min(0),
  next: z.string().nullable(),
});

const planUnit = z.strictObject({
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

export const destinationsAnswer = z.strictObject({
  destinations: z.array(
    z.strictObject({
      destination: z.string(),
      name: z.string(),
      countries: z.array(z.string()),
      plans: z.int(),
    }),
  ),
});

export const plansAnswer = z.strictObject({ destination: z.string(), plans: z.array(planUnit) });

export const topupsAnswer = z.strictObject({ iccid, topups: z.array(planUnit) });
