import type { Buffer } from 'node:buffer';
import type { Context } from 'hono';
import { Hono } from 'hono';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { parseExactJsonBytes } from '../../core/exact-json.ts';
import type { StorefrontTaken } from '../../store/storefronts/storefront-order.ts';
import type { Web } from './admission.ts';
import type { CallerLimits } from './caller-limits.ts';
import { hmacSha256, isSignature } from './signatures.ts';
import { Refusal } from './problem.ts';

export interface ShopHandlers {
  handlerFor(platform: string, shop: string): ShopHandler | null;
  health(): 'pass' | 'warn';
}

export interface ShopHandler {
  readonly shop: ShopName & { readonly secrets: readonly string[] };
  readonly webhook: {
    /** Carries the base64 of HMAC-SHA256 over the raw body. In lower case. */
    readonly signatureHeader: string;
    /** Marks a test order with any value but `false`; null: the platform has no such header. */
    readonly testHeader: string | null;
    /** Says what a webhook is about; it is not signed. In lower case. */
    readonly topicHeader: string;
    /** Names the shop that sends it. In lower case. */
    readonly siteHeader: string;
    /** The body of a ping that is not signed; null: the platform sends none. */
    readonly unsignedPing: RegExp | null;
  };
  /** Takes in a state of an order. Its consequences are on disk when this resolves. */
  take(state: ShopDelivery & { readonly refunds: 'not_read' | 'unknown' }): Promise<ShopAnswer>;
}

interface ShopDelivery {
  /** The JSON of the body, with every number as text. */
  readonly document: unknown;
  readonly isTest: boolean;
  readonly topic: string | null;
  readonly site?: string | undefined;
  readonly isListed: false;
  readonly isLast?: boolean;
}

/** `other`: no order. `other_shop`: an order of another shop, which is flagged. `unreadable`: an order that cannot be read, which is flagged. `needs_refunds`: its refunds must be read first. */
type ShopAnswer =
  | { readonly kind: 'other' | 'other_shop' }
  | { readonly kind: 'unreadable'; readonly orderId: string | null; readonly flagged: number }
  | { readonly kind: 'test' | 'needs_refunds'; readonly order: AnsweredOrder }
  | { readonly kind: 'taken'; readonly order: AnsweredOrder; readonly taken: StorefrontTaken };

interface AnsweredOrder {
  readonly orderId: string;
  readonly modifiedMs: number;
  readonly state: string;
}

interface ShopName {
  readonly platform: string;
  readonly shop: string;
}

export interface ReadBack {
  /** Whether the next run can be relied on to read an order of this shop. */
  isReady(shop: ShopName): boolean;
  /** Whether the shop is read back at all. */
  willRead(shop: ShopName): Promise<boolean>;
  notify(shop: ShopName): void;
}

interface StorefrontDeps {
  readonly shops: ShopHandlers;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bodyBytes: number;
  readonly limits: CallerLimits;
  readonly readBack: ReadBack | null;
}

const warnEveryMs = 60_000;
/** In the place of a document: the body is a ping, which no shop signs. */
const ping = Symbol('ping');

/**
 * Receives the webhooks of the shops. A signed delivery is answered 200 once its consequences are on disk, whether or not
 * it leads to a purchase: WooCommerce never repeats a failed delivery and disables a webhook that fails too often.
 */
export function storefrontRoutes(deps: StorefrontDeps): Hono<Web> {
  const warnedAtMs = new Map<ShopHandler, number>();
  const routes = new Hono<Web>();
  routes.post('/webhooks/:platform/:shop', async (context) => {
    const handler = deps.shops.handlerFor(context.req.param('platform'), context.req.param('shop'));
    if (handler === null) throw new Refusal('not_found', 'There is no such shop.');
    const { incoming } = context.env;
    const { headers } = incoming;
    const { signatureHeader, unsignedPing, testHeader, topicHeader, siteHeader } = handler.webhook;
    const from = { isVerified: false, maxBytes: deps.bodyBytes };
    const document = await deps.limits.useBody(incoming, from, (body) => {
      const signature = headers[signatureHeader];
      if (signature === undefined && unsignedPing?.test(body.subarray(0, 64).toString('latin1'))) return ping;
      if (!isSignedBy(handler.shop.secrets, body, signature)) refuseSignature(deps, handler, warnedAtMs);
      deps.limits.guard.proven(incoming.socket);
      return parseExactJsonBytes(body);
    });
    if (document === ping) return context.json({ result: 'ping' });
    if (document === undefined) throw new Refusal('invalid_json', 'The body is not JSON in UTF-8.');
    const test = testHeader === null ? undefined : headers[testHeader];
    const isTest = test !== undefined && test !== 'false';
    const topic = headers[topicHeader]?.toString() ?? null;
    const site = headers[siteHeader]?.toString();
    return await takeIn(deps, handler, { document, isTest, topic, site, isListed: false }, context);
  });
  return routes;
}

function refuseSignature(deps: StorefrontDeps, handler: ShopHandler, warnedAtMs: Map<ShopHandler, number>): never {
  const { clock, logger } = deps;
  // Anybody can send such requests: one line a minute is enough to notice a wrong secret, and does not fill the disk.
  if (clock.monoMs() - (warnedAtMs.get(handler) ?? Number.NEGATIVE_INFINITY) >= warnEveryMs) {
    warnedAtMs.set(handler, clock.monoMs());
    const { platform, shop } = handler.shop;
    logger.warn({ platform, shop }, 'a delivery with a wrong signature was refused: is the secret right?');
  }
  throw new Refusal('unauthorized', 'The signature does not fit the body.');
}

async function takeIn(
  { readBack }: StorefrontDeps,
  handler: ShopHandler,
  delivery: ShopDelivery,
  context: Context<Web>,
): Promise<Response> {
  const { platform, shop } = handler.shop;
  const name = { platform, shop };
  const canRead = readBack?.isReady(name) ?? false;
  const answer = await handler.take({ ...delivery, refunds: canRead ? 'not_read' : 'unknown' });
  if (answer.kind !== 'needs_refunds') return context.json(answerBody(answer));
  if (await readBack?.willRead(name)) {
    readBack?.notify(name);
    return context.json(answerBody(answer));
  }
  // A reload has ended read-back of the shop: it is flagged for review now.
  return context.json(answerBody(await handler.take({ ...delivery, refunds: 'unknown', isLast: true })));
}

function answerBody(answer: ShopAnswer): Record<string, string | number> {
  switch (answer.kind) {
    case 'other':
      return { result: 'not_an_order' };
    case 'other_shop':
      return { result: 'other_shop' };
    case 'unreadable':
      return {
        result: 'unreadable',
        ...(answer.orderId !== null && { order_id: answer.orderId }),
        flagged: answer.flagged,
      };
    case 'test':
      return { result: 'test_order', order_id: answer.order.orderId };
    case 'needs_refunds':
      return { result: 'read_back', order_id: answer.order.orderId };
    case 'taken': {
      const { accepted, known, takenBack, flagged, stale } = answer.taken;
      const result = stale ? 'older_than_known' : answer.order.state;
      return { result, order_id: answer.order.orderId, accepted, known, taken_back: takenBack, flagged };
    }
  }
}

function isSignedBy(secrets: readonly string[], body: Buffer, signature: string | string[] | undefined): boolean {
  if (typeof signature !== 'string') return false;
  let isSigned = false;
  // All secrets are tried, because the time must not reveal which one was right.
  for (const secret of secrets) if (isSignature(signature, hmacSha256(secret, body))) isSigned = true;
  return isSigned;
}
