import type { ShopForm, WebhookSettings } from '../intake/http/settings.ts';
import type { StorefrontConfig } from './config.ts';
import { toListenAddress } from './listen-address.ts';
import type { ConfigDocument } from './schema.ts';
import type { Secrets } from './secrets.ts';

type WebhookDocument = ConfigDocument['intake']['webhook'];
type HmacDocument = NonNullable<WebhookDocument>['hmac'][number];
type ShopDocument = Omit<NonNullable<WebhookDocument>['shopify'][number], 'rest'>;

/** The section with the paths of its files absolute. */
export function withAbsoluteSkuMaps(webhook: WebhookDocument, absolute: (path: string) => string): WebhookDocument {
  if (webhook === undefined) return undefined;
  return {
    ...webhook,
    woocommerce: webhook.woocommerce.map((shop) => ({ ...shop, sku_map: absolute(shop.sku_map) })),
    shopify: webhook.shopify.map((shop) => ({ ...shop, sku_map: absolute(shop.sku_map) })),
    hmac: webhook.hmac.map((entry) =>
      entry.sku_map === undefined ? entry : { ...entry, sku_map: absolute(entry.sku_map) },
    ),
  };
}

/** From the words of the file to the words of the code. */
export function toWebhookConfig(webhook: WebhookDocument, secrets: Secrets): WebhookSettings | null {
  if (webhook === undefined) return null;
  const { limits } = webhook;
  const callerAt = (
    list: string,
    index: number,
    key: string,
    entry: { name: string; source?: string | undefined },
  ) => ({
    name: entry.name,
    secret: secrets.get(`intake.webhook.${list}.${index}.${key}`) ?? '',
    source: entry.source ?? null,
  });
  const secretsOf = (platform: string, index: number, list: readonly unknown[]) =>
    list.map((_, place) => secrets.get(`intake.webhook.${platform}.${index}.secrets.${place}.value`) ?? '');
  return {
    listen: toListenAddress(webhook.listen),
    source: webhook.source,
    tokens: webhook.tokens.map((token, index) => callerAt('tokens', index, 'value', token)),
    standardWebhooks: webhook.standard_webhooks.map((entry, index) =>
      callerAt('standard_webhooks', index, 'secret', entry),
    ),
    hmac: webhook.hmac.map((entry, index) => {
      const { header, encoding, prefix } = entry;
      return { ...callerAt('hmac', index, 'secret', entry), header, encoding, prefix, form: toForm(entry) };
    }),
    woocommerce: webhook.woocommerce.map((shop, index) => ({
      ...toStorefront(shop, secretsOf('woocommerce', index, shop.secrets)),
      paidStatuses: shop.paid_statuses,
    })),
    shopify: webhook.shopify.map((shop, index) => toStorefront(shop, secretsOf('shopify', index, shop.secrets))),
    limits: {
      bodyBytes: limits.body_bytes,
      batchLines: limits.batch_lines,
      depth: limits.depth,
      requestsPerMinute: limits.requests_per_minute,
      burst: limits.burst,
      uncommitted: limits.uncommitted,
      connections: limits.connections,
      headersMs: limits.headers_ms,
      requestMs: limits.request_ms,
      waitS: limits.wait_s,
      waiting: limits.waiting,
    },
  };
}

function toForm(entry: HmacDocument): ShopForm | null {
  const { fields, sku_map: skuMap = null, currency = null, unmatched } = entry;
  return fields === undefined ? null : { fields, skuMap, currency, unmatched };
}

function toStorefront(shop: ShopDocument, secrets: readonly string[]): StorefrontConfig {
  return {
    shop: shop.shop,
    source: shop.source ?? shop.shop,
    secrets,
    skuMap: shop.sku_map,
    currency: shop.currency ?? null,
    unmatched: shop.unmatched,
    onRefund: shop.on_refund,
    maxAgeMs: shop.max_age_h * 3_600_000,
    iccidField: shop.iccid_field,
  };
}
