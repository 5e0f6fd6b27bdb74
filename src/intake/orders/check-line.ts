import type { z } from 'zod';
import { nearestName } from '../../core/nearest-name.ts';
import { type Operation, operations } from '../../core/order/purchase.ts';
import {
  type AcceptableLine,
  currencyRule,
  type OrderDefaults,
  type OrderHead,
  joinLine,
  orderHeadSchema,
  orderLineSchema,
} from '../../core/order/order-request.ts';
import { addProblems, type Problem, shownValue } from './checked-line.ts';

/** Names the field at a path within a line or a head as the sender knows it: by a JSON pointer or a column. */
export type FieldNames = (path: readonly PropertyKey[]) => string;

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: Problem[] };

const headFields = ['source', 'order_id', 'currency', 'not_after', 'metadata', 'lines'];
const lineFields: Readonly<Record<string, readonly string[]>> = {
  gift_card_order: ['line_id', 'type', 'variant', 'quantity', 'currency', 'extra'],
  esim_order: ['line_id', 'type', 'plan', 'quantity', 'days', 'currency', 'extra'],
  esim_topup: ['line_id', 'type', 'iccid', 'plan', 'days', 'currency', 'extra'],
  esim_cancel: ['line_id', 'type', 'iccid', 'extra'],
};

/** Stands for a head with problems, so that the lines of its order are checked, too: the sender sees all problems at once. */
// XXX is the code of ISO 4217 for "no currency".
export function placeholderHead({ currency }: Readonly<Record<string, unknown>>): OrderHead {
  return { order_id: '-', ...(currency === undefined ? {} : { currency: 'XXX' }) };
}

/** Checks the fields of an order that concern all its lines; `value` is the order without its lines. */
export function checkHead(value: Readonly<Record<string, unknown>>, nameOf: FieldNames): Checked<OrderHead> {
  const parsed = orderHeadSchema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, problems: problemsOf(parsed.error.issues, value, headFields, 'an order', nameOf) };
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
  const type = value['type'];
  const implied = operations.some((known) => known === type) ? undefined : impliedType(value);
  if (implied !== undefined) {
    const line = { ...value, type: implied };
    const checked = orderLineSchema.safeParse(line);
    if (!checked.success) addProblems(problems, problemsOfLine(checked.error.issues, line, nameOf));
  }
  const known = implied ?? type;
  const rule = operations.some((one) => one === known) ? currencyRule(head, { ...value, type: known }, defaults) : null;
  if (rule !== null) addProblems(problems, [missingCurrency(rule, nameOf)]);
  return { ok: false, problems };
}

/**
 * The type of a line that does not state it, or states an unknown one, from what it names; undefined: nothing says it. A
 * cancel is never assumed.
 */
export function impliedType(line: Readonly<Record<string, unknown>>): Operation | undefined {
  if (line['variant'] !== undefined) return 'gift_card_order';
  if (line['plan'] === undefined) return undefined;
  return line['iccid'] === undefined ? 'esim_order' : 'esim_topup';
}

function problemsOfLine(issues: readonly z.core.$ZodIssue[], value: unknown, nameOf: FieldNames): Problem[] {
  const type = isObject(value) && typeof value['type'] === 'string' ? value['type'] : '';
  const known = Object.hasOwn(lineFields, type) ? (lineFields[type] ?? []) : [];
  return problemsOf(issues, value, known, type, nameOf);
}

function missingCurrency(rule: string, nameOf: FieldNames): Problem {
  return { code: 'missing_field', field: nameOf(['currency']), rule, value: null };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path; undefined when there is none. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = Reflect.get(at, part);
  }
  return at;
}

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
    if (issue.code === 'unrecognized_keys') {
      for (const [index, key] of issue.keys.entries()) {
        // There may be thousands of unknown fields: only the first few get a suggestion.
        const suggestion = index < 5 ? didYouMean(key, known) : '';
        unknown.push({
          code: 'unknown_field',
          field: nameOf([...issue.path, key]),
          rule: `is not a field of ${kind}${suggestion}`,
          value: shownValue(valueAt(value, [...issue.path, key])),
        });
      }
    } else {
      const found = valueAt(value, issue.path);
      others.push({
        code: found === undefined ? 'missing_field' : codeOf(issue, found),
        field: nameOf(issue.path),
        rule: ruleOf(issue, found),
        value: shownValue(found),
      });
    }
  }
  // Unknown fields first: a mistyped name explains why a required field is missing.
  return [...unknown, ...others];
}

const spreadsheetNumber = /^\d(?:[.,]\d+)?E\+?\d+$/i;

function codeOf(issue: z.core.$ZodIssue, found: unknown): string {
  if (issue.path.at(-1) === 'iccid' && typeof found === 'string' && spreadsheetNumber.test(found))
    return 'iccid_mangled';
  return 'invalid_field';
}

const typeNames: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  record: 'an object',
  object: 'an object',
};

/** The rule that a value breaks, as the end of a sentence that begins with the field. */
function ruleOf(issue: z.core.$ZodIssue, found: unknown): string {
  if (issue.path.length === 0) return 'must be an object';
  if (codeOf(issue, found) === 'iccid_mangled') {
    return 'was turned into a number by a spreadsheet and has lost digits: make the column text and export again';
  }
  if (found === undefined) return 'is required';
  if (issue.code === 'invalid_union') {
    if (issue.path[0] !== 'type') return 'must be a JSON value';
    return `must be one of ${operations.join(', ')}${typeof found === 'string' ? didYouMean(found, operations) : ''}`;
  }
  if (issue.code === 'invalid_type') {
    if (!issue.message.startsWith('Invalid input')) return issue.message;
    return `must be ${typeNames[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'too_small') return bound('at least', issue.minimum, issue.origin);
  if (issue.code === 'too_big') return bound('at most', issue.maximum, issue.origin);
  if (issue.code === 'invalid_format' && issue.format === 'datetime') {
    return 'must be a date and time with a zone, for example "2026-12-01T00:00:00Z"';
  }
  return issue.message;
}

/** A suggestion as the end of a sentence; empty when no known name is similar. */
function didYouMean(name: string, known: readonly string[]): string {
  const nearest = name.length > 64 ? undefined : nearestName(name, known);
  return nearest === undefined ? '' : `: did you mean ${nearest}?`;
}

function bound(word: string, limit: number | bigint, origin: string): string {
  return origin === 'string' ? `must have ${word} ${limit} characters` : `must be ${word} ${limit}`;
}
