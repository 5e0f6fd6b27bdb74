import type { StorefrontsConfig } from '../../storefronts/settings.ts';

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
  /** Where its own JSON has what an order needs; null: it sends our form. */
  readonly form: ShopForm | null;
}

/** The form of a home-made shop's orders. */
export interface ShopForm {
  readonly fields: FieldPointers;
  /** The file that says what each SKU stands for; null: the shop names variants and plans itself. */
  readonly skuMap: string | null;
  /** The balance to charge where neither the SKU map nor the order names one. */
  readonly currency: string | null;
  /** A line whose SKU the map does not know refuses the order, or is not ours and passed over. */
  readonly unmatched: 'refuse' | 'ignore';
}

/** JSON pointers (RFC 6901), for the order from the document, for a line from the line; null: the shop has no such field. */
export interface FieldPointers {
  readonly orderId: string;
  readonly lines: string;
  readonly currency: string | null;
  readonly notAfter: string | null;
  readonly metadata: string | null;
  readonly lineId: string | null;
  readonly sku: string | null;
  readonly type: string | null;
  readonly variant: string | null;
  readonly plan: string | null;
  readonly iccid: string | null;
  readonly quantity: string;
  readonly days: string | null;
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
