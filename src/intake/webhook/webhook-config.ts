import type { StorefrontsConfig } from '../storefronts/storefront-config.ts';

/** Someone who may post orders: known by the secret, called by the name. */
export interface WebhookCaller {
  readonly name: string;
  readonly secret: string;
  /** The only source it may post, read and take back; null: any. */
  readonly source: string | null;
}

/** A shop of its own making: HMAC-SHA256 over the raw body, in a header of its choice. */
export interface HmacCaller extends WebhookCaller {
  readonly header: string;
  readonly encoding: 'base64' | 'hex';
  /** What stands before the signature in the header. */
  readonly prefix: string;
}

/** A limit on everything that a caller can make grow, or make wait. */
export interface WebhookLimits {
  readonly bodyBytes: number;
  /** Order lines in one request, over all its orders. */
  readonly batchLines: number;
  readonly depth: number;
  readonly requestsPerMinute: number;
  readonly burst: number;
  /** Requests that wait for the disk at once. */
  readonly uncommitted: number;
  readonly connections: number;
  readonly headersMs: number;
  readonly requestMs: number;
  /** The longest that `Prefer: wait` is honoured, in seconds. */
  readonly waitS: number;
  /** Requests that wait for a result at once. */
  readonly waiting: number;
}

export interface WebhookConfig extends StorefrontsConfig {
  readonly listen: { readonly host: string; readonly port: number };
  /** The source of orders when neither they nor their caller name one. */
  readonly source: string;
  readonly tokens: readonly WebhookCaller[];
  readonly standardWebhooks: readonly WebhookCaller[];
  readonly hmac: readonly HmacCaller[];
  readonly limits: WebhookLimits;
}
