import { isIP } from 'node:net';
import * as z from 'zod';
import { faultRuleSchema } from './fault-rules.ts';

/**
 * The accounts of a sandbox without a config: one that buys, and some of which every call is refused in a known way, as
 * test values are refused.
 */
const defaultAccounts = [
  { id: 'acme', keys: [{ name: 'main', value: 'sandbox-key-main' }] },
  {
    id: 'keys',
    keys: [
      { name: 'revoked', value: 'sandbox-key-revoked', revoked: true },
      // An address for documentation (RFC 5737): no caller has it.
      { name: 'other-address', value: 'sandbox-key-other-address', allow_list: ['192.0.2.1'] },
    ],
  },
  { id: 'blocked', blocked: true, keys: [{ name: 'main', value: 'sandbox-key-blocked' }] },
  { id: 'not-wholesale', wholesale: false, keys: [{ name: 'main', value: 'sandbox-key-not-wholesale' }] },
  {
    id: 'empty',
    balances: { USD: '0.00', EUR: '0.00' },
    keys: [{ name: 'main', value: 'sandbox-key-empty' }],
  },
];

const currencyCode = z.string().regex(/^[A-Z]{3}$/, 'a currency is three capital letters, such as USD');
const amount = z.string().regex(/^\d{1,12}(\.\d{1,3})?$/, 'an amount is decimal text, such as "12.34"');
const rangeMs = z
  .tuple([z.number().min(0).max(600_000), z.number().min(0).max(600_000)])
  .refine(([min, max]) => min <= max, 'a range is [min, max]');

export const keySchema = z.strictObject({
  name: z.string().min(1).max(60),
  /** In plain text, because local programs must know it; the database stores only its fingerprint. */
  value: z.string().min(8).max(200),
  /** Spec 5.6: with an empty list the key works from any address. */
  allow_list: z
    .array(z.string().refine((address) => isIP(address) !== 0, 'an address is IPv4 or IPv6'))
    .max(10, 'an allowlist has at most 10 addresses (Spec 8)')
    .default([]),
  /** True: 401 `invalid_key`, as for a key that the account holder has revoked. */
  revoked: z.boolean().default(false),
});

export const accountSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]{1,40}$/),
  wholesale: z.boolean().default(true),
  blocked: z.boolean().default(false),
  /** Opening balances by currency; added once, when the account is new. */
  balances: z.record(currencyCode, amount).default({ USD: '100000.00', EUR: '100000.00' }),
  keys: z.array(keySchema).max(5, 'an account holds at most 5 live keys (Spec 8)').default([]),
});

/**
 * The checks of a call, in the default order. The order of the real service is not shown: Spec 7 lists the errors, not
 * their precedence. A config can choose another order, to try a client against every plausible service.
 */
export const checkNames = [
  'maintenance',
  'key',
  'address',
  'account',
  'limits',
  'request',
  'reference',
  'esim',
  'item',
  'state',
  'quantity',
  'currency',
  'refusal',
  'stock',
  'balance',
] as const;

export type CheckName = (typeof checkNames)[number];

/** The checks that need only the headers of a call. They alone also apply to calls that only read. */
export const admissionChecks: readonly CheckName[] = ['maintenance', 'key', 'address', 'account', 'limits'];

/** The checks whose findings a check reads; it must come after them. */
const needs: Partial<Record<string, CheckName[]>> & Partial<Record<CheckName, CheckName[]>> = {
  address: ['key'],
  account: ['key'],
  limits: ['key'],
  reference: ['key', 'request'],
  esim: ['key'],
  item: ['request'],
  state: ['esim', 'item'],
  quantity: ['item'],
  currency: ['item'],
  refusal: ['item'],
  stock: ['item'],
  balance: ['currency', 'key'],
};

