import { z } from 'zod';
import { nearestName } from '../../core/nearest-name.ts';
import { type Operation, operations } from '../../core/order/purchase.ts';
import {
  type AcceptableLine,
  currencyRule,
  joinLine,
  lineIdSchema,
  type OrderDefaults,
  type OrderHead,
  orderHeadSchema,
  orderIdSchema,
  orderLineSchema,
  sourceSchema,
} from '../../core/order/order-request.ts';
import { mayMean, meanings } from './column-words.ts';
import type { NewRejection } from '../../store/intake/rejections.ts';

export type CheckedLine =
  | { readonly kind: 'line'; readonly line: AcceptableLine & { readonly lineNumber: number } }
  /** `rule` of the rejection names all problems, as far as they fit. */
  | {
      readonly kind: 'rejection';
      readonly rejection: NewRejection;
      readonly problems: readonly Problem[];
    };

export interface Problem {
  readonly code: string;
  /** A JSON pointer, or the name of a column. */
  readonly field: string | null;
  readonly rule: string;
  readonly value: string | null;
}

export type LineIdentity = Pick<
  NewRejection,
  'lineNumber' | 'source' | 'orderId' | 'lineId' | 'product'
>;

/**
 * Names the field at a path within a line or a head as the sender knows it: by a JSON pointer or a
 * column.
 */
export type FieldNames = (path: readonly PropertyKey[]) => string;

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: Problem[] };

const headFields = [...Object.keys(orderHeadSchema.shape), 'lines'];

/**
 * Stands for a head with problems, so that the lines of its order are checked, too: the sender sees
 * all problems at once.
 */
// XXX is the code of ISO 4217 for "no currency".
export function placeholderHead({ currency }: Readonly<Record<string, unknown>>): OrderHead {
  return { order_id: '-', ...(currency === undefined ? {} : { currency: 'XXX' }) };
}

/**
 * Checks the fields of an order that concern all its lines; `value` is the order without its lines.
 */
export function checkHead(
  value: Readonly<Record<string, unknown>>,
  nameOf: FieldNames,
): Checked<OrderHead> {
  const parsed = orderHeadSchema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  return {
    ok: false,
    problems: problemsOf(parsed.error.issues, value, headFields, 'an order', nameOf),
  };
}

/** Checks one line and joins it with its head. Finds all of its problems. */
export function checkLine(
  head: OrderHead,
  value: unknown,
  nameOf: FieldNames,
  defaults: OrderDefaults,
): Checked<AcceptableLine> {
  const parsed = orderLineSchema.safeParse(value);
  if (parsed.success) {
    const joined = joinLine(head, parsed.data, defaults);
    if (joined.ok) return { ok: true, value: joined.line };
    return { ok: false, problems: [missingCurrency(joined.rule, nameOf)] };
  }
  const problems = problemsOfLine(parsed.error.issues, value, nameOf);
  if (!isObject(value)) return { ok: false, problems };
  // The type of its product, in place of an unknown one, shows other mistakes.
  const line = isOperation(value['type']) ? value : { ...value, type: impliedType(value) };
  const again = orderLineSchema.safeParse(line);
  if (!again.success) addProblems(problems, problemsOfLine(again.error.issues, line, nameOf));
  const rule = isOperation(line['type']) ? currencyRule(head, line, defaults) : null;
  if (rule !== null) addProblems(problems, [missingCurrency(rule, nameOf)]);
  return { ok: false, problems };
}

const isOperation = (type: unknown): boolean => operations.some((known) => known === type);

/**
 * The type of a line that states none, or an unknown one, from what it names. A cancel is never
 * assumed.
 */
export function impliedType(line: Readonly<Record<string, unknown>>): Operation | undefined {
  if (line['variant'] !== undefined) return 'gift_card_order';
  if (line['plan'] === undefined) return undefined;
  return line['iccid'] === undefined ? 'esim_order' : 'esim_topup';
}

function problemsOfLine(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  nameOf: FieldNames,
): Problem[] {
  const type = isObject(value) && typeof value['type'] === 'string' ? value['type'] : '';
  const fields =
    orderLineSchema.options.find(({ shape }) => shape.type.value === type)?.shape ?? {};
  return problemsOf(issues, value, Object.keys(fields), type, nameOf);
}

function missingCurrency(rule: string, nameOf: FieldNames): Problem {
  return { code: 'missing_field', field: nameOf(['currency']), rule, value: null };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = Reflect.get(at, part);
  }
  return at;
}

/** Unknown fields come first: a mistyped name explains why a required field is missing. */
function problemsOf(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  known: readonly string[],
  kind: string,
  nameOf: FieldNames,
): Problem[] {
  const unknown: Problem[] = [];
  const others: Problem[] = [];
  for (const issue of issues) {
    const found = valueAt(value, issue.path);
    if (issue.code !== 'unrecognized_keys')
      others.push({ ...ruleOf(issue, found), field: nameOf(issue.path), value: shownValue(found) });
    else
      for (const [index, key] of issue.keys.entries()) {
        // There may be thousands of unknown fields: only the first few get a suggestion.
        const rule = `is not a field of ${kind}${index < 5 ? didYouMean(key, known) : ''}`;
        const path = [...issue.path, key];
        unknown.push({
          code: 'unknown_field',
          field: nameOf(path),
          rule,
          value: shownValue(valueAt(value, path)),
        });
      }
  }
  return [...unknown, ...others];
}

