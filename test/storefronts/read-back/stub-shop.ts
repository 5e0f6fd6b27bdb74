import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { WooCommerceKeys } from '../../support/shops/woocommerce-keys.ts';
import {
  listIn,
  type Reply,
  type StubOrder,
  withNumericIds,
} from '../../support/shops/shop-order.ts';
import { ShopifyOrders } from '../../support/shops/shopify-orders.ts';
import { WooCommerceOrders } from '../../support/shops/woocommerce-orders.ts';

/**
 * Handles a call in place of the stub. Returns true when it did, or when the call must stay
 * unanswered.
 */
export type Misbehaviour = (
  call: ShopCallSeen,
  response: ServerResponse,
) => boolean | Promise<boolean>;

export interface ShopCallSeen {
  readonly method: string;
  readonly url: URL;
  /** The same, whatever a test has changed in `url`. */
  readonly signed: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Counts from 1. */
  readonly number: number;
}

/**
 * What happens to a call. `refuse`: answered with this, not processed. `lost`: the connection ends
 * before the shop has processed it. `unanswered`: it ends after that. `silent`: it stays open after
 * that, and no answer comes. `late`: it ends at once, and the shop processes the call so many ms
 * later.
 */
export type Fault =
  | { readonly kind: 'none' }
  | { readonly kind: 'refuse'; readonly reply: Reply }
  | { readonly kind: 'lost' | 'unanswered' | 'silent' }
  | { readonly kind: 'late'; readonly ms: number };

interface Sent {
  readonly encoding?: string;
  readonly bytes: Uint8Array | string;
}

/** What becomes of the body of an answer; null: the shop fails. */
const changes = new WeakMap<ServerResponse, (text: string) => Sent | null>();

/** What both stubs share: a real socket, a list of calls, and faults. */
export abstract class StubShop {
  readonly calls: ShopCallSeen[] = [];
  readonly orders: StubOrder[] = [];
  /** Set by a test to cause faults. */
  misbehave: Misbehaviour = () => false;
  /** Set by a test to say what becomes of a call; a write may be processed all the same. */
  faultOf: (call: ShopCallSeen) => Fault = () => ({ kind: 'none' });
  readonly #late = new Set<Promise<void>>();
  /** Whether the shop fails at an answer with this body. */
  spoil: (call: ShopCallSeen, body: string) => boolean = () => false;
  /** Set by a test to change the bytes of the answers. */
  encode: ((text: string) => Sent) | null = null;
  /** How far the clock of the shop is ahead of ours, in ms. */
  clockAheadMs = 0;
  /** Whether its answers have a `Date`. */
  tellsTime = true;
  url = '';
  #onCall: () => void = () => undefined;

  async open(): Promise<this> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string')
      throw new Error('the stub listens on a port');
    this.url = `http://127.0.0.1:${address.port}`;
    onTestFinished(async () => {
      await this.settled();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return this;
  }

  put(order: Partial<StubOrder> & { id: string; modifiedMs: number }): StubOrder {
    const full: StubOrder = { body: {}, refunds: [], ...order };
    const at = this.orders.findIndex(({ id }) => id === full.id);
    if (at >= 0) this.orders.splice(at, 1);
    this.orders.push(full);
    return full;
  }

  /** Resolves when that many calls have been made. */
  async asks(number: number): Promise<void> {
    while (this.calls.length < number) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onCall = resolve;
      await promise;
    }
  }

