import { z } from 'zod';
import { currencySchema, orderLimits } from './order-request.ts';

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
  }),
  z.strictObject({
    type: z.literal('esim_order'),
    plan: text,
    days: days.optional(),
    quantity,
    currency: currencySchema.optional(),
  }),
  z.strictObject({
    type: z.literal('esim_topup'),
    plan: text,
    days: days.optional(),
    currency: currencySchema.optional(),
  }),
]);
export type Sku = z.infer<typeof skuSchema>;

/** By the SKU of the shop. */
export type SkuMap = ReadonlyMap<string, Sku>;
