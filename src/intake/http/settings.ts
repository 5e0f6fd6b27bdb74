/** Someone who signs posted orders. The secret identifies the caller; logs show the name. */
export interface WebhookCaller {
  readonly name: string;
  readonly secret: string;
  /** The only source whose orders this caller may post; null: any source. */
  readonly source: string | null;
}

/** The scopes of a token: post orders, read them with their delivered codes, cancel them. */
export const tokenScopes = ['post', 'read', 'cancel'] as const;
export type TokenScope = (typeof tokenScopes)[number];

export interface TokenCaller {
  readonly name: string;
  /** Any of them is accepted, so that one can be replaced without an interruption. */
  readonly secrets: readonly string[];
  readonly scopes: readonly TokenScope[];
  /** The only sources whose orders it may touch. The first is that of orders that name none. */
  readonly sources: readonly string[];
}

/** Limits on everything that a caller can make grow or wait. */
export const defaultWebhookLimits = {
  bodyBytes: 1_048_576,
  /** Order lines in one request, over all its orders. */
  batchLines: 1000,
  /** Levels of nested objects and arrays. */
  depth: 16,
  requestsPerMinute: 1200,
  burst: 200,
  /** Requests that wait for the disk at the same time. */
  uncommitted: 1000,
  connections: 512,
  connectionsPerAddress: 64,
  /** Of two webhooks of shops, one of them too large. */
  unverifiedBytes: 25_165_824,
  verifiedBytes: 16_777_216,
  headersMs: 10_000,
  requestMs: 30_000,
};
export type WebhookLimits = Readonly<typeof defaultWebhookLimits>;

/** The source of signed orders when neither they nor their secret have one. */
export const usualSource = 'webhook';

export interface WebhookSettings {
  readonly listen: { readonly host: string; readonly port: number };
  readonly source: string;
  readonly tokens: readonly TokenCaller[];
  readonly standardWebhooks: readonly WebhookCaller[];
  readonly limits: WebhookLimits;
}
