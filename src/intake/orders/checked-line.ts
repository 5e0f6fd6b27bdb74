import { z } from 'zod';
import { type AcceptableLine, lineIdSchema, orderIdSchema, sourceSchema } from '../../core/order/order-request.ts';
import type { NewRejection } from '../../store/intake/rejections.ts';

/** A line that is not accepted, and why. There is one for each line: `rule` names its further problems, as far as they fit. */
export type LineRejection = NewRejection;

/** The result of checking one line of a document. */
export type CheckedLine =
  | { readonly kind: 'line'; readonly line: AcceptableLine & { readonly lineNumber: number | null } }
  | { readonly kind: 'rejection'; readonly rejection: LineRejection; readonly problems: readonly Problem[] };

/** One thing that is wrong with a line or with the head of its order. */
export interface Problem {
  readonly code: string;
  /** A JSON pointer, or the name of a column. */
  readonly field: string | null;
  readonly rule: string;
  readonly value: string | null;
}

/** The identity of a line, as far as it can be read. */
export type LineIdentity = Pick<NewRejection, 'lineNumber' | 'source' | 'orderId' | 'lineId' | 'product'>;

const valueLimit = 64;
const ruleLimit = 1000;

/** Cuts text that comes from outside and may be as long as a document. */
function shortened<T extends string | null>(text: T, limit: number): T | string {
  return text === null || text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`;
}

/** A wrong value as short text: enough to find it in the file, never a full copy. */
export function shownValue(value: unknown): string | null {
  if (value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return shortened(text, valueLimit);
}

/**
 * The identity of a rejected line. An id that breaks its own rule becomes null: it names no order, and must not become the
 * name of a folder or a file; and the corrected line has another one.
 */
export function identityOf(
  read: { source: unknown; orderId: unknown; lineId: unknown; product: unknown },
  lineNumber: number | null,
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
const validOrNull = (schema: z.ZodType<string>, value: unknown): string | null => schema.safeParse(value).data ?? null;

/** Adds problems of fields that have none yet: of two problems of one field, the first explains the second. */
export function addProblems(problems: Problem[], more: readonly Problem[]): void {
  const known = new Set(problems.map(({ field }) => field));
  for (const problem of more) if (!known.has(problem.field)) problems.push(problem);
}

/** Makes one rejection of all problems of a line: the first one in full, the others named after it. */
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