  /** Resolves when everything that was late has been processed. */
  async settled(): Promise<void> {
    await Promise.all(this.#late);
  }

  /** Paths and queries of all calls. */
  asked(): string[] {
    return this.calls.map(({ url }) => `${url.pathname}${url.search}`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const text of request.setEncoding('utf8')) body += text;
    const url = new URL(request.url ?? '/', this.url);
    const signed = new URL(url);
    // Real shops ignore it.
    url.searchParams.delete('_');
    const call = {
      method: request.method ?? '',
      url,
      signed,
      headers: request.headers,
      body,
      number: this.calls.length + 1,
    };
    this.calls.push(call);
    this.#onCall();
    response.sendDate = false;
    if (this.tellsTime)
      response.setHeader('date', new Date(Date.now() + this.clockAheadMs).toUTCString());
    changes.set(response, (text) =>
      this.spoil(call, text) ? null : (this.encode?.(text) ?? { bytes: text }),
    );
    if (await this.misbehave(call, response)) return;
    const fault = this.faultOf(call);
    const isProcessed = ['none', 'unanswered', 'silent'].includes(fault.kind);
    const written = isProcessed ? this.write(call) : null;
    const reply = fault.kind === 'refuse' ? fault.reply : written;
    if (fault.kind === 'silent') return;
    if (fault.kind === 'none' && reply === null) return this.answer(call, response);
    if (reply !== null && fault.kind !== 'unanswered')
      return void send(response, reply.status, reply.body, { ...reply.headers });
    response.destroy();
    if (fault.kind !== 'late') return;
    const late = delay(fault.ms).then(() => void this.write(call));
    this.#late.add(late);
    void late.then(() => this.#late.delete(late));
  }

  /** Writes into an order, and what it answers; null: the call writes nothing. */
  protected abstract write(call: ShopCallSeen): Reply | null;

  protected abstract answer(call: ShopCallSeen, response: ServerResponse): void;

  /** By the time of change, then by id: the order that both platforms can list in. */
  protected sorted(): StubOrder[] {
    return this.orders.toSorted(
      (a, b) => a.modifiedMs - b.modifiedMs || Number(BigInt(a.id) - BigInt(b.id)),
    );
  }
}

export function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): true {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = { 'content-type': 'application/json; charset=UTF-8' };
  const change = changes.get(response);
  const sent = change === undefined ? { bytes: text } : change(text);
  if (sent === null) response.writeHead(500).end('<title>Error</title>');
  else if (sent.encoding === undefined)
    response.writeHead(status, { ...type, ...headers }).end(sent.bytes);
  else
    response
      .writeHead(status, { ...type, ...headers, 'content-encoding': sent.encoding })
      .end(sent.bytes);
  return true;
}

export const woo = { key: 'ck_0123456789abcdef', secret: 'cs_fedcba9876543210' };

/**
 * The orders of a WooCommerce shop, as the REST API v3 documents them: `modified_after`,
 * `dates_are_gmt`, `orderby=modified`, `order`, `include`, `per_page` up to 100, `offset`,
 * `X-WP-Total`, one order, refunds of an order, products by SKU, webhooks. It reads times as
 * WordPress does: a time with a zone is converted to the zone of the shop, and then compared with
 * the chosen column.
 *
 * It answers as real shops do (7.0.0, 8.1.1 and 11.0.1, see `real-shop/`) where they differ from
 * what one expects:
 * - keys are taken over TLS only; over http calls are signed;
 * - a read of an unknown order is refused with 404, a write with 400, and its refunds are an empty list;
 * - lists leave out orders in the trash;
 * - a variation without a SKU is not found by the SKU that its lines show;
 * - a line of a deleted product has the product 0 and no SKU, that of a deleted variation the SKU of its product (tests write both);
 * - a shop that keeps orders as posts (`keepsPosts`; 7.0.0 and 8.1.1 here) leaves `date_modified` as it is when only lines, fields
 *   or refunds change: a quantity is raised, a line is added, the total is calculated anew, a part is refunded;
 * - elsewhere a refund moves `date_modified` when it is made, and nowhere when it is deleted (tests write both);
 * - a note of more than 65,535 bytes, or in old tables with a character of four bytes, is mailed, not kept, and answered 500
 *   (`WooCommerceOrders`);
 * - without permalinks every path is redirected to itself with a slash, by `x-redirect-by: WordPress` (tests answer so).
 */
export class StubWooCommerce extends StubShop {
  /** The time zone of the shop. */
  zoneMs = 5.5 * 3_600_000;
  /** The most orders on a page, whatever was asked for. */
  pageCap = 100;
  showsTotal = true;
  /** The total that it claims; null: the true one. */
  claimsTotal: number | null = null;
  /** Orders are kept as posts, not in tables of their own. */
  keepsPosts = false;
  /**
   * By its SKU the type of a product; variations without a SKU are not found by that of their
   * product.
   */
  readonly products = new Map<string, 'simple' | 'variable' | 'variation'>();
  readonly webhooks: { id: number; topic: string; status: string; delivery_url: string }[] = [];
  /** The permission of the key for all but orders. */
  permission: 'read' | 'read_write' = 'read_write';
  /** Whether it mails notes to customers. */
  mailsNotes = true;
  readonly shop = new WooCommerceOrders(
    this.orders,
    () => Date.now(),
    (order) => this.shown(order),
  );
  readonly #keys = new WooCommerceKeys(woo);

