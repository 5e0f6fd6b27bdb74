import * as z from 'zod';
import { operations } from '../values/operations.ts';

const when = z.enum(['before', 'after']).default('after');
const ms = (fallback: number) => z.int().min(0).max(600_000).default(fallback);

/**
 * The ways in which a call can fail on purpose. With `when: before` nothing is carried out; with
 * `when: after` the call is carried out and only the answer is spoiled.
 */
export const faultSchema = z.discriminatedUnion('fault', [
  /** The call is committed, and the connection ends without a byte of an answer. */
  z.strictObject({ fault: z.literal('lost_answer') }),
  /**
   * The call is counted now and committed later. Until then the connection is dropped or kept open.
   */
  z.strictObject({
    fault: z.literal('late_commit'),
    delay_ms: ms(2_000),
    meanwhile: z.enum(['drop', 'hang']).default('drop'),
  }),
  z.strictObject({ fault: z.literal('reset'), when }),
  /** Status line and headers arrive, and 50 % of the body. */
  z.strictObject({
    fault: z.literal('cut_body'),
    framing: z.enum(['content_length', 'chunked', 'close']).default('content_length'),
  }),
  z.strictObject({
    fault: z.literal('slow_body'),
    bytes: z.int().min(1).default(1),
    interval_ms: ms(50),
  }),
  /** No answer; the connection stays open until the caller closes it or the time is over. */
  z.strictObject({ fault: z.literal('hang'), when, duration_ms: ms(600_000) }),
  /** The answer of a proxy whose service is down. */
  z.strictObject({ fault: z.literal('html_502'), when }),
  z.strictObject({ fault: z.literal('api_disabled') }),
  z.strictObject({
    fault: z.literal('redirect'),
    status: z
      .union([z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)])
      .default(307),
    location: z.string().default('/elsewhere'),
    when,
  }),
  /** `content-length` is too large by `delta` bytes, or too small when it is negative. */
  z.strictObject({
    fault: z.literal('wrong_content_length'),
    delta: z.int().min(-1_000_000).max(1_000_000).default(10),
  }),
  /** A well-formed answer with the reference of another order. */
  z.strictObject({
    fault: z.literal('other_reference'),
    reference: z.string().default('somebody-elses-reference'),
  }),
  /** A correct answer with so many bytes of padding. */
  z.strictObject({
    fault: z.literal('huge_body'),
    bytes: z.int().min(1).max(104_857_600).default(10_485_760),
  }),
  z.strictObject({ fault: z.literal('missing_units') }),
  z.strictObject({ fault: z.literal('garbage'), when }),
  /** 429, although no limit is reached. */
  z.strictObject({
    fault: z.literal('rate_limited'),
    retry_after_s: z.int().min(0).max(3_600).optional(),
  }),
  /** The order succeeds and empties the stock: a retry that is checked again is refused. */
  z.strictObject({ fault: z.literal('empty_stock') }),
  z.strictObject({
    fault: z.literal('answer'),
    status: z.int().min(200).max(599),
    body: z.string().default(''),
    content_type: z.string().default('application/json'),
    when,
  }),
]);

/**
 * A fault and the calls that it hits. Each rule counts and draws for itself, so a seed repeats a
 * run.
 */
export const faultRuleSchema = z.strictObject({
  fault: faultSchema,
  match: z
    .strictObject({
      operation: z.union([z.enum(operations), z.array(z.enum(operations))]).optional(),
      reference: z.string().optional(),
      item: z.string().optional(),
      key: z.string().optional(),
      account: z.string().optional(),
    })
    .prefault({}),
  /** The positions among the matching calls, counted from 1: `at: [3]` hits the third. */
  at: z.array(z.int().min(1)).optional(),
  /**
   * The share of the matching calls to hit. Without `at` and `probability` the rule hits all of
   * them.
   */
  probability: z.number().min(0).max(1).optional(),
  /** The rule ends after so many hits. */
  times: z.int().min(1).optional(),
});

export type Fault = z.output<typeof faultSchema>;
export type FaultRule = z.output<typeof faultRuleSchema>;
export type FaultRuleInput = z.input<typeof faultRuleSchema>;
