import { isObject } from '../orders/check-line.ts';
import { jsonPointer } from '../orders/json-pointer.ts';
import type { JsonFinding } from '../orders/strict-json.ts';
import type { Sku, SkuMap } from '../../storefronts/sku-map.ts';
import type { FieldPointers } from './settings.ts';

/** The order of a home-made shop in the words of our own API, for the one judge of orders that there is. */
export interface MappedOrder {
  readonly value: Readonly<Record<string, unknown>>;
  /** How many lines are not ours, and were passed over. */
  readonly ignored: number;
  /** Lines that cannot be put in our words at all. */
  readonly mistakes: readonly MappingMistake[];
  /** A place in our words, as a JSON pointer, as the place that the shop knows. */
  readonly placeOf: (pointer: string) => string;
}

export interface MappingMistake {
  readonly pointer: string;
  readonly code: string;
  readonly rule: string;
  readonly value: unknown;
}

export interface MappingRules {
  readonly fields: FieldPointers;
  readonly currency: string | null;
  readonly unmatched: 'refuse' | 'ignore';
  /** Null: the shop names variants and plans itself. */
  readonly skus: SkuMap | null;
}

type Path = readonly string[];

const headFields = { order_id: 'orderId', currency: 'currency', not_after: 'notAfter', metadata: 'metadata' } as const;
const lineFields = {
  line_id: 'lineId',
  type: 'type',
  variant: 'variant',
  plan: 'plan',
  iccid: 'iccid',
  quantity: 'quantity',
  days: 'days',
} as const;
const texts = new Set(['order_id', 'line_id', 'variant', 'plan', 'iccid', 'sku']);
const counts = new Set(['quantity', 'days']);

/** The parts of a JSON pointer (RFC 6901). */
function partsOf(pointer: string): Path {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * Puts an order into our words. What a field may be is left to the judge of orders: here only a number becomes the text,
 * or digits become the number, that our field has, and nothing is guessed.
 */
export function mapOrder(document: unknown, rules: MappingRules): MappedOrder {
  const { fields } = rules;
  const head: Record<string, unknown> = {};
  for (const [ours, key] of Object.entries(headFields)) set(head, ours, read(document, fields[key], ours));
  if (head['currency'] === undefined && rules.currency !== null) head['currency'] = rules.currency;
  const found = valueAt(document, partsOf(fields.lines));
  const mistakes: MappingMistake[] = [];
  /** Which of the shop's lines each of ours is. */
  const origins: number[] = [];
  const placeOf = placeIn(fields, rules.skus !== null, origins);
  if (!Array.isArray(found)) return { value: set(head, 'lines', found), ignored: 0, mistakes, placeOf };
  const lines: unknown[] = [];
  for (const [index, item] of (found as unknown[]).entries()) {
    const made = mapLine(item, index, rules);
    if (made === 'ignored') continue;
    if ('rule' in made) mistakes.push({ ...made, pointer: `${fields.lines}/${index}${made.pointer}` });
    else {
      origins.push(index);
      lines.push(made.line);
    }
  }
  return { value: { ...head, lines }, ignored: found.length - lines.length - mistakes.length, mistakes, placeOf };
}

type MappedLine = 'ignored' | MappingMistake | { readonly line: unknown };

function mapLine(item: unknown, index: number, { fields, skus, unmatched }: MappingRules): MappedLine {
  if (!isObject(item)) return { line: item };
  const line: Record<string, unknown> = {};
  for (const [ours, key] of Object.entries(lineFields)) set(line, ours, read(item, fields[key], ours));
  // A shop that does not number its lines says them in an order of its own, which then must stay the same.
  if (fields.lineId === null) line['line_id'] = String(index + 1);
  if (skus === null) return { line: { type: typeOf(line), ...line } };
  const named = read(item, fields.sku, 'sku');
  const sku = typeof named === 'string' ? skus.get(named) : undefined;
  if (sku !== undefined && typeof named === 'string') return withSku(line, named, sku, fields);
  if (unmatched === 'ignore' && (named === undefined || named === null || typeof named === 'string')) return 'ignored';
  return { pointer: fields.sku ?? '', code: 'unknown_sku', rule: 'is not a SKU that the SKU map knows', value: named };
}

/** One piece in the cart may stand for several units; a top-up is for one eSIM, once. */
function withSku(line: Record<string, unknown>, named: string, sku: Sku, fields: FieldPointers): MappedLine {
  const { line_id, iccid, quantity } = line;
  const extra = { sku: named, shop_quantity: String(quantity) };
  if (sku.type !== 'esim_topup') {
    const { quantity: perPiece, ...bought } = sku;
    const units = typeof quantity === 'number' ? quantity * perPiece : quantity;
    return { line: { line_id, ...bought, quantity: units, extra } };
  }
  if (quantity !== 1) {
    const rule = 'must be 1 for a top-up: the same eSIM several times is for a person to decide';
    return { pointer: fields.quantity, code: 'repeated_topup', rule, value: quantity };
  }
  return { line: { line_id, ...sku, iccid, extra } };
}

/** What a line without a type is, by what it names. A cancel is never guessed. */
function typeOf(line: Readonly<Record<string, unknown>>): string | undefined {
  if (line['variant'] !== undefined) return 'gift_card_order';
  if (line['plan'] === undefined) return undefined;
  return line['iccid'] === undefined ? 'esim_order' : 'esim_topup';
}

function read(holder: unknown, pointer: string | null, ours: string): unknown {
  if (pointer === null) return undefined;
  const value = valueAt(holder, partsOf(pointer));
  if (value === null || value === '') return undefined;
  if (texts.has(ours) && typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (counts.has(ours) && typeof value === 'string' && /^(?:0|[1-9]\d{0,8})$/.test(value)) return Number(value);
  return value;
}

function set(holder: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> {
  if (value !== undefined) holder[name] = value;
  return holder;
}

function valueAt(holder: unknown, path: Path): unknown {
  let at = holder;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = Reflect.get(at, part);
  }
  return at;
}

function placeIn(fields: FieldPointers, bySku: boolean, origins: readonly number[]): (pointer: string) => string {
  return (pointer) => {
    const [first = '', index = '', name] = partsOf(pointer);
    if (first !== 'lines') {
      const key = Object.entries(headFields).find(([ours]) => ours === first)?.[1];
      return (key === undefined ? null : fields[key]) ?? '';
    }
    if (index === '') return fields.lines;
    const at = `${fields.lines}/${origins[Number(index)] ?? index}`;
    if (name === undefined) return at;
    if (name === 'currency') return fields.currency ?? at;
    const key = Object.entries(lineFields).find(([ours]) => ours === name)?.[1];
    const place = key === undefined ? null : fields[key];
    return place === null ? `${at}${bySku ? (fields.sku ?? '') : ''}` : `${at}${place}`;
  };
}

/** Whether something that the strict reader found concerns what is read here, or what holds it. */
export function concerns(finding: JsonFinding, fields: FieldPointers): boolean {
  const { lines, orderId, currency, notAfter, metadata, ...ofLines } = fields;
  const heads = [orderId, currency, notAfter, metadata].filter((pointer) => pointer !== null);
  const found = jsonPointer(finding.path);
  if (heads.some((pointer) => overlaps(found, pointer))) return true;
  if (!overlaps(found, lines)) return false;
  const inLine = jsonPointer(finding.path.slice(partsOf(lines).length + 1));
  return Object.values(ofLines).some((pointer) => pointer !== null && overlaps(inLine, pointer));
}

function overlaps(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}
