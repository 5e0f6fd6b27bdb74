import { z } from 'zod';
import { currencySchema, moneySchema, orderLimits, type OrderRules } from './order-request.ts';

/**
 * The rules for an order that cannot be bought as it is, and how long it may wait: for one SKU, or
 * a whole shop.
 */
export const skuRuleKeys = {
  split: z
    .boolean()
    .optional()
    .describe(
      'Split an order that is above a limit of the API, and buy it in parts. Default: reject and flag it.',
    ),
  partial: z
    .boolean()
    .optional()
    .describe(
      'Buy what is in stock if that is less than ordered. Default: the order waits, or is rejected and flagged.',
    ),
  fallback_currency: currencySchema
    .optional()
    .describe('The balance to charge if the first balance does not cover the order.'),
  max_cost: moneySchema
    .optional()
    .describe(
      'The most that one unit may cost, in the currency of the order line. More expensive orders are held.',
    ),
  wait_h: z
    .int()
    .min(1)
    .max(8760)
    .optional()
    .describe('How many hours an order waits for stock, counted from its payment.'),
  not_after: z.iso
    .datetime({
      offset: true,
      error: 'must be a time with its offset, for example "2026-12-31T23:59:59Z"',
    })
    .optional()
    .describe(
      'After this time nothing is bought, for example when a promotion ends: `2026-12-31T23:59:59Z`.',
    ),
};

const rulesSchema = z.object(skuRuleKeys);
export type SkuRules = z.infer<typeof rulesSchema>;

const ruleNames = ['split', 'partial', 'fallback_currency', 'max_cost'] as const;

/**
 * The rules and the deadline of an order line. Each key of the SKU counts before that of the shop;
 * of two deadlines the earlier one.
 * @param paidMs the wall time from which `wait_h` counts, in ms
 */
export function rulesOfLine(
  sku: SkuRules,
  shop: Omit<SkuRules, 'not_after'>,
  paidMs: number,
): { readonly rules: OrderRules; readonly notAfterMs: number | null } {
  const values = ruleNames.map((name) => [name, sku[name] ?? shop[name]] as const);
  const rules: OrderRules = Object.fromEntries(
    values.filter(([, value]) => value !== undefined && value !== false),
  );
  const waitH = sku.wait_h ?? shop.wait_h;
  const notAfter = sku.not_after;
  const ends = [
    ...(waitH === undefined ? [] : [paidMs + waitH * 3_600_000]),
    ...(notAfter === undefined ? [] : [Date.parse(notAfter)]),
  ];
  return { rules, notAfterMs: ends.length === 0 ? null : Math.min(...ends) };
}

const productId = z.string().min(1).max(128);
const quantity = z.int().min(1).max(orderLimits.giftCardQuantity).default(1);
const common = { currency: currencySchema.optional(), ...skuRuleKeys };
const plan = { plan: productId, days: z.int().min(1).max(orderLimits.days).optional() };

/**
 * The order that a SKU of the shop stands for. `quantity`: how many units the shop sells as one.
 */
export const skuSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('gift_card_order'), variant: productId, quantity, ...common }),
  z.strictObject({ type: z.literal('esim_order'), ...plan, quantity, ...common }),
  z.strictObject({ type: z.literal('esim_topup'), ...plan, ...common }),
]);
export type Sku = z.infer<typeof skuSchema>;

/** The product and quantity of a SKU, without its rules. */
export function productOfSku(sku: Sku) {
  const {
    split: _,
    partial: _1,
    fallback_currency: _2,
    wait_h: _3,
    not_after: _4,
    max_cost: _5,
    ...product
  } = sku;
  return product;
}