  /** People of the shop change its lines, and the shop calculates the total anew. */
  editLines(order: StubOrder, lines: readonly unknown[], nowMs: number): void {
    order.body['line_items'] = lines;
    if (!this.keepsPosts) order.modifiedMs = nowMs;
  }

  protected write({ method, url, body }: ShopCallSeen): Reply | null {
    const [, orderId, notes] =
      /^\/wp-json\/wc\/v3\/orders\/(\d+)(\/notes)?$/.exec(url.pathname) ?? [];
    const isWrite = orderId !== undefined && (notes !== undefined || method !== 'GET');
    const isAllowed = this.permission === 'read_write' || method !== 'PUT';
    return isWrite && isAllowed ? this.shop.answer({ method, path: url.pathname, body }) : null;
  }

  order(id: string): StubOrder {
    return this.shop.order(id);
  }

  protected answer(call: ShopCallSeen, response: ServerResponse): void {
    const { method, url, signed, headers } = call;
    const message = this.#keys.refuses({
      method,
      url: signed,
      authorization: headers.authorization,
    });
    if (message !== null) {
      const isAsked = headers.authorization?.startsWith('OAuth ') === true;
      const code = isAsked
        ? 'woocommerce_rest_authentication_error'
        : 'woocommerce_rest_cannot_view';
      return void send(response, 401, { code, message, data: { status: 401 } });
    }
    if (method === 'PUT' && this.permission === 'read') {
      const refused = 'The API key provided does not have write permissions.';
      return void send(response, 401, {
        code: 'woocommerce_rest_authentication_error',
        message: refused,
      });
    }
    if (url.pathname === '/wp-json/wc/v3/webhooks')
      return this.#list(call, response, this.webhooks);
    const webhook = this.webhooks.find(
      ({ id }) => url.pathname === `/wp-json/wc/v3/webhooks/${id}`,
    );
    if (webhook !== undefined)
      return void send(response, 200, Object.assign(webhook, JSON.parse(call.body)));
    if (url.pathname === '/wp-json/wc/v3/settings/email_customer_note/enabled')
      return void send(response, 200, {
        id: 'enabled',
        type: 'checkbox',
        value: this.mailsNotes ? 'yes' : 'no',
      });
    const [, refundsOf] = /^\/wp-json\/wc\/v3\/orders\/(\d+)\/refunds$/.exec(url.pathname) ?? [];
    if (refundsOf !== undefined) {
      // It lists by the parent, whatever that is: an unknown order has no refunds.
      return this.#list(
        call,
        response,
        this.orders.find(({ id }) => id === refundsOf)?.refunds ?? [],
      );
    }
    const [, one] = /^\/wp-json\/wc\/v3\/orders\/(\d+)$/.exec(url.pathname) ?? [];
    if (one !== undefined) {
      const order = this.orders.find(({ id }) => id === one);
      if (order !== undefined) return void send(response, 200, withNumericIds(this.shown(order)));
      const code = 'woocommerce_rest_shop_order_invalid_id';
      // A write of an order that is not there is refused with 400, a read with 404.
      const status = method === 'PUT' ? 400 : 404;
      return void send(response, status, { code, message: 'Invalid ID.', data: { status } });
    }
    if (url.pathname === '/wp-json/wc/v3/products') {
      const skus = url.searchParams.get('sku')?.split(',') ?? [];
      const found = [...this.products].map(([sku, type]) => ({ sku, type }));
      return this.#list(
        call,
        response,
        found.filter(({ sku }) => skus.includes(sku)),
      );
    }
    if (url.pathname !== '/wp-json/wc/v3/orders') {
      return void send(response, 404, {
        code: 'rest_no_route',
        message: 'No route was found.',
        data: { status: 404 },
      });
    }
    const gmt = url.searchParams.get('dates_are_gmt') === 'true';
    const after = this.#wordPressTime(
      url.searchParams.get('modified_after') ?? '1970-01-01T00:00:00',
    );
    const included = url.searchParams.get('include')?.split(',');
    const found = this.sorted()
      .filter(({ id, body }) => included?.includes(id) !== false && body['status'] !== 'trash')
      .filter(({ modifiedMs }) => secondsOf(modifiedMs + (gmt ? 0 : this.zoneMs)) > after)
      .map((order) => this.shown(order));
    const isAscending =
      url.searchParams.get('orderby') === 'modified' && url.searchParams.get('order') === 'asc';
    const items = isAscending ? found : found.toReversed();
    const fields = url.searchParams.get('_fields');
    this.#list(
      call,
      response,
      items.map((item) => only(item, fields)),
    );
  }

  shown(order: StubOrder): Record<string, unknown> {
    const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 19);
    return {
      id: order.id,
      ...order.body,
      date_modified: iso(order.modifiedMs + this.zoneMs),
      date_modified_gmt: iso(order.modifiedMs),
      refunds: order.refunds.map(({ id, total = '-1.00' }) => ({ id, reason: '', total })),
    };
  }

  #list({ url }: ShopCallSeen, response: ServerResponse, items: readonly unknown[]): void {
    const perPage = Number(url.searchParams.get('per_page') ?? 10);
    if (perPage > 100) {
      const body = {
        code: 'rest_invalid_param',
        message: 'Invalid parameter(s): per_page',
        data: { status: 400 },
      };
      return void send(response, 400, body);
    }
    const size = Math.min(perPage, this.pageCap);
    const offset = Number(
      url.searchParams.get('offset') ?? (Number(url.searchParams.get('page') ?? 1) - 1) * size,
    );
    const headers = {
      'x-wp-total': String(this.claimsTotal ?? items.length),
      'x-wp-totalpages': String(Math.ceil(items.length / size)),
    };
    send(
      response,
      200,
      withNumericIds(items.slice(offset, offset + size)),
      this.showsTotal ? headers : {},
    );
  }

  #wordPressTime(text: string): number {
    const hasZone = /(?:Z|[+-]\d{2}:\d{2})$/.test(text);
    return secondsOf(Date.parse(hasZone ? text : `${text}Z`) + (hasZone ? this.zoneMs : 0));
  }
}

