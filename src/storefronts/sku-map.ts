import { parse as parseCsv } from 'csv-parse/sync';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { type SkuMap, skuSchema } from '../core/order/sku.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';

const fileSchema = z.strictObject({ skus: z.record(z.string().min(1).max(128), skuSchema) });

/**
 * Reads a SKU map: YAML `skus: { <sku>: { type, variant | plan, days, quantity, currency } }`, with rules where needed, or
 * CSV with these columns and `sku`. A map with any mistake is refused as a whole.
 * @throws OrderSyncError INVALID_INPUT with its mistakes
 */
export function readSkuMap(content: string, format: 'yaml' | 'csv'): SkuMap {
  const parsed = fileSchema.safeParse(format === 'csv' ? fromCsv(content) : fromYaml(content));
  if (parsed.success) return new Map(Object.entries(parsed.data.skus));
  const mistakes = parsed.error.issues.slice(0, 20).map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new OrderSyncError('INVALID_INPUT', `The SKU map has mistakes: ${mistakes.join('; ')}`);
}

function fromYaml(content: string): unknown {
  try {
    // With string keys, a SKU of digits stays as it is written. The parser refuses a key that stands twice.
    return parseYaml(content, { stringKeys: true });
  } catch (cause) {
    throw notReadable('YAML', cause);
  }
}

function fromCsv(content: string): unknown {
  let rows: Record<string, string>[];
  try {
    rows = parseCsv(content, { bom: true, columns: true, skip_empty_lines: true, trim: true });
  } catch (cause) {
    throw notReadable('CSV', cause);
  }
  const skus: Record<string, unknown> = {};
  for (const { sku = '', ...cells } of rows) {
    if (Object.hasOwn(skus, sku)) {
      throw new OrderSyncError('INVALID_INPUT', `The SKU map has the SKU "${sku}" twice`);
    }
    const filled = Object.entries(cells).filter(([, cell]) => cell !== '');
    skus[sku] = Object.fromEntries(filled.map(([name, cell]) => [name, typed(name, cell)]));
  }
  return { skus };
}

function notReadable(format: string, cause: unknown): OrderSyncError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new OrderSyncError('INVALID_INPUT', `The SKU map is not ${format}: ${message}`, { cause });
}

const numbers: ReadonlySet<string> = new Set(['days', 'quantity', 'wait_h']);
const flags: ReadonlySet<string> = new Set(['split', 'partial']);

/** A cell as the value of its column; text that cannot be one stays text, which the schema refuses with its place. */
function typed(name: string, cell: string): number | boolean | string {
  if (numbers.has(name) && /^\d{1,9}$/.test(cell)) return Number(cell);
  return flags.has(name) && /^(true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell;
}
