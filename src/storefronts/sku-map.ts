import { parse as parseCsv } from 'csv-parse/sync';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { currencySchema, orderLimits } from '../core/order/order-request.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';

const text = z.string().min(1).max(128);
const perPiece = z.int().min(1).max(orderLimits.giftCardQuantity).default(1);
const days = z.int().min(1).max(orderLimits.days);

/** What a SKU of the shop stands for. `quantity`: how many units one piece in the cart is. */
export const skuSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('gift_card_order'),
    variant: text,
    quantity: perPiece,
    currency: currencySchema.optional(),
  }),
  z.strictObject({
    type: z.literal('esim_order'),
    plan: text,
    days: days.optional(),
    quantity: perPiece,
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

export type SkuMap = ReadonlyMap<string, Sku>;

const fileSchema = z.strictObject({ skus: z.record(z.string().min(1).max(128), skuSchema) });

/**
 * Reads a SKU map: YAML `skus: { <sku>: { type, variant | plan, days, quantity, currency } }`, or CSV with these columns
 * and `sku`. Throws INVALID_INPUT with every mistake: a map that is half right would sell the other half wrong.
 */
export function readSkuMap(content: string, format: 'yaml' | 'csv'): SkuMap {
  const parsed = fileSchema.safeParse(format === 'csv' ? fromCsv(content) : fromYaml(content));
  if (parsed.success) return new Map(Object.entries(parsed.data.skus));
  const mistakes = parsed.error.issues.slice(0, 20).map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new OrderSyncError('INVALID_INPUT', `The SKU map has mistakes: ${mistakes.join('; ')}`);
}

function fromYaml(content: string): unknown {
  try {
    // A key that is given twice is a mistake for the reader, and numbers as SKUs stay what was written.
    return parseYaml(content, { stringKeys: true });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new OrderSyncError('INVALID_INPUT', `The SKU map is not YAML: ${message}`, { cause });
  }
}

function fromCsv(content: string): unknown {
  let rows: Record<string, string>[];
  try {
    rows = parseCsv(content, { bom: true, columns: true, skip_empty_lines: true, trim: true });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new OrderSyncError('INVALID_INPUT', `The SKU map is not CSV: ${message}`, { cause });
  }
  const skus: Record<string, unknown> = {};
  for (const { sku = '', ...cells } of rows) {
    if (Object.hasOwn(skus, sku)) {
      throw new OrderSyncError('INVALID_INPUT', `The SKU map names the SKU "${sku}" twice`);
    }
    const filled = Object.entries(cells).filter(([, cell]) => cell !== '');
    skus[sku] = Object.fromEntries(
      filled.map(([name, cell]) => [name, ['days', 'quantity'].includes(name) ? wholeNumber(cell) : cell]),
    );
  }
  return { skus };
}

function wholeNumber(cell: string): number | string {
  return /^\d{1,9}$/.test(cell) ? Number(cell) : cell;
}