const only = (order: Record<string, unknown>, fields: string | null): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(order).filter(([name]) => fields === null || fields.split(',').includes(name)),
  );

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

function refundedOf({ refunds }: StubOrder, lineId: unknown): number {
  const items = refunds.flatMap((refund) => listIn(refund['refund_line_items']));
  return items.reduce(
    (sum, item) => sum + (item['line_item_id'] === lineId ? Number(item['quantity']) : 0),
    0,
  );
}

export const shopifyApp = {
  token: 'shpat_0123456789abcdef',
  clientId: 'app-1',
  clientSecret: 'shpss_fedcba9876543210',
};

/**
 * The orders of a Shopify shop, as the REST Admin API documents them: a token in a header,
 * `updated_at_min`, cursors in the `Link` header that allow no parameter but `limit`, `ids`, the
 * call limit, the scopes of a token, and tokens that last a day for an app.
 */
export class StubShopify extends StubShop {
  tokens = new Set([shopifyApp.token]);
  granted = 0;
  scopes = ['read_orders'];
  callLimit = '1/40';
  readonly shop = new ShopifyOrders(this.orders, () => Date.now());
  #cursors = new Map<string, { afterMs: number; afterId: string }>();

  protected write(call: ShopCallSeen): Reply | null {
    if (call.url.pathname !== '/admin/api/2026-10/graphql.json') return null;
    return this.tokens.has(String(call.headers['x-shopify-access-token']))
      ? this.shop.answer(call)
      : { status: 401, body: { errors: 'Invalid token' } };
  }

