import { isIP } from 'node:net';
import * as z from 'zod';
import { checkNames, checkOrderProblem } from './orders/check-order.ts';
import { faultRuleSchema } from './faults/fault-rules.ts';

const currencyCode = z.string().regex(/^[A-Z]{3}$/, 'a currency is three capital letters, such as USD');
const amount = z.string().regex(/^\d{1,12}(\.\d{1,3})?$/, 'an amount is decimal text, such as "12.34"');
const rangeMs = z
  .tuple([z.number().min(0).max(600_000), z.number().min(0).max(600_000)])
  .refine(([min, max]) => min <= max, 'a range is [min, max]');

const keySchema = z.strictObject({
  name: z.string().min(1).max(60),
  /** Given in the config so that local programs know it; the database keeps only its fingerprint. */
  value: z.string().min(8).max(200),
  /** Spec 5.6: empty means that the key works from any address. */
  allow_list: z
    .array(z.string().refine((address) => isIP(address) !== 0, 'an address is IPv4 or IPv6'))
    .max(10, 'at most 10 addresses stand in an allowlist (Spec 8)')
    .default([]),
});

const accountSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]{1,40}$/),
  email: z.string().min(3).max(120),
  phone: z.string().max(40).optional(),
  wholesale: z.boolean().default(true),
  blocked: z.boolean().default(false),
  /** Opening balances by currency; applied once, when the account is first seen. */
  balances: z.record(currencyCode, amount).default({ USD: '100000.00', EUR: '100000.00' }),
  keys: z.array(keySchema).max(5, 'an account holds at most 5 live keys (Spec 8)').default([]),
});

const limitsSchema = z.strictObject({
  /** Off: nothing is limited, for tests of throughput. */
  enabled: z.boolean().default(true),
  window_ms: z.int().min(1).max(86_400_000).default(60_000),
  requests: z.int().min(1).max(1_000_000).default(60),
  orders: z.int().min(1).max(1_000_000).default(20),
  model: z
    .enum(['sliding_log', 'fixed_window', 'sliding_counter', 'token_bucket', 'rejected_count'])
    .default('sliding_log'),
  retry_after: z.enum(['seconds', 'date', 'none']).default('seconds'),
  body: z.enum(['json', 'text', 'empty']).default('json'),
  code: z.string().min(1).max(60).default('rate_limited'),
});

const latencySchema = z.strictObject({
  /** On the way in, before the limiter stamps the arrival. */
  before_ms: rangeMs.default([0, 0]),
  /** On the way out, after everything is committed. */
  after_ms: rangeMs.default([0, 0]),
});

const referencesSchema = z.strictObject({
  max_length: z.int().min(1).max(64).default(64),
  /** A repeat in the same family: the first answer word for word, or the order as it stands now. */
  replay: z.enum(['stored', 'current']).default('stored'),
  /** A repeat whose body differs from the first one: answered with the existing order, or 422. */
  different_body: z.enum(['replay', 'refuse']).default('replay'),
  /** After a 4xx about the order: may the reference be used again, or does it answer the same for ever? */
  after_refusal: z.enum(['free', 'remembered']).default('free'),
});

const requestsSchema = z.strictObject({
  unknown_fields: z.enum(['reject', 'ignore']).default('reject'),
  max_body_bytes: z.int().min(1024).max(16_777_216).default(65_536),
  /** Believe `x-forwarded-for` when checking allowlists: only behind a proxy that sets it. */
  trust_forwarded_for: z.boolean().default(false),
});

const fulfilmentSchema = z.strictObject({
  /** delayed: the order is accepted as `pending`, its units follow. */
  mode: z.enum(['immediate', 'delayed']).default('immediate'),
  delay_ms: rangeMs.default([2_000, 5_000]),
});

const esimsSchema = z.strictObject({
  /** An eSIM that nobody installs expires after this many days. */
  install_within_days: z.int().min(1).max(3_650).default(180),
  smdp_address: z.string().min(3).max(120).default('rsp.sandbox.example'),
});

const messagesSchema = z.strictObject({
  cancel_installed: z.string().default('The eSIM was already installed.'),
  cancel_topped_up: z.string().default('The eSIM was already topped up.'),
  cancel_cancelled: z.string().default('The eSIM was already cancelled.'),
  cancel_expired: z.string().default('The eSIM has expired.'),
  cancel_unchecked: z
    .string()
    .default('The state of the eSIM could not be checked at this moment. Try again in about a minute.'),
});

/** Every setting of the sandbox. All of them have defaults; `docs/sandbox.md` shows each one. */
export const sandboxConfigSchema = z.strictObject({
  accounts: z
    .array(accountSchema)
    .min(1)
    .superRefine((accounts, context) => {
      for (const field of ['id', 'email'] as const) {
        const values = accounts.map((account) => account[field].toLowerCase());
        const twice = values.find((value, index) => values.indexOf(value) !== index);
        if (twice !== undefined)
          context.addIssue({ code: 'custom', message: `two accounts have the ${field} ${twice}` });
      }
    })
    .prefault([{ id: 'acme', email: 'owner@acme.example', keys: [{ name: 'main', value: 'sandbox-key-main' }] }]),
  /** A catalogue file; relative to the folder of the config. Without it: the one that is shipped. */
  catalogue: z.string().optional(),
  limits: limitsSchema.prefault({}),
  latency: latencySchema.prefault({}),
  /** The order in which a call is checked: Spec 7 leaves it open. */
  checks: z
    .array(z.enum(checkNames))
    .superRefine((order, context) => {
      const message = checkOrderProblem(order);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .default([...checkNames]),
  references: referencesSchema.prefault({}),
  requests: requestsSchema.prefault({}),
  fulfilment: fulfilmentSchema.prefault({}),
  esims: esimsSchema.prefault({}),
  messages: messagesSchema.prefault({}),
  faults: z.array(faultRuleSchema).default([]),
  /** Spec 7: 503 `api_disabled` for every call. */
  maintenance: z.boolean().default(false),
  /** relaxed: commits are not flushed to the device; only for tests of throughput. */
  durability: z.enum(['full', 'relaxed']).default('full'),
  /** Products a page; 0 lists all at once unless the caller asks for pages. */
  products_per_page: z.int().min(0).max(1_000).default(0),
  /** Rows kept of the request log. */
  request_log: z.int().min(1_000).max(10_000_000).default(200_000),
  /** Required on /__sandbox/* when given (as `Authorization: Bearer`). Without it those routes answer only on loopback. */
  admin_token: z.string().min(8).optional(),
  /** Where one-time codes are written; without it: beside the database, with `.outbox.jsonl` added. */
  outbox: z.string().optional(),
});

/** What a caller writes: everything optional. */
export type SandboxConfig = z.input<typeof sandboxConfigSchema>;
/** What the sandbox works with: everything present. */
export type SandboxSettings = z.output<typeof sandboxConfigSchema>;
export type AccountSettings = SandboxSettings['accounts'][number];
export type LimitSettings = SandboxSettings['limits'];
