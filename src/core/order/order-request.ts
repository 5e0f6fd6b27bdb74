import { z } from 'zod';
import { hash } from 'node:crypto';
import type { Customer } from './customer.ts';
import { purchaseFields, type Purchase } from './purchase.ts';

/** A name of at most `max` UTF-16 code units that fits in a line of text. */
const identifier = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}+$/u, 'must not contain control characters')
    .regex(/^\S(.*\S)?$/s, 'must not begin or end with a space');

/**
 * Characters that a person cannot see, or cannot tell from a space. All that Unicode lets a program
 * leave out when it shows a text (`Default_Ignorable_Code_Point`), all that formats, divides or
 * spaces text, and three symbols that are blank: U+2800, U+16FE4 and U+1D159.
 */
const unseen = String.raw`\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}\p{Z}\u2800\u{16fe4}\u{1d159}`;
const onlySeen = new RegExp(`^(?: |[^${unseen}])*$`, 'u');
const firstUnseen = new RegExp(`(?! )[${unseen}]`, 'u');

function unseenRule(id: unknown): string {
  const found = typeof id === 'string' ? firstUnseen.exec(id) : null;
  if (found === null) return 'must not contain invisible characters';
  const name = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const place = `U+${name} after ${found.index} characters`;
  return `must not contain invisible characters or other spaces than U+0020, but has ${place}: remove it at its source`;
}

/**
 * The id of an order or a line. Ids are compared character by character: an invisible character, or
 * a letter that can be written in two ways, could give the same order a second id, and it would be
 * bought again.
 */
const identity = (max: number) =>
  identifier(max)
    .regex(onlySeen, { error: ({ input }) => unseenRule(input) })
    .refine(
      (text) => text === text.normalize('NFC'),
      'must be in the composed form of Unicode (NFC)',
    );

export const orderIdSchema = identity(128);
export const lineIdSchema = identity(64);

/**
 * Limits of this worker on everything that can grow, and the limits that the specification states.
 */
export const orderLimits = {
  linesPerRequest: 1000,
  metadataBytes: 16_384,
  giftCardQuantity: 10_000,
  esimQuantity: 30,
  days: 3650,
} as const;

export const sourceSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'must be 1 to 64 characters of A-Z a-z 0-9 . _ - and start with a letter or digit',
  );

export const currencySchema = z
  .string()
  .regex(/^[A-Z]{3}$/, 'must be three capital letters, for example "USD"');

