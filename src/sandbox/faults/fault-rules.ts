import * as z from 'zod';
import { operations } from '../orders/operations.ts';

const when = z.enum(['before', 'after']).default('after');
const ms = (fallback: number) => z.int().min(0).max(600_000).default(fallback);

/**
 * Every way in which an answer can go wrong on purpose. `when: before` means that nothing was committed,
 * `after` that the call did its work and only the answer is spoiled.
 */
export const faultSchema = z.discriminatedUnion('fault', [
  /** The work is committed, the connection ends without a byte of an answer. */
  z.strictObject({ fault: z.literal('lost_answer') }),
  /** The caller loses the connection at once (or is kept waiting), and the work is committed only later. */
  z.strictObject({
    fault: z.literal('late_commit'),
    delay_ms: ms(2_000),
    meanwhile: z.enum(['drop', 'hang']).default('drop'),
  }),
  /** A TCP reset instead of an answer. */
  z.strictObject({ fault: z.literal('reset'), when }),
  /** Status line and headers arrive, the body ends half way. */
  z.strictObject({
    fault: z.literal('cut_body'),
    framing: z.enum(['content_length', 'chunked', 'close']).default('content_length'),
  }),
  /** The body arrives in small pieces. */
  z.strictObject({ fault: z.literal('slow_body'), bytes: z.int().min(1).default(1), interval_ms: ms(50) }),
  /** No answer; the connection stays open until the caller leaves or the time is over. */
  z.strictObject({ fault: z.literal('hang'), when, duration_ms: ms(600_000) }),
  /** What a proxy in front of a dead service says. */
  z.strictObject({ fault: z.literal('html_502'), when }),
  /** Spec 7: API switched off for maintenance. */
  z.strictObject({ fault: z.literal('api_disabled') }),
  z.strictObject({
    fault: z.literal('redirect'),
    status: z.union([z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)]).default(307),
    location: z.string().default('/elsewhere'),
    when,
  }),
  /** content-length says more (or, negative, fewer) bytes than there are. */
  z.strictObject({
    fault: z.literal('wrong_content_length'),
    delta: z.int().min(-1_000_000).max(1_000_000).default(10),
  }),
  /** A well-formed answer that speaks of another order's reference. */
  z.strictObject({ fault: z.literal('other_reference'), reference: z.string().default('somebody-elses-reference') }),
  /** A correct answer, made huge by padding. */
  z.strictObject({ fault: z.literal('huge_body'), bytes: z.int().min(1).max(104_857_600).default(10_485_760) }),
  /** A success that delivers fewer units than were ordered. */
  z.strictObject({ fault: z.literal('missing_units') }),
  /** Bytes that are not HTTP. */
  z.strictObject({ fault: z.literal('garbage'), when }),
  /** A 429 that no limit explains. */
  z.strictObject({ fault: z.literal('rate_limited'), retry_after_s: z.int().min(0).max(3_600).optional() }),
  /** The order succeeds and takes the last of the stock with it: a retry that is checked again finds none. */
  z.strictObject({ fault: z.literal('empty_stock') }),
  /** Any status with any body, for what this list forgot. */
  z.strictObject({
    fault: z.literal('answer'),
    status: z.int().min(200).max(599),
    body: z.string().default(''),
    content_type: z.string().default('application/json'),
    when,
  }),
]);

/** Which calls a rule hits. Counting and drawing are per rule and seeded, so a run can be repeated. */
export const faultRuleSchema = z.strictObject({
  fault: faultSchema,
  match: z
    .strictObject({
      operation: z.union([z.enum(operations), z.array(z.enum(operations))]).optional(),
      reference: z.string().optional(),
      item: z.string().optional(),
      key: z.string().optional(),
    })
    .prefault({}),
  /** The matching calls to hit, counted from 1: `at: [3]` is the third. */
  at: z.array(z.int().min(1)).optional(),
  /** Or the share of matching calls to hit. Without `at` and `probability` every one is. */
  probability: z.number().min(0).max(1).optional(),
  /** How often the rule may hit before it is spent. */
  times: z.int().min(1).optional(),
});

export type Fault = z.output<typeof faultSchema>;
export type FaultRule = z.output<typeof faultRuleSchema>;
export type FaultRuleInput = z.input<typeof faultRuleSchema>;
