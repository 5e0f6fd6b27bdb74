import { z } from 'zod';
import { currencySchema, sourceSchema } from '../core/order/order-request.ts';
import { count, durationMs, httpUrl, keyName, live, secretFile, secretText } from '../core/settings/schema-values.ts';
import { isCronExpression } from '../ops/schedule.ts';

/** The settings of a shop that are the same on every platform. */
export interface ShopSettings {
  readonly platform: string;
  /** Names the shop in the address of its webhook. */
  readonly shop: string;
  /** The source that its orders belong to. */
  readonly source: string;
  /** A webhook may be signed with any of them, so a secret can be replaced without a gap. */
  readonly secrets: readonly string[];
  readonly skuMap: string;
  /** The balance to charge where the SKU map names none; null: the currency of the order. */
  readonly currency: string | null;
  /** A line whose SKU is not in the SKU map is ignored, or flagged for review. */
  readonly unmatched: 'ignore' | 'hold';
  readonly onRefund: 'hold' | 'cancel_esim' | 'ignore';
  /** Orders that were paid longer ago are flagged for review, not bought. */
  readonly maxAgeMs: number;
  /** The field of a line in which a customer names the eSIM to top up. */
  readonly iccidField: string;
  /** Null: the shop is not read back. */
  readonly rest: RestSettings | null;
}

/** How a shop is read back through its REST API. */
export interface RestSettings {
  /** Scheme, host and path of the shop, without a slash at the end. */
  readonly url: string;
  /** When it is read, as a cron expression in UTC. */
  readonly schedule: string;
  /** How far before the first start of the worker orders are read back. */
  readonly lookbackMs: number;
  /** How far before the last read change a run starts: shops show some changes later than they date them. */
  readonly overlapMs: number;
  readonly pageSize: number;
  /** The next run continues after them. */
  readonly pagesPerRun: number;
  /** From the start of one call to the start of the next. */
  readonly intervalMs: number;
  /** The longest answer that is read. */
  readonly bodyBytes: number;
  readonly connectMs: number;
  /** From the start of a call to the last byte of its answer. */
  readonly totalMs: number;
}

/** How one platform's shops are configured. */
export interface PlatformSettings<Name extends string, Shop extends ShopSettings> {
  readonly name: Name;
  /** The platform signs the webhooks of several shops with one secret, so its secret does not identify a shop. */
  readonly sharesSecrets: boolean;
  /** Which rule between the keys of `rest` is broken; null: none. `isSet` knows a key and, of a secret, its file. */
  restProblem(isSet: (key: string) => boolean): string | null;
  /** @param secretAt the secret of a dotted path within the shop's section */
  resolve(section: ShopSection, secretAt: SecretAt): Shop;
}

export type SecretAt = (path: string) => string | undefined;

const secrets = z.array(
  z.strictObject({
    value: secretText('required').describe(
      'A secret, at least 16 characters. In production from the environment, or use `value_file`.',
    ),
    value_file: secretFile('the secret'),
  }),
);

export const shopKeys = {
  shop: keyName.describe('Names the shop in the address of its webhook.'),
  source: sourceSchema
    .optional()
    .describe(
      'The source that its orders belong to. Default: the name of the shop. It must never change: under another source every order that the shop shows again would be bought again, so the worker refuses a start or reload with another one.',
    ),
  secrets: secrets
    .min(1)
    .max(10)
    .describe('The secrets that sign its webhooks. During a rotation, list the old and the new one.'),
  sku_map: z.string().min(1).max(4096).describe('The file (YAML or CSV) that says what each SKU stands for.'),
  currency: currencySchema
    .optional()
    .describe('The balance to charge where the SKU map names none. Default: the currency of the order.'),
  unmatched: z
    .enum(['ignore', 'hold'])
    .default('ignore')
    .describe('Lines whose SKU is not in the map: `ignore` them, or `hold` them for review.'),
  on_refund: z
    .enum(['hold', 'cancel_esim', 'ignore'])
    .default('hold')
    .describe(
      'A refund of something that was bought: `hold` it for review, `cancel_esim` to cancel eSIMs without review, or `ignore` it.',
    ),
  max_age_h: count(1, 8760)
    .default(168)
    .describe('Orders that were paid more than this many hours ago are flagged for review, not bought.'),
  iccid_field: z
    .string()
    .min(1)
    .max(64)
    .default('iccid')
    .describe('The field of a line in which the customer names the eSIM to top up, in capitals or not.'),
};

export const restKeys = {
  url: httpUrl.describe(
    'The address of the shop, for example `https://shop.example.com`. It must be https, except on this machine.',
  ),
  schedule: z
    .string()
    .max(100)
    .refine(isCronExpression, 'must be a cron expression of five or six fields, for example "*/5 * * * *"')
    .default('*/5 * * * *')
    .describe('When the shop is read back, as a cron expression in UTC. The worker also reads it at its start.'),
  lookback_h: count(0, 8760)
    .default(0)
    .describe('How many hours before the very first start read-back begins. Paid orders of that time are bought.'),
  overlap_s: count(0, 86_400)
    .default(300)
    .describe('How many seconds before the last read change a run starts: shops show some changes late.'),
  pages_per_run: count(1, 10_000).default(50).describe('Pages in one run. The next run continues after them.'),
  request_interval_ms: durationMs(0, 60_000).default(500).describe('The least time between two calls to the shop.'),
  body_bytes: count(1024, 268_435_456).default(16_777_216).describe('The longest answer that is read.'),
  timeouts: z
    .strictObject({
      connect_ms: durationMs(1, 600_000).default(5000).describe('Until the connection is open.'),
      total_ms: durationMs(1, 600_000).default(60_000).describe('Until the answer is complete.'),
    })
    .prefault({})
    .describe('Deadlines of one call.'),
};

const restSection = z.object({ ...restKeys, page_size: z.number() });
const shopSection = z.object({ ...shopKeys, rest: restSection.optional() });
/** What the section of any shop has, whatever its platform. */
export type ShopSection = z.infer<typeof shopSection>;

/** The key of `intake.webhook` that lists the shops of a platform. */
export const shopList = <Shop extends z.ZodType>(title: string, shop: Shop) =>
  z
    .array(shop)
    .max(100)
    .default([])
    .describe(`${title} shops, whose webhooks are received. See docs/storefronts.md.`)
    .meta(live);

export function resolveShop(section: Omit<ShopSection, 'rest'>, secretAt: SecretAt) {
  return {
    shop: section.shop,
    source: section.source ?? section.shop,
    secrets: section.secrets.map((_, index) => secretAt(`secrets.${index}.value`) ?? ''),
    skuMap: section.sku_map,
    currency: section.currency ?? null,
    unmatched: section.unmatched,
    onRefund: section.on_refund,
    maxAgeMs: section.max_age_h * 3_600_000,
    iccidField: section.iccid_field,
  };
}

export function resolveRest(section: z.infer<typeof restSection>): RestSettings {
  return {
    url: section.url.replace(/\/+$/, ''),
    schedule: section.schedule,
    lookbackMs: section.lookback_h * 3_600_000,
    overlapMs: section.overlap_s * 1000,
    pageSize: section.page_size,
    pagesPerRun: section.pages_per_run,
    intervalMs: section.request_interval_ms,
    bodyBytes: section.body_bytes,
    connectMs: section.timeouts.connect_ms,
    totalMs: section.timeouts.total_ms,
  };
}
