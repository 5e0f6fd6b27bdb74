import type { ReadBackShop, ShopRestConfig } from './config.ts';
import type { ConfigDocument } from './schema.ts';
import type { Secrets } from './secrets.ts';

type WebhookDocument = NonNullable<ConfigDocument['intake']['webhook']>;
type RestDocument = NonNullable<WebhookDocument['woocommerce' | 'shopify'][number]['rest']>;

/** The shops that have a `rest` section, from the words of the file to the words of the code. */
export function toReadBack(webhook: ConfigDocument['intake']['webhook'], secrets: Secrets): readonly ReadBackShop[] {
  if (webhook === undefined) return [];
  const secretAt = (platform: string, index: number, key: string): string | undefined =>
    secrets.get(`intake.webhook.${platform}.${index}.rest.${key}`);
  const shops: ReadBackShop[] = [];
  for (const [index, { shop, source, rest }] of webhook.woocommerce.entries()) {
    if (rest === undefined) continue;
    const consumerKey = secretAt('woocommerce', index, 'consumer_key') ?? '';
    const consumerSecret = secretAt('woocommerce', index, 'consumer_secret') ?? '';
    const more = { consumerKey, consumerSecret };
    shops.push({ platform: 'woocommerce', shop, source: source ?? shop, rest: { ...toRest(rest), ...more } });
  }
  for (const [index, { shop, source, rest }] of webhook.shopify.entries()) {
    if (rest === undefined) continue;
    const token = secretAt('shopify', index, 'access_token');
    const clientSecret = secretAt('shopify', index, 'client_secret') ?? '';
    const access =
      token === undefined
        ? ({ kind: 'credentials', clientId: rest.client_id ?? '', clientSecret } as const)
        : ({ kind: 'token', token } as const);
    const more = { apiVersion: rest.api_version, access };
    shops.push({ platform: 'shopify', shop, source: source ?? shop, rest: { ...toRest(rest), ...more } });
  }
  return shops;
}

function toRest(rest: RestDocument): ShopRestConfig {
  return {
    url: rest.url.replace(/\/+$/, ''),
    schedule: rest.schedule,
    lookbackMs: rest.lookback_h * 3_600_000,
    overlapMs: rest.overlap_s * 1000,
    pageSize: rest.page_size,
    pagesPerRun: rest.pages_per_run,
    intervalMs: rest.request_interval_ms,
    bodyBytes: rest.body_bytes,
    connectMs: rest.timeouts.connect_ms,
    totalMs: rest.timeouts.total_ms,
  };
}
