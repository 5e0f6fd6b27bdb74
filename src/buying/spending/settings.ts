import { z } from 'zod';
import { readAmount } from '../../core/operator/balance.ts';
import { sourceSchema } from '../../core/order/order-request.ts';
import { count, listOf, live, orNull, section } from '../../core/settings/schema-values.ts';

const amountText = z
  .string()
  .regex(
    /^\d{1,9}(\.\d{1,6})? [A-Z]{3}$/,
    'must be an amount and its currency, for example "5000.00 USD"',
  )
  .transform((text) => ({ ...readAmount(text), text }));

const balanceAlert = z
  .string()
  .regex(
    /^(\d{1,9}(\.\d{1,6})? [A-Z]{3}|\d{1,4} h)$/,
    'must be an amount such as "100.00 USD" or a time such as "24 h"',
  );

const limits = listOf(
  100,
  'What may be spent. All limits apply; an order over a limit is held until the limit allows it.',
  {
    amount: amountText.describe(
      'The highest amount that may be spent, with its currency: "5000.00 USD".',
    ),
    per: z
      .enum(['order', 'hour', 'day'])
      .describe('`hour`: in any 60 minutes; `day`: in any 24 hours; `order`: with one reference.'),
    source: orNull(sourceSchema).describe('Only orders of this source count. Unset: all orders.'),
    customer: orNull(z.enum(['email', 'phone'])).describe(
      'The limit is per customer (e-mail address or phone), over all shops. Unset: all together.',
    ),
    alert_at: count(1, 100)
      .default(80)
      .describe('The percentage at which a limit by `hour` or `day` needs attention.'),
    product: orNull(z.string().min(1).max(128)).describe(
      'Only orders of this variant or plan count. Unset: all orders.',
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
    balance_alerts: z
      .array(balanceAlert)
      .max(20)
      .default(['24 h'])
      .describe(
        'A known balance needs attention when less is left: "100.00 USD", or money for "24 h".',
      ),
  },
).meta(live);

export type SpendSettings = z.output<typeof spendSection>;
export type SpendLimit = z.output<typeof limits>[number];