/** Why an order of checks is not possible, or null when it is. */
function checkOrderProblem(order: readonly string[]): string | null {
  const missing = checkNames.filter((name) => !order.includes(name));
  if (missing.length > 0) return `every check must be named once; missing: ${missing.join(', ')}`;
  if (order.length !== checkNames.length) return 'every check must be named once; one is named twice';
  for (const [index, name] of order.entries()) {
    for (const needed of needs[name] ?? []) {
      if (order.indexOf(needed) > index) return `"${name}" needs the result of "${needed}", so it must come after it`;
    }
  }
  return null;
}

/** A section that need not be in the config: each of its keys has a default. */
const section = <Keys extends z.core.$ZodLooseShape>(keys: Keys) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema itself checks the empty section
  z.strictObject(keys).prefault({} as never);

/** The settings of the sandbox, all with defaults. `docs/sandbox.md` lists them. */
export const sandboxConfigSchema = z.strictObject({
  accounts: z
    .array(accountSchema)
    .min(1)
    .superRefine((accounts, context) => {
      const ids = accounts.map(({ id }) => id);
      const twice = ids.find((id, index) => ids.indexOf(id) !== index);
      if (twice !== undefined) context.addIssue({ code: 'custom', message: `two accounts have the id ${twice}` });
    })
    .prefault(defaultAccounts),
  /** A catalogue file, relative to the folder of the config. Absent: the shipped catalogue. */
  catalogue: z.string().optional(),
  limits: section({
    /** False: no limit, for tests of throughput. */
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
  }),
  latency: section({
    /** Before the limits count the call. */
    before_ms: rangeMs.default([0, 0]),
    /** Before the answer is sent, after everything is committed. */
    after_ms: rangeMs.default([0, 0]),
  }),
  /** The order of the checks, which Spec 7 does not fix. */
  checks: z
    .array(z.enum(checkNames))
    .superRefine((order, context) => {
      const message = checkOrderProblem(order);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .default([...checkNames]),
  references: section({
    /** The answer to a repeat in the same family: the order in its current state, or the stored first answer. */
    replay: z.enum(['current', 'stored']).default('current'),
    /** The answer to a repeat with a different body: the existing order, or 422. */
    different_body: z.enum(['replay', 'refuse']).default('replay'),
    /**
     * After a 4xx about the order, the reference is free again, or it gets the same answer for ever. Only what a check after
     * `reference` refuses is remembered.
     */
    after_refusal: z.enum(['free', 'remembered']).default('free'),
  }),
  requests: section({
    unknown_fields: z.enum(['reject', 'ignore']).default('reject'),
  }),
  fulfilment: section({
    /** delayed: the order is `pending` first, and its units are delivered later. */
    mode: z.enum(['immediate', 'delayed']).default('immediate'),
    delay_ms: rangeMs.default([2_000, 5_000]),
  }),
  faults: z.array(faultRuleSchema).default([]),
  /** Spec 7: 503 `api_disabled` for every call. */
  maintenance: z.boolean().default(false),
  /** relaxed: commits are not flushed to the disk; only for tests of throughput. */
  durability: z.enum(['full', 'relaxed']).default('full'),
  /** Products in a page; 0 lists all of them, unless the caller asks for pages. */
  products_per_page: z.int().min(0).max(1_000).default(0),
  request_log: section({
    /** How many of the latest calls are kept, without their bodies; the limits are restored from them. */
    calls: z.int().min(1_000).max(10_000_000).default(200_000),
    /** Of how many of these the bodies are kept, too. 0: of none. */
    bodies: z.int().min(0).max(10_000).default(1_000),
    /** A body is cut after so many characters. */
    body_chars: z.int().min(0).max(65_536).default(4_096),
  }),
  /** The bearer token of the routes below /__sandbox/. Absent: they answer only on loopback. */
  admin_token: z.string().min(8).optional(),
});

/** The settings as a config has them: all optional. */
export type SandboxConfig = z.input<typeof sandboxConfigSchema>;
export type SandboxSettings = z.output<typeof sandboxConfigSchema>;
export type AccountSettings = SandboxSettings['accounts'][number];
export type LimitSettings = SandboxSettings['limits'];
