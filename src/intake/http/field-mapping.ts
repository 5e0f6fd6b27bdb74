import type { SkuMap } from '../../core/order/sku.ts';
import { impliedType, isObject, valueAt } from '../orders/check-line.ts';
import { withSku } from '../orders/sku-source.ts';
import { type JsonFinding, jsonPointer } from '../orders/strict-json.ts';
import type { FieldPointers, ShopForm } from './settings.ts';

/** The order of a home-made shop in the worker's own format. */
interface MappedOrder {
  readonly value: Readonly<Record<string, unknown>>;
  /** How many lines were skipped because the worker does not sell their SKU. */
  readonly ignored: number;
  /** Lines that have no equivalent in the worker's format. */
  readonly mistakes: readonly MappingMistake[];
  /** Translates a JSON pointer into the mapped order to the pointer in the shop's document. */
  readonly placeOf: (pointer: string) => string;
}

interface MappingMistake {
  readonly pointer: string;
  readonly code: string;
  readonly rule: string;
  readonly value: unknown;
}

export interface MappingRules extends Omit<ShopForm, 'skuMap'> {
  /** Null: the shop names variants and plans itself. */
  readonly skus: SkuMap | null;
}

const headFields = ['order_id', 'currency', 'not_after', 'metadata'] as const;
const lineFields = ['line_id', 'type', 'variant', 'plan', 'iccid', 'quantity', 'days'] as const;
const texts = new Set<keyof FieldPointers>(['order_id', 'line_id', 'variant', 'plan', 'iccid', 'sku']);
const counts = new Set<keyof FieldPointers>(['quantity', 'days']);

/** The parts of a JSON pointer (RFC 6901). */
function partsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * Maps the order of a home-made shop to the worker's format. Only integers become text, and digits become numbers,
 * where the worker's field has that type; nothing is guessed. `checkOrder` checks the values afterwards.
 */
export function mapOrder(document: unknown, rules: MappingRules): MappedOrder {
  const { fields } = rules;
  const head = readFields(document, fields, headFields);
  if (head['currency'] === undefined && rules.currency !== null) head['currency'] = rules.currency;
  const found = valueAt(document, partsOf(fields.lines));
  const mistakes: MappingMistake[] = [];
  /** For each mapped line its index in the shop's list. */
  const origins: number[] = [];
  const placeOf = placeIn(fields, rules.skus !== null, origins);
  if (!Array.isArray(found)) {
    return { value: found === undefined ? head : { ...head, lines: found }, ignored: 0, mistakes, placeOf };
  }
  const lines: unknown[] = [];
  for (const [index, item] of (found as unknown[]).entries()) {
    const mapped = mapLine(item, index, rules);
    if (mapped === 'ignored') continue;
    if ('rule' in mapped) mistakes.push({ ...mapped, pointer: `${fields.lines}/${index}${mapped.pointer}` });
    else {
      origins.push(index);
      lines.push(mapped.line);
    }
  }
  return { value: { ...head, lines }, ignored: found.length - lines.length - mistakes.length, mistakes, placeOf };
}

type MappedLine = 'ignored' | MappingMistake | { readonly line: unknown };

function mapLine(item: unknown, index: number, { fields, skus, unmatched }: MappingRules): MappedLine {
  if (!isObject(item)) return { line: item };
  const line = readFields(item, fields, lineFields);
  // Without line ids the position identifies a line: the shop must always send its lines in the same order.
  if (fields.line_id === undefined) line['line_id'] = String(index + 1);
  if (skus === null) return { line: { type: impliedType(line), ...line } };
  const { sku: named } = readFields(item, fields, ['sku']);
  const sku = typeof named === 'string' ? skus.get(named) : undefined;
  if (sku !== undefined && typeof named === 'string') {
    const { line_id, iccid, quantity } = line;
    const bought = withSku(named, sku, { iccid, quantity });
    if ('fields' in bought) return { line: { line_id, ...bought.fields } };
    return { pointer: fields.quantity, code: bought.code, rule: bought.rule, value: quantity };
  }
  if (unmatched === 'ignore' && (named === undefined || typeof named === 'string')) return 'ignored';
  return { pointer: fields.sku ?? '', code: 'unknown_sku', rule: 'is not in the SKU map', value: named };
}

/** The named fields of an order or a line; those that are missing, null or empty are left out. */
function readFields(
  holder: unknown,
  fields: FieldPointers,
  names: readonly (keyof FieldPointers)[],
): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const name of names) {
    const pointer = fields[name];
    const value = pointer === undefined ? undefined : valueAt(holder, partsOf(pointer));
    if (value === undefined || value === null || value === '') continue;
    if (texts.has(name) && typeof value === 'number' && Number.isSafeInteger(value)) read[name] = String(value);
    else if (counts.has(name) && typeof value === 'string' && /^(?:0|[1-9]\d{0,8})$/.test(value))
      read[name] = Number(value);
    else read[name] = value;
  }
  return read;
}

function placeIn(fields: FieldPointers, bySku: boolean, origins: readonly number[]): (pointer: string) => string {
  return (pointer) => {
    const [first = '', index = '', name] = partsOf(pointer);
    if (first !== 'lines') {
      const head = headFields.find((known) => known === first);
      return (head === undefined ? undefined : fields[head]) ?? '';
    }
    if (index === '') return fields.lines;
    const line = `${fields.lines}/${origins[Number(index)] ?? index}`;
    if (name === undefined) return line;
    if (name === 'currency') return fields.currency ?? line;
    const field = lineFields.find((known) => known === name);
    const place = field === undefined ? undefined : fields[field];
    return `${line}${place ?? (bySku ? (fields.sku ?? '') : '')}`;
  };
}

/** Whether a finding of the strict JSON reader affects a field that is read, or an object that contains one. */
export function concerns(finding: JsonFinding, fields: FieldPointers): boolean {
  const found = jsonPointer(finding.path);
  const inHead = headFields.some((name) => overlaps(found, fields[name]));
  if (inHead || !overlaps(found, fields.lines)) return inHead;
  const inLine = jsonPointer(finding.path.slice(partsOf(fields.lines).length + 1));
  return [...lineFields, 'sku' as const].some((name) => overlaps(inLine, fields[name]));
}

function overlaps(one: string, other: string | undefined): boolean {
  return other !== undefined && (`${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`));
}
