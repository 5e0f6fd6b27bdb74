import type { ShopForm, WebhookSettings } from '../intake/http/settings.ts';
import { withAbsolutePaths } from '../storefronts/settings.ts';
import { toListenAddress } from './listen-address.ts';
import type { ConfigDocument } from './schema.ts';
import type { Secrets } from './secrets.ts';

type WebhookDocument = ConfigDocument['intake']['webhook'];
type HmacDocument = NonNullable<WebhookDocument>['hmac'][number];

/** The section with the paths of its files absolute. */
export function withAbsoluteSkuMaps(webhook: WebhookDocument, absolute: (path: string) => string): WebhookDocument {
  if (webhook === undefined) return undefined;
  return {
    ...withAbsolutePaths(webhook, absolute),
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
