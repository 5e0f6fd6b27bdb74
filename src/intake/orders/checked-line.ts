import { type AcceptableLine, orderHeadSchema, sourceSchema } from '../../core/order/order-request.ts';
import type { Rejection } from '../../store/intake/intake.ts';

/** A line that cannot be accepted, and why. One for each line: further problems are named in its rule. */
export type LineRejection = Omit<Rejection, 'createdAtMs'>;

/** What a document of orders is made of: lines that may be accepted, and lines that may not. */
export type ParsedItem =
  | { readonly kind: 'line'; readonly line: AcceptableLine & { readonly lineNumber: number | null } }
  | { readonly kind: 'rejection'; readonly rejection: LineRejection };

/** One thing that is wrong with a line or with the head of its order. */
export interface Problem {
  readonly code: string;
  /** A JSON pointer, or the name of a column. */
  readonly field: string | null;
  readonly rule: string;
  readonly value: string | null;
}

/** Whose line it is, as far as that can be read. */
export interface LineIdentity {
  readonly lineNumber: number | null;
  readonly source: string | null;
  readonly orderId: string | null;
  readonly lineId: string | null;
}

const valueLimit = 64;

/** Names come from outside and may be as long as a document. */
function shortened<T extends string | null>(text: T, limit: number): T | string {
  return text === null || text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`;
}

/** The value met, as short text: enough to find it in the file, never a copy of it. */
export function shownValue(value: unknown): string | null {
  if (value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return shortened(text, valueLimit);
}

/**
 * What a rejection may say of whose line it was. A source or an order id that breaks its own rule is null: it names
 * no order, and must not become the name of a folder or a file.
 */
export function identityOf(
  met: { source: unknown; orderId: unknown; lineId: unknown },
  lineNumber: number | null,
  defaultSource: string,
): LineIdentity {
  const source = met.source === undefined ? defaultSource : met.source;
  return {
    lineNumber,
    source: isSource(source) ? source : null,
    orderId: isOrderId(met.orderId) ? met.orderId : null,
    lineId: typeof met.lineId === 'string' && met.lineId !== '' ? shownValue(met.lineId) : null,
  };
}

const isSource = (value: unknown): value is string => sourceSchema.safeParse(value).success;
const isOrderId = (value: unknown): value is string => orderHeadSchema.shape.order_id.safeParse(value).success;

/** Joins what is wrong with one line into its rejection: the first problem leads, the others are named after it. */
export function rejectionOf(identity: LineIdentity, problems: readonly Problem[]): ParsedItem {
  const [first, ...others] = problems;
  if (first === undefined) throw new RangeError('a rejection needs a problem');
  const named = others.slice(0, 4).map((other) => `${shortened(other.field, 100) ?? 'line'} ${other.rule}`);
  if (others.length > named.length) named.push(`and ${others.length - named.length} more`);
  const rule = named.length === 0 ? first.rule : `${first.rule}; also: ${named.join('; ')}`;
  return {
    kind: 'rejection',
    rejection: {
      ...identity,
      code: first.code,
      field: shortened(first.field, 200),
      rule: shortened(rule, 1000),
      value: first.value,
    },
  };
}