/** The check digit of ITU-T E.118: it detects every single wrong digit. */
function hasValidCheckDigit(iccid: string): boolean {
  let sum = 0;
  for (let index = 0; index < iccid.length; index += 1) {
    const digit = Number(iccid[iccid.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

export const iccidSchema = z
  .string({ error: 'must be a string: as a number an ICCID loses digits' })
  .regex(/^\d{18,22}$/, 'must be 18 to 22 digits, without apostrophe or spaces')
  .refine(
    (value) => !/^\d{19,20}$/.test(value) || hasValidCheckDigit(value),
    'has a wrong check digit: was the number mistyped?',
  );

/** Money in the currency of the line; a cell of a file is a text. */
export const moneySchema = z.union([
  z.number().min(0).max(1e9),
  z.string().regex(/^\d{1,9}(\.\d{1,6})?$/, 'must be an amount, for example 9.99'),
]);

/** `max_cost`: the most that one unit may cost, in the currency of the line. */
const carried = {
  max_cost: moneySchema.optional(),
  extra: z.record(z.string(), z.string()).optional(),
};
const charged = { currency: currencySchema.optional(), ...carried };
const line_id = lineIdSchema;
const quantity = (most: number) => z.int().min(1).max(most);
/** `days` is for daily plans; its range depends on the plan. */
const plan = { plan: identifier(128), days: quantity(orderLimits.days).optional() };

const giftCardLine = z.strictObject({
  line_id,
  type: z.literal('gift_card_order'),
  variant: identifier(128),
  quantity: quantity(orderLimits.giftCardQuantity),
  ...charged,
});
/** Spec 2: `quantity` of an eSIM order is 1 to 30. */
const esimLine = z.strictObject({
  line_id,
  type: z.literal('esim_order'),
  quantity: quantity(orderLimits.esimQuantity),
  ...plan,
  ...charged,
});
const topupLine = z.strictObject({
  line_id,
  type: z.literal('esim_topup'),
  iccid: iccidSchema,
  ...plan,
  ...charged,
});
const cancelLine = z.strictObject({
  line_id,
  type: z.literal('esim_cancel'),
  iccid: iccidSchema,
  ...carried,
});

export const orderLineSchema = z.discriminatedUnion('type', [
  giftCardLine,
  esimLine,
  topupLine,
  cancelLine,
]);
type OrderLine = z.infer<typeof orderLineSchema>;

const metadataSchema = z
  .record(z.string(), z.json())
  .refine((value) => JSON.stringify(value).length <= orderLimits.metadataBytes, {
    error: `must be at most ${orderLimits.metadataBytes} bytes as JSON`,
  });

/**
 * The actions that the worker may take by itself after a rejection. Without a rule it changes no
 * order.
 */
export const orderRulesSchema = z.strictObject({
  /**
   * Above the per-order limit: order in parts, each with its own reference (Spec 7,
   * `limit_exceeded`).
   */
  split: z.boolean().optional(),
  /**
   * With less in stock than ordered: order fewer (Spec 7, `out_of_stock`: "Order fewer or try
   * later").
   */
  partial: z.boolean().optional(),
  /**
   * When the balance does not cover the order: charge this one (Spec 7, `insufficient_balance`).
   */
  fallback_currency: currencySchema.optional(),
  /** The most that one unit may cost, from the balance that the line names. */
  max_cost: moneySchema.optional(),
});
export type OrderRules = z.infer<typeof orderRulesSchema>;

/**
 * A request without its lines: each line is checked by itself, and a wrong one is rejected alone.
 */
export const orderHeadSchema = z.strictObject({
  source: sourceSchema.optional(),
  order_id: orderIdSchema,
  currency: currencySchema.optional(),
  not_after: z.iso.datetime({ offset: true }).optional(),
  metadata: metadataSchema.optional(),
  rules: orderRulesSchema.optional(),
});
export type OrderHead = z.infer<typeof orderHeadSchema>;

/** A checked line, together with the fields of its request. */
export interface AcceptableLine extends Purchase {
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  /** Wall time in ms. After it, a line that was never sent is not bought any more. */
  readonly notAfterMs: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly extra: Readonly<Record<string, string>>;
  /** Absent: whom `extra` and `metadata` name. */
  readonly customer?: Customer | undefined;
  /**
   * Absent: none. Rules are not part of the fingerprint: a repeated request does not change them.
   */
  readonly rules?: OrderRules;
}

/**
 * A hash of the purchase. A repeated line has the same fingerprint; a line with the same identity
 * and another fingerprint is a conflict. Deadline and metadata are not part of it: with a new
 * deadline it is still the same order.
 */
export function fingerprintOf(line: Purchase): string {
  return hash('sha256', JSON.stringify(purchaseFields.map((field) => line[field])), 'hex').slice(
    0,
    32,
  );
}

/** The defaults that the receiver of orders adds. */
export interface OrderDefaults {
  readonly source: string;
  /** The balance to charge; null or absent: each order must name one. */
  readonly currency?: string | null;
}

/**
 * The rule that a line breaks when nothing names the balance to charge (Spec 1); null: it is named,
 * or none is charged.
 */
export function currencyRule(
  head: Pick<OrderHead, 'currency'>,
  line: { readonly type?: unknown; readonly currency?: unknown },
  defaults: OrderDefaults,
): string | null {
  if (line.type === 'esim_cancel' || line.currency !== undefined) return null;
  if (head.currency !== undefined || typeof defaults.currency === 'string') return null;
  return 'is required on the line or its order, or as `currency` of the folder or token: it names the balance to charge';
}

/**
 * Joins a line with the head of its request. Fails with field and rule when neither names the
 * balance to charge.
 */
export function joinLine(
  head: OrderHead,
  line: OrderLine,
  defaults: OrderDefaults,
): { ok: true; line: AcceptableLine } | { ok: false; field: string; rule: string } {
  const rule = currencyRule(head, line, defaults);
  if (rule !== null) return { ok: false, field: 'currency', rule };
  const currency =
    line.type === 'esim_cancel'
      ? null
      : (line.currency ?? head.currency ?? defaults.currency ?? null);
  const { max_cost } = line;
  return {
    ok: true,
    line: {
      source: head.source ?? defaults.source,
      orderId: head.order_id,
      lineId: line.line_id,
      operation: line.type,
      variant: 'variant' in line ? line.variant : null,
      plan: 'plan' in line ? line.plan : null,
      iccid: 'iccid' in line ? line.iccid : null,
      quantity: 'quantity' in line ? line.quantity : null,
      days: 'days' in line ? (line.days ?? null) : null,
      currency,
      notAfterMs: head.not_after === undefined ? null : Date.parse(head.not_after),
      metadata: head.metadata ?? {},
      extra: line.extra ?? {},
      rules: { ...head.rules, ...(max_cost === undefined ? {} : { max_cost }) },
    },
  };
}