  protected answer(call: ShopCallSeen, response: ServerResponse): void {
    const { url, headers, method } = call;
    if (method === 'POST' && url.pathname === '/admin/oauth/access_token') {
      const form = new URLSearchParams(call.body);
      const { clientId, clientSecret } = shopifyApp;
      if (
        form.get('grant_type') !== 'client_credentials' ||
        form.get('client_id') !== clientId ||
        form.get('client_secret') !== clientSecret
      ) {
        return void send(response, 401, { errors: 'invalid_client' });
      }
      this.granted += 1;
      const token = `shpat_granted_${this.granted}`;
      this.tokens.add(token);
      return void send(response, 200, {
        access_token: token,
        scope: 'read_orders',
        expires_in: 86_399,
      });
    }
    if (!this.tokens.has(String(headers['x-shopify-access-token']))) {
      return void send(response, 401, {
        errors: '[API] Invalid API key or access token (unrecognized login or wrong password)',
      });
    }
    if (url.pathname === '/admin/oauth/access_scopes.json') {
      return void send(response, 200, { access_scopes: this.scopes.map((handle) => ({ handle })) });
    }
    if (url.pathname !== '/admin/api/2026-10/orders.json')
      return void send(response, 404, { errors: 'Not Found' });
    this.#orders(url, response);
  }

  #orders(url: URL, response: ServerResponse): void {
    const limit = Number(url.searchParams.get('limit') ?? 50);
    const cursor = url.searchParams.get('page_info');
    if (cursor !== null && url.searchParams.has('updated_at_min')) {
      return void send(response, 400, {
        errors: { updated_at_min: 'cannot be passed when page_info is present.' },
      });
    }
    let found = this.sorted();
    if (cursor === null) {
      const min = Date.parse(url.searchParams.get('updated_at_min') ?? '1970-01-01T00:00:00Z');
      found = found.filter(({ modifiedMs }) => modifiedMs >= min);
      // Archived orders are listed only with the status `any`.
      if (url.searchParams.get('status') !== 'any')
        found = found.filter(({ body }) => body['closed_at'] === null);
      const ids = url.searchParams.get('ids')?.split(',');
      found = found.filter(({ id }) => ids === undefined || ids.includes(id));
      if (url.searchParams.get('order') !== 'updated_at asc') found = found.toReversed();
    } else {
      const after = this.#cursors.get(cursor);
      if (after === undefined)
        return void send(response, 400, { errors: { page_info: 'Invalid value.' } });
      found = found.filter(
        ({ modifiedMs, id }) =>
          modifiedMs > after.afterMs ||
          (modifiedMs === after.afterMs && BigInt(id) > BigInt(after.afterId)),
      );
    }
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const headers: Record<string, string> = { 'x-shopify-shop-api-call-limit': this.callLimit };
    if (found.length > limit && last !== undefined) {
      const name = `cursor-${this.#cursors.size + 1}`;
      this.#cursors.set(name, { afterMs: last.modifiedMs, afterId: last.id });
      const address = `${this.url}/admin/api/2026-10/orders.json?limit=${limit}&page_info=`;
      headers['link'] = `<${address}before>; rel="previous", <${address}${name}>; rel="next"`;
    }
    const fields = url.searchParams.get('fields');
    send(
      response,
      200,
      withNumericIds({ orders: page.map((order) => only(this.shown(order), fields)) }),
      headers,
    );
  }

  shown(order: StubOrder): Record<string, unknown> {
    const updated = `${new Date(order.modifiedMs - 4 * 3_600_000).toISOString().slice(0, 19)}-04:00`;
    const line_items = listIn(order.body['line_items']).map((line) => ({
      gift_card: false,
      current_quantity: Number(line['quantity']) - refundedOf(order, line['id']),
      ...line,
    }));
    return { id: order.id, ...order.body, line_items, updated_at: updated, refunds: order.refunds };
  }
}
