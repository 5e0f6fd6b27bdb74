import { CsvError, parse as parseCsv } from 'csv-parse/sync';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { type SkuMap, skuSchema } from '../core/order/sku.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';

const fileSchema = z.strictObject({ skus: z.record(z.string().min(1).max(128), skuSchema) });
type Issue = z.core.$ZodIssue;

/** One mistake in a SKU map. */
export interface SkuMapMistake {
  /** Null: it is about the file as a whole. */
  readonly line: number | null;
  /** Dotted path of the key; empty for the file as a whole. */
  readonly path: string;
  /** The problem and the expected form. */
  readonly rule: string;
}

/** INVALID_INPUT with the mistakes of a SKU map, at most the first 20. */
export class SkuMapError extends OrderSyncError {
  readonly mistakes: readonly SkuMapMistake[];

  constructor(mistakes: readonly SkuMapMistake[], cause?: unknown) {
    const found = mistakes.slice(0, mistakesAtOnce);
    const texts = found.map(({ line, path, rule }) => {
      const place = [line === null ? '' : `line ${line}`, path].filter((part) => part !== '').join(', ');
      return place === '' ? rule : `${place}: ${rule}`;
    });
    super('INVALID_INPUT', `The SKU map has mistakes: ${texts.join('; ')}`, { cause });
    this.mistakes = found;
  }
}

const mistakesAtOnce = 20;

interface Content {
  readonly tree: unknown;
  /** The line of a key, or of the nearest one above it that is in the file. */
  readonly lineOf: (path: Issue['path']) => number;
}

/**
 * Reads a SKU map: YAML `skus: { <sku>: { type, variant | plan, days, quantity, currency } }`, with rules where needed, or
 * CSV with these columns and `sku`. A map with any mistake is refused as a whole.
 * @throws SkuMapError with its mistakes
 */
export function readSkuMap(content: string, format: 'yaml' | 'csv'): SkuMap {
  const { tree, lineOf } = format === 'csv' ? fromCsv(content) : fromYaml(content);
  const parsed = fileSchema.safeParse(tree);
  if (parsed.success) return new Map(Object.entries(parsed.data.skus));
  const mistakes = parsed.error.issues.map((issue) => {
    const key = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    return { line: lineOf([...issue.path, ...key]), path: issue.path.join('.'), rule: issue.message };
  });
  throw new SkuMapError(mistakes);
}

function fromYaml(content: string): Content {
  const lines = new LineCounter();
  // With string keys, a SKU of digits stays as it is written. The parser refuses a key that stands twice.
  const document = parseDocument(content, { stringKeys: true, lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  if (document.errors.length > 0) {
    throw new SkuMapError(
      document.errors.map(({ pos, message }) => ({ line: lineAt(pos[0]), path: '', rule: `is not YAML: ${message}` })),
    );
  }
  const lineOf = (path: Issue['path']): number => {
    for (let length = path.length; length > 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lineAt(node.range[0]);
    }
    return 1;
  };
  return { tree: document.toJS(), lineOf };
}

function fromCsv(content: string): Content {
  const skus: Record<string, unknown> = {};
  const lines = new Map<string, number>();
  for (const { record, info } of rowsOf(content)) {
    const { sku = '', ...cells } = record;
    const first = lines.get(sku);
    if (first !== undefined) {
      const rule = `the SKU "${sku}" stands twice; first in line ${first}`;
      throw new SkuMapError([{ line: info.lines, path: '', rule }]);
    }
    lines.set(sku, info.lines);
    const filled = Object.entries(cells).filter(([, cell]) => cell !== '');
    skus[sku] = Object.fromEntries(filled.map(([name, cell]) => [name, typed(name, cell)]));
  }
  return { tree: { skus }, lineOf: ([, sku = '']) => lines.get(String(sku)) ?? 1 };
}

interface CsvRow {
  readonly record: Record<string, string>;
  /** `lines`: the line in which the row ends. */
  readonly info: { readonly lines: number };
}

function rowsOf(content: string): readonly CsvRow[] {
  try {
    const options = { bom: true, columns: true, skip_empty_lines: true, trim: true } as const;
    return parseCsv(content, { ...options, info: true });
  } catch (cause) {
    const line = cause instanceof CsvError && typeof cause['lines'] === 'number' ? cause['lines'] : null;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new SkuMapError([{ line, path: '', rule: `is not CSV: ${message}` }], cause);
  }
}

const numbers: ReadonlySet<string> = new Set(['days', 'quantity', 'wait_h']);
const flags: ReadonlySet<string> = new Set(['split', 'partial']);

/** A cell as the value of its column; text that cannot be one stays text, which the schema refuses with its place. */
function typed(name: string, cell: string): number | boolean | string {
  if (numbers.has(name) && /^\d{1,9}$/.test(cell)) return Number(cell);
  return flags.has(name) && /^(true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell;
}
