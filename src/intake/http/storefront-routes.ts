import type { Buffer } from 'node:buffer';
import type { Context } from 'hono';
import { Hono } from 'hono';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { messageText } from '../../core/message-text.ts';
import type { Web } from './admission.ts';
import { hmacSha256, isSignature } from './signatures.ts';
import { Refusal } from './problem.ts';
import { readRawBody } from './raw-body.ts';
import { parseExactJsonBytes } from '../../core/exact-json.ts';
import type { StorefrontShop } from '../../storefronts/settings.ts';
import type { Counter, StorefrontAnswer, Platform, StorefrontIntake } from '../../storefronts/storefront-intake.ts';

/** Reading a shop back through its API, for what a delivery does not say. */
export interface ReadBack {
  /** Whether it can be relied on now. */
  isReady(door: { readonly platform: Platform; readonly shop: string }): boolean;
  /** Whether it also brings an order that was changed then. */
  reaches(door: { readonly platform: Platform; readonly shop: string }, modifiedMs: number): Promise<boolean>;
  soon(door: { readonly platform: Platform; readonly shop: string }): void;
}

export interface StorefrontDeps {
  readonly desk: StorefrontIntake;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bodyBytes: number;
  /** Null: no shop can be read back. */
  readonly readBack: ReadBack | null;
}

const signatureHeaders = { woocommerce: 'x-wc-webhook-signature', shopify: 'x-shopify-hmac-sha256' } as const;

const warnEveryMs = 60_000;

/** What WooCommerce sends when a webhook is made: a form without a signature. */
const wooPing = /^webhook_id=\d{1,20}$/;

/**
 * The webhooks of the shops. What is signed is answered 200 once it is on disk, whether or not it leads to a purchase:
 * WooCommerce never sends a failed delivery again and disables a webhook that fails too often.
 */
export function storefrontRoutes(deps: StorefrontDeps): Hono<Web> {
  const warnedAtMs = new Map<Counter, number>();
  const routes = new Hono<Web>();
  routes.post('/webhooks/:platform/:shop', async (context) => {
    const counter = deps.desk.counter(context.req.param('platform'), context.req.param('shop'));
    if (counter === null) throw new Refusal('not_found', 'There is no such shop.');
    return await receive(deps, counter, warnedAtMs, context);
  });
  return routes;
}

async function receive(
  deps: StorefrontDeps,
  counter: Counter,
  warnedAtMs: Map<Counter, number>,
  context: Context<Web>,
): Promise<Response> {
  const { desk, clock, logger } = deps;
  const { shop, platform } = counter;
  const body = await readRawBody(context.env.incoming, deps.bodyBytes);
  const signature = context.env.incoming.headers[signatureHeaders[platform]];
  if (platform === 'woocommerce' && signature === undefined && wooPing.test(body.subarray(0, 64).toString('latin1'))) {
    return context.json({ result: 'ping' });
  }
  if (!isSignedBy(shop, body, signature)) {
    // Anybody can send these: one line a minute tells the person who set a wrong secret, and fills no disk.
    if (clock.monoMs() - (warnedAtMs.get(counter) ?? Number.NEGATIVE_INFINITY) >= warnEveryMs) {
      warnedAtMs.set(counter, clock.monoMs());
      logger.warn({ platform, shop: shop.shop }, 'a delivery with a wrong signature was refused: is the secret right?');
    }
    throw new Refusal('unauthorized', 'The signature does not fit the body.');
  }
  const value = parseExactJsonBytes(body);
  if (value === undefined) throw new Refusal('invalid_json', 'The body is not JSON in UTF-8.');
  const delivered = { value, isTest: platform === 'shopify' && isTest(context) };
  const door = { platform, shop: shop.shop };
  const canAsk = deps.readBack?.isReady(door) ?? false;
  const answer = await desk.take(counter, { ...delivered, refunds: canAsk ? 'ask' : 'unknown' });
  if (answer.kind !== 'needs_refunds') {
    if (answer.kind === 'other' && looksLikeOrder(value)) {
      const orderId = messageText(String(value.id), 20);
      const rule = 'a delivery has the form of no order that is known, and nothing was bought: look at it';
      logger.error({ ...door, order_id: orderId }, rule);
    }
    return context.json(answerBody(answer));
  }
  if (await deps.readBack?.reaches(door, answer.order.modifiedMs)) {
    deps.readBack?.soon(door);
    return context.json(answerBody(answer));
  }
  // No run will come by an order that was changed before reading back began: nobody would ever hear of it.
  return context.json(answerBody(await desk.take(counter, { ...delivered, refunds: 'unknown' })));
}

/** A product or a customer has no lines, a draft or a checkout no state of its payment. */
function looksLikeOrder(value: unknown): value is { readonly id: unknown } {
  if (typeof value !== 'object' || value === null || !('id' in value && 'line_items' in value)) return false;
  return 'financial_status' in value || 'date_paid' in value || 'date_paid_gmt' in value;
}

function answerBody(answer: StorefrontAnswer): Record<string, string | number> {
  switch (answer.kind) {
    case 'other':
      return { result: 'not_an_order' };
    case 'test':
      return { result: 'test_order', order_id: answer.order.orderId };
    case 'needs_refunds':
      return { result: 'read_back', order_id: answer.order.orderId };
    case 'taken': {
      const { accepted, known, takenBack, told, stale } = answer.taken;
      const result = stale ? 'older_than_known' : answer.order.state;
      return { result, order_id: answer.order.orderId, accepted, known, taken_back: takenBack, held: told };
    }
  }
}

function isSignedBy(shop: StorefrontShop, body: Buffer, signature: string | string[] | undefined): boolean {
  if (typeof signature !== 'string') return false;
  let signed = false;
  // Every secret is tried, so that the time taken does not tell which one was right.
  for (const secret of shop.secrets) if (isSignature(signature, hmacSha256(secret, body), 'base64')) signed = true;
  return signed;
}

function isTest(context: Context<Web>): boolean {
  const header = context.env.incoming.headers['x-shopify-test'];
  return header !== undefined && header !== 'false';
}
