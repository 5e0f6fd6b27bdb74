import { z } from 'zod';
import { currencySchema, orderLimits } from './order-request.ts';
import { skuRuleKeys } from './sku-rules.ts';

const text = z.string().min(1).max(128);
const quantity = z.int().min(1).max(orderLimits.giftCardQuantity).default(1);
const days = z.int().min(1).max(orderLimits.days);

/** What a SKU of the shop stands for. `quantity`: how many units the shop sells as one. */
export const skuSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('gift_card_order'),
    variant: text,
    quantity,
    currency: currencySchema.optional(),
    ...skuRuleKeys,
  }),
  z.strictObject({
    type: z.literal('esim_order'),
    plan: text,
    days: days.optional(),
    quantity,
    currency: currencySchema.optional(),
    ...skuRuleKeys,
  }),
  z.strictObject({
    type: z.literal('esim_topup'),
    plan: text,
    days: days.optional(),
    currency: currencySchema.optional(),
    ...skuRuleKeys,
  }),
]);
export type Sku = z.infer<typeof skuSchema>;

/** What is ordered for a SKU, without the rules of how. */
export function productOfSku(sku: Sku) {
  const { split: _, partial: _1, fallback_currency: _2, wait_h: _3, not_after: _4, ...product } = sku;
  return product;
}

/** By the SKU of the shop. */
export type SkuMap = ReadonlyMap<string, Sku>;
