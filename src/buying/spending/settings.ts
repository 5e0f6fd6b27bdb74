import { z } from 'zod';
import { sourceSchema } from '../../core/order/order-request.ts';
import { count, listOf, live, orNull, section } from '../../core/settings/schema-values.ts';

const amountText = z
  .string()
  .regex(
    /^\d{1,9}(\.\d{1,6})? [A-Z]{3}$/,
    'must be an amount and its currency, for example "5000.00 USD"',
  )
  .transform((text) => {
    const [amount = '', currency = ''] = text.split(' ');
    return { millionths: Math.round(Number(amount) * 1e6), currency, text };
  });

const limits = listOf(
  100,
  'What may be spent. All limits apply; an order over one of them is held until there is room.',
  {
    amount: amountText.describe('The most that may be spent, with its currency: "5000.00 USD".'),
    per: z
      .enum(['order', 'hour', 'day'])
      .describe('`hour`: in any 60 minutes; `day`: in any 24 hours; `order`: with one reference.'),
    source: orNull(sourceSchema).describe('Only orders of this source count. Unset: of all.'),
    customer: orNull(z.enum(['email', 'phone'])).describe(
      'Orders of each customer count for themselves, by e-mail address or phone, over all shops. Unset: of all.',
    ),
    product: orNull(z.string().min(1).max(128)).describe(
      'Only orders of this variant or plan count. Unset: of all.',
    ),
  },
);

export const spendSection = section(
  'Limits on what is spent, and on prices. See docs/spending.md.',
  {
    limits,
    max_rise_percent: count(1, 1_000_000)
      .default(20)
      .describe(
        'By how much the price of a product may rise from one order to the next. Above it, the product is paused until an operator resumes it.',
      ),
  },
).meta(live);

export type SpendSettings = z.output<typeof spendSection>;
export type SpendLimit = z.output<typeof limits>[number];