const spreadsheetNumber = /^\d(?:[.,]\d+)?E\+?\d+$/i;

const typeNames: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  record: 'an object',
  object: 'an object',
};

/** The rule that a value breaks, as the end of a sentence that begins with the field. */
function ruleOf(issue: z.core.$ZodIssue, found: unknown): Pick<Problem, 'code' | 'rule'> {
  if (found === undefined) return { code: 'missing_field', rule: 'is required' };
  if (issue.path.at(-1) === 'iccid' && typeof found === 'string' && spreadsheetNumber.test(found)) {
    const rule =
      'was turned into a number by a spreadsheet and has lost digits: make the column text and export again';
    return { code: 'iccid_mangled', rule };
  }
  return { code: 'invalid_field', rule: ruleOfInvalid(issue, found) };
}

function ruleOfInvalid(issue: z.core.$ZodIssue, found: unknown): string {
  if (issue.path.length === 0) return 'must be an object';
  switch (issue.code) {
    case 'invalid_union':
      if (issue.path[0] !== 'type') return 'must be a JSON value';
      return `must be one of ${operations.join(', ')}${typeof found === 'string' ? didYouMean(found, operations) : ''}`;
    case 'invalid_type':
      if (!issue.message.startsWith('Invalid input')) return issue.message;
      return `must be ${typeNames[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return bound('at least', issue.minimum, issue.origin);
    case 'too_big':
      return bound('at most', issue.maximum, issue.origin);
    default:
      if (issue.code !== 'invalid_format' || issue.format !== 'datetime') return issue.message;
      return 'must be a date and time with a zone, for example "2026-12-01T00:00:00Z"';
  }
}

function didYouMean(name: string, known: readonly string[]): string {
  if (name.length > 64) return '';
  const nearest =
    nearestName(name, known) ??
    meanings.find((meaning) => known.includes(meaning) && mayMean(meaning, name));
  return nearest === undefined ? '' : `: did you mean ${nearest}?`;
}

function bound(word: string, limit: number | bigint, origin: string): string {
  return origin === 'string' ? `must have ${word} ${limit} characters` : `must be ${word} ${limit}`;
}

const valueLimit = 64;
const ruleLimit = 1000;

/** Cuts text that comes from outside and may be as long as a document. */
function shortened<T extends string | null>(text: T, limit: number): T | string {
  return text === null || text.length <= limit
    ? text
    : `${text.slice(0, limit - 1).toWellFormed()}…`;
}

/** A wrong value as short text: enough to find it in the file, never a full copy. */
export function shownValue(value: unknown): string | null {
  if (value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Else nobody sees that a space is the mistake.
  return (
    shortened(text, valueLimit)?.replaceAll(/^\s+|\s+$/g, (spaces) => '␣'.repeat(spaces.length)) ??
    null
  );
}

/** An id that breaks its own rule becomes null: it must not name an order, a folder or a file. */
export function identityOf(
  read: { source: unknown; orderId: unknown; lineId: unknown; product: unknown },
  lineNumber: number,
  defaultSource: string,
): LineIdentity {
  return {
    lineNumber,
    source: validOrNull(sourceSchema, read.source === undefined ? defaultSource : read.source),
    orderId: validOrNull(orderIdSchema, read.orderId),
    lineId: validOrNull(lineIdSchema, read.lineId),
    product: validOrNull(productSchema, read.product),
  };
}

const productSchema = z.string().min(1).max(128);
const validOrNull = (schema: z.ZodType<string>, value: unknown): string | null =>
  schema.safeParse(value).data ?? null;

/**
 * Adds problems of fields that have none yet: of two problems of one field, the first explains the
 * second.
 */
export function addProblems(problems: Problem[], more: readonly Problem[]): void {
  const known = new Set(problems.map(({ field }) => field));
  for (const problem of more) if (!known.has(problem.field)) problems.push(problem);
}

/** Adds what `checkLine` found. An unknown SKU names no type: its absence would only mislead. */
export function addProblemsOfLine(
  problems: Problem[],
  checked: Checked<unknown>,
  nameOf: FieldNames,
): void {
  if (checked.ok) return;
  const isUnknown = problems.some(({ field }) => field === nameOf(['sku']));
  const known = isUnknown ? nameOf(['type']) : null;
  addProblems(
    problems,
    checked.problems.filter(({ field }) => field !== known),
  );
}

/** The identity of something in which no order can be read. */
export const unidentified = (lineNumber: number): LineIdentity => ({
  lineNumber,
  source: null,
  orderId: null,
  lineId: null,
  product: null,
});

/**
 * Makes one rejection of all problems of a line: the first one in full, the others named after it.
 */
export function rejectionOf(identity: LineIdentity, problems: readonly Problem[]): CheckedLine {
  const [first, ...others] = problems;
  if (first === undefined) throw new RangeError('a rejection needs a problem');
  let rule = first.rule;
  for (const [index, other] of others.entries()) {
    const named = `${shortened(other.field, 100) ?? 'line'} ${other.rule}`;
    if (rule.length + named.length > ruleLimit - 50) {
      rule += `; and ${others.length - index} more`;
      break;
    }
    rule += `${index === 0 ? '; also: ' : '; '}${named}`;
  }
  return {
    kind: 'rejection',
    rejection: {
      ...identity,
      code: first.code,
      field: shortened(first.field, 200),
      rule: shortened(rule, ruleLimit),
      value: first.value,
    },
    problems,
  };
}
