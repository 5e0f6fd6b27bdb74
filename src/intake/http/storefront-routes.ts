import type { Buffer } from 'node:buffer';
import type { Context } from 'hono';
import { Hono } from 'hono';
import { parseExactJsonBytes } from '../../core/exact-json.ts';
import type { WebhookFormat } from '../../core/shop-webhook.ts';
import type { StorefrontAnswer } from '../../store/storefronts/storefront-order.ts';
import type { Web } from './admission.ts';
import type { CallerLimits } from './caller-limits.ts';
import { hasFormOfSignature, hmacSha256, isSignature } from './signatures.ts';
import { HttpProblem } from './problem.ts';
import { tooLarge } from './raw-body.ts';

export interface ShopHandlers {
  /** Those of all platforms. */
  readonly formats: readonly WebhookFormat[];
  handlerFor(platform: string, shop: string): ShopHandler | null;
  details(): Readonly<Record<string, string>> | null;
}

export interface ShopHandler {
  readonly shop: ShopName & { readonly secrets: readonly string[] };
  readonly webhook: WebhookFormat;
  /** A delivery in the form of the shop has a wrong signature: the shop, or anybody, sent it. */
  signatureRefused(): void;
  /** Takes in a state of an order. Its consequences are on disk when this resolves. */
  take(
    state: ShopDelivery & { readonly refunds: 'not_read' | 'unknown' },
  ): Promise<StorefrontAnswer>;
}

interface ShopDelivery {
  /**
   * The JSON of the body, with every number as text; undefined: it is none; `too_large`: it was not
   * read.
   */
  readonly document: unknown;
  readonly isTest: boolean;
  readonly topic: string | null;
  readonly site?: string | undefined;
  readonly isListed: false;
  readonly isLast?: boolean;
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
  readonly limits: CallerLimits;
  readonly readBack: ReadBack | null;
}

/** An order of a shop may be larger than a batch: it has what plugins add. */
const mostBytes = 8 * 1_048_576;
/** In the place of a document: the body is a ping, which no shop signs. */
const ping = Symbol('ping');

/**
 * Receives the webhooks of the shops. A signed delivery is answered 200 once its consequences are
 * on disk, whether or not it leads to a purchase: some platforms never repeat a failed delivery, and
 * disable a webhook that fails too often.
 */
export function storefrontRoutes(deps: StorefrontDeps): Hono<Web> {
  const routes = new Hono<Web>();
  routes.on(['GET', 'POST'], '/webhooks/:platform/:shop', async (context) => {
    const handler = deps.shops.handlerFor(context.req.param('platform'), context.req.param('shop'));
    if (handler === null) throw new HttpProblem('not_found', 'There is no such shop.');
    if (context.req.method !== 'POST')
      return context.text('This address works: the shop posts its webhooks here.');
    const { incoming } = context.env;
    const { headers } = incoming;
    const { signatureHeader, unsignedPing, testHeader, topicHeader, siteHeader } = handler.webhook;
    const signature = headers[signatureHeader]?.toString();
    // An unsigned body takes no memory; only a ping is that short.
    if (!hasFormOfSignature(signature) && !(Number(headers['content-length']) < 64))
      throw wronglySigned();
    // A longer one is read, too: whether it is signed decides whether it is flagged.
    const from = { isVerified: false, maxBytes: 2 * mostBytes };
    const document = await deps.limits.useBody(incoming, from, (body) => {
      if (signature === undefined && unsignedPing?.test(body.toString('latin1'))) return ping;
      if (!isSignedBy(handler.shop.secrets, body, signature)) {
        if (topicHeader in headers) handler.signatureRefused();
        throw wronglySigned();
      }
      deps.limits.guard.proven(incoming.socket);
      return body.length > mostBytes ? 'too_large' : parseExactJsonBytes(body);
    });
    if (document === ping) return context.json({ result: 'ping' });
    const test = testHeader === null ? undefined : headers[testHeader];
    const isTest = test !== undefined && test !== 'false';
    const topic = headers[topicHeader]?.toString() ?? null;
    const site = headers[siteHeader]?.toString();
    const answer = await takeIn(
      deps,
      handler,
      { document, isTest, topic, site, isListed: false },
      context,
    );
    if (document === 'too_large') throw tooLarge(mostBytes);
    return answer;
  });
  return routes;
}

const wronglySigned = (): HttpProblem =>
  new HttpProblem(
    'unauthorized',
    'The signature does not match the body: is the configured secret the same as that of the shop?',
  );

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
  // The list of the shop has what it could not send.
  if (answer.kind === 'other' && answer.result !== undefined) readBack?.notify(name);
  if (answer.kind !== 'needs_refunds') return context.json(answerBody(answer));
  if (await readBack?.willRead(name)) {
    readBack?.notify(name);
    return context.json(answerBody(answer));
  }
  // A reload has ended read-back of the shop: it is flagged for review now.
  return context.json(
    answerBody(await handler.take({ ...delivery, refunds: 'unknown', isLast: true })),
  );
}

function answerBody(answer: StorefrontAnswer): Record<string, string | number> {
  switch (answer.kind) {
    case 'other':
      return { result: answer.result ?? 'not_an_order' };
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
      return {
        result,
        order_id: answer.order.orderId,
        accepted,
        known,
        taken_back: takenBack,
        flagged,
      };
    }
  }
}

function isSignedBy(secrets: readonly string[], body: Buffer, signature = ''): boolean {
  let isSigned = false;
  // All secrets are tried, because the time must not reveal which one was right.
  for (const secret of secrets)
    if (isSignature(signature, hmacSha256(secret, body))) isSigned = true;
  return isSigned;
}
