import { z } from 'zod';
import { currencySchema, sourceSchema } from '../../core/order/order-request.ts';
import { skuRuleKeys } from '../../core/order/sku.ts';
import {
  count,
  httpUrl,
  keyName,
  keysOf,
  live,
  pathText,
  secretsOf,
} from '../../core/settings/schema-values.ts';
import { isCronExpression } from '../../ops/schedule.ts';

/** `not_after` is one time: it is for an SKU or an order, not for a shop. */
const { not_after: _ofSku, max_cost: _too, ...rulesOfShop } = skuRuleKeys;

export const shopKeys = {
  shop: keyName.describe('The name in the address of the webhook.'),
  source: sourceSchema
    .optional()
    .describe(
      "The source of the shop's orders. Default: the name of the shop. Never change the source, or orders would be bought again.",
    ),
  secrets: secretsOf(1, 10, 'At least 16 characters.').describe(
    "The secrets that sign the shop's webhooks.",
  ),
  sku_map: pathText.describe('The SKU map (YAML or CSV).'),
  currency: currencySchema
    .optional()
    .describe(
      'The balance to charge if the SKU map names none. Default: the currency of the order.',
    ),
  unmatched: z
    .enum(['ignore', 'review'])
    .default('ignore')
    .describe('Lines whose SKU is not in the map: `ignore` them, or flag them for `review`.'),
  on_refund: z
    .enum(['review', 'cancel_esim', 'ignore'])
    .default('review')
    .describe(
      'When something that was bought is refunded: flag the refund, flag it and cancel its eSIMs, or ignore it.',
    ),
  max_age_h: count(1, 8760)
    .default(168)
    .describe('Orders that were paid more than this many hours ago are flagged, not bought.'),
  lookback_h: count(0, 8760)
    .default(0)
    .describe(
      'Orders that were paid more than this many hours before the first start with this shop are not bought.',
    ),
  sites: z
    .array(httpUrl)
    .max(20)
    .default([])
    .describe(
      'Other web addresses of the shop. An order that names another web address comes from a copy of the shop and is not bought.',
    ),
  iccid_field: z
    .string()
    .min(1)
    .max(64)
    .default('iccid')
    .describe('The field of a line that names the eSIM to top up.'),
  ...rulesOfShop,
};

export const restKeys = {
  url: httpUrl
    .transform((url) => url.replace(/\/+$/, ''))
    .describe('The address of the shop, for example `https://shop.example.com`.'),
  schedule: z
    .string()
    .max(100)
    .refine(
      isCronExpression,
      'must be a cron expression of five or six fields, for example "*/5 * * * *"',
    )
    .default('*/5 * * * *')
    .describe(
      'When the shop is read, as a cron expression in UTC. The shop is also read at the start.',
    ),
};

/**
 * An order whose state is older is read again before it is bought: not every platform tells that
 * one was deleted for good.
 */
export const recheckAfterMs = 300_000;

/** How a shop is read; `scale` shortens the times in trials. */
export const readBackPace = (scale: number) => ({
  /**
   * Orders on a page, which both platforms allow, and pages in one run: the next run continues
   * after them.
   */
  pageSize: 100,
  pagesPerRun: 50,
  /** How far before the last read change a run starts: shops show some changes late. */
  overlapS: 300,
  /** The longest answer that is read. */
  bodyBytes: 16_777_216,
  timeouts: { connectMs: Math.max(1500, 5000 * scale), totalMs: Math.max(1500, 60_000 * scale) },
});

const restSection = keysOf(restKeys);
const shopSection = keysOf(shopKeys);

export type RestSettings = z.output<typeof restSection> & Readonly<ReturnType<typeof readBackPace>>;

export interface ShopSettings extends z.output<typeof shopSection> {
  readonly platform: string;
  readonly source: string;
  /** Null: the shop is not read back. */
  readonly rest: RestSettings | null;
  /** Null: results are not written into its orders. Never without `rest`. */
  readonly writeBack: object | null;
}

/** The value of a key of a shop as it is configured, of a secret that of its key or its file. */
type ShopValue = (...key: string[]) => unknown;

/** What a platform exports from its `settings.ts`, and `storefronts/settings.ts` lists. */
export interface PlatformSettings {
  readonly list: z.ZodType<readonly { readonly platform: string; readonly rest: object | null }[]>;
  /**
   * The platform signs the webhooks of several shops with one secret, so a secret does not identify
   * a shop.
   */
  readonly sharesSecrets: boolean;
  /** Which rule between the keys of a shop is broken, and where; null: none. */
  brokenRule(
    valueOf: ShopValue,
  ): { readonly at: readonly string[]; readonly problem: string } | null;
}

/** The key of `intake.webhook` that lists the shops of a platform. */
export const shopList = <
  Platform extends string,
  Shop extends { shop: string; source?: string | undefined },
>(
  platform: Platform,
  title: string,
  shop: z.ZodType<Shop>,
) =>
  z
    .array(shop)
    .max(100)
    .transform((shops) =>
      shops.map((given) => ({ ...given, platform, source: given.source ?? given.shop })),
    )
    .prefault([])
    .describe(`${title} shops, whose webhooks are received. See docs/storefronts.md.`)
    .meta(live);

/** A shop with how it is read. */
export type PacedShop<Shop extends { readonly rest: object | null }> = Omit<Shop, 'rest'> & {
  readonly rest: (NonNullable<Shop['rest']> & Readonly<ReturnType<typeof readBackPace>>) | null;
};
