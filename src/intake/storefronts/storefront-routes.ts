import type { Buffer } from 'node:buffer';
import type { Context } from 'hono';
import { Hono } from 'hono';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { StorefrontTaken } from '../../store/intake-steps.ts';
import type { Store } from '../../store/store.ts';
import type { Web } from '../webhook/admission.ts';
import { hmacSha256, isSignature } from '../webhook/hmac-signature.ts';
import { Refusal } from '../webhook/problem.ts';
import { readRawBody } from '../webhook/raw-body.ts';
import { parseExactJson } from './exact-json.ts';
import { planOrder } from './plan-order.ts';
import { readShopifyOrder } from './shopify.ts';
import { SkuFile } from './sku-file.ts';
import type { StorefrontShop, StorefrontsConfig } from './storefront-config.ts';
import type { Delivery } from './storefront-order.ts';
import { readWooOrder } from './woocommerce.ts';

export interface StorefrontDeps {
  readonly config: StorefrontsConfig;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bodyBytes: number;
  /** New lines are in the outbox, or lines were taken back. */
  readonly onChanged: () => void;
}

export interface Storefronts {
  readonly routes: Hono<Web>;
  /** `warn` while a changed SKU map cannot be used and the last good one stands in for it. */
  readonly health: () => 'pass' | 'warn';
}

interface Door {
  readonly shop: StorefrontShop;
  readonly skus: SkuFile;
  readonly platform: 'woocommerce' | 'shopify';
  readonly signatureHeader: string;
  /** When a wrong signature was last told, on the monotonic clock. */
  warnedAtMs: number;
  read(value: unknown, context: Context<Web>): Delivery;
}

const warnEveryMs = 60_000;

/** What WooCommerce sends when a webhook is made: a form without a signature. */
const wooPing = /^webhook_id=\d{1,20}$/;

/**
 * The webhooks of the shops. What is signed is answered 200 once it is on disk, whether or not it leads to a purchase:
 * WooCommerce never sends a failed delivery again and disables a webhook that fails too often. Throws CONFIG_INVALID
 * when a SKU map cannot be used.
 */
export function createStorefronts(deps: StorefrontDeps): Storefronts {
  const { config, clock, logger } = deps;
  const skus = (shop: StorefrontShop): SkuFile => new SkuFile(shop.skuMap, clock, logger);
  const doors = new Map<string, Door>();
  for (const shop of config.woocommerce) {
    doors.set(`woocommerce/${shop.shop}`, {
      shop,
      skus: skus(shop),
      platform: 'woocommerce',
      signatureHeader: 'x-wc-webhook-signature',
      warnedAtMs: Number.NEGATIVE_INFINITY,
      read: (value) => readWooOrder(value, shop.paidStatuses, shop.iccidField),
    });
  }
  for (const shop of config.shopify) {
    doors.set(`shopify/${shop.shop}`, {
      shop,
      skus: skus(shop),
      platform: 'shopify',
      signatureHeader: 'x-shopify-hmac-sha256',
      warnedAtMs: Number.NEGATIVE_INFINITY,
      read: (value, context) => readShopifyOrder(value, isTest(context), shop.iccidField),
    });
  }
  const routes = new Hono<Web>();
  routes.post('/webhooks/:platform/:shop', async (context) => {
    const door = doors.get(`${context.req.param('platform')}/${context.req.param('shop')}`);
    if (door === undefined) throw new Refusal('not_found', 'There is no such shop.');
    return await receive(deps, door, context);
  });
  return {
    routes,
    health: () => ([...doors.values()].some((door) => door.skus.problem !== null) ? 'warn' : 'pass'),
  };
}

async function receive(deps: StorefrontDeps, door: Door, context: Context<Web>): Promise<Response> {
  const { store, clock, logger } = deps;
  const { shop, platform } = door;
  const body = await readRawBody(context.env.incoming, deps.bodyBytes);
  const signature = context.env.incoming.headers[door.signatureHeader];
  if (platform === 'woocommerce' && signature === undefined && wooPing.test(body.subarray(0, 64).toString('latin1'))) {
    return context.json({ result: 'ping' });
  }
  if (!isSignedBy(shop, body, signature)) {
    // Anybody can send these: one line a minute tells the person who set a wrong secret, and fills no disk.
    if (clock.monoMs() - door.warnedAtMs >= warnEveryMs) {
      door.warnedAtMs = clock.monoMs();
      logger.warn({ platform, shop: shop.shop }, 'a delivery with a wrong signature was refused: is the secret right?');
    }
    throw new Refusal('unauthorized', 'The signature does not fit the body.');
  }
  const parsed = parseExactJson(body);
  if (parsed === null) throw new Refusal('invalid_json', 'The body is not JSON in UTF-8.');
  const delivery = door.read(parsed.value, context);
  if (delivery.kind === 'other') return context.json({ result: 'not_an_order' });
  const { order } = delivery;
  if (order.state === 'test') return context.json({ result: 'test_order', order_id: order.orderId });
  const planned = planOrder(order, shop, door.skus.current(), {
    actor: `${platform}:${shop.shop}`,
    nowMs: clock.wallMs(),
  });
  const taken = await store.takeStorefrontOrder(planned);
  if (isNews(taken)) {
    logger.info({ platform, shop: shop.shop, order_id: order.orderId, ...taken }, 'storefront order taken in');
    deps.onChanged();
  }
  const { accepted, known, takenBack, told, stale } = taken;
  const result = stale ? 'older_than_known' : order.state;
  return context.json({ result, order_id: order.orderId, accepted, known, taken_back: takenBack, held: told });
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

function isNews(taken: StorefrontTaken): boolean {
  return taken.accepted + taken.takenBack + taken.told > 0;
}
