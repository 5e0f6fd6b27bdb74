import { isIP } from 'node:net';
import * as z from 'zod';
import { faultRuleSchema } from './fault-rules.ts';

/**
 * The accounts of a sandbox without a config: one that buys, and some of which every call is
 * refused in a known way, as test values are refused.
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
  {
    id: 'not-wholesale',
    wholesale: false,
    keys: [{ name: 'main', value: 'sandbox-key-not-wholesale' }],
  },
  {
    id: 'empty',
    balances: { USD: '0.00', EUR: '0.00' },
    keys: [{ name: 'main', value: 'sandbox-key-empty' }],
  },
];

const currencyCode = z
  .string()
  .regex(/^[A-Z]{3}$/, 'a currency is three capital letters, such as USD');
const amount = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,3})?$/, 'an amount is decimal text, such as "12.34"');
const rangeMs = z
  .tuple([z.number().min(0).max(600_000), z.number().min(0).max(600_000)])
  .refine(([min, max]) => min <= max, 'a range is [min, max]');

export const keySchema = z.strictObject({
  name: z.string().min(1).max(60),
  /**
   * In plain text, because local programs must know it; the database stores only its fingerprint.
   */
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
      if (twice !== undefined)
        context.addIssue({ code: 'custom', message: `two accounts have the id ${twice}` });
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
  }),
  latency: section({
    /** Before the limits count the call. */
    before_ms: rangeMs.default([0, 0]),
    /** Before the answer is sent, after everything is committed. */
    after_ms: rangeMs.default([0, 0]),
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
  /** How many of the latest calls are in the log; the limits are restored from them. */
  logged_calls: z.int().min(1_000).max(10_000_000).default(200_000),
  /** The bearer token of the routes below /__sandbox/. Absent: they answer only on loopback. */
  admin_token: z.string().min(8).optional(),
});

/** The settings as a config has them: all optional. */
export type SandboxConfig = z.input<typeof sandboxConfigSchema>;
export type SandboxSettings = z.output<typeof sandboxConfigSchema>;
export type AccountSettings = SandboxSettings['accounts'][number];
export type LimitSettings = SandboxSettings['limits'];
