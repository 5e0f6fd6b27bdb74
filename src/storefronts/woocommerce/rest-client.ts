import type { ExactJsonObject } from '../../core/exact-json.ts';
import type { PlainHeaders } from '../../core/http-headers.ts';
import { assert } from '../../core/order-sync-error.ts';
import { idOf, isObject, listOf } from '../shop/payload-values.ts';
import type {
  ListedOrder,
  OrderList,
  OrderPage,
  ReadOrder,
  ShopApi,
  ShopChecks,
} from '../shop/shop-api.ts';
import { checkOrderId, checkSince, listedOrder, ShopApiError } from '../shop/shop-api.ts';
import type { ApiContext } from '../shop/platform.ts';
import { PageSize, tooMuch } from '../shop/page-size.ts';
import { type ShopCall, ShopHttp, type ShopProblem } from '../shop/shop-http.ts';
import { authorizationOf } from './authorization.ts';
import { type OrderField, resultIn } from './order-fields.ts';
import type { WooCommerceRest, WooCommerceWriteBack } from './settings.ts';

const basePath = '/wp-json/wc/v3';
const ordersPath = `${basePath}/orders`;
/** An order usually has a few refunds. With more than these pages hold, it needs review. */
const maxRefundPages = 5;
const refundsPerPage = 100;
/** How often a second is read again because the list changed, before the run fails. */
const maxRestarts = 5;

export class WooCommerceApi implements ShopApi {
  readonly #http: ShopHttp;
  readonly #pages: PageSize;
  readonly #clock: ApiContext['clock'];
  readonly checks: ShopChecks = this;

  constructor(rest: WooCommerceRest, context: ApiContext) {
    const secrets = () => [rest.consumerKey, rest.consumerSecret];
    const authorization = authorizationOf(rest, context.clock);
    const texts = { platform: 'WooCommerce', errorText, saysAbsent, redirectAdvice, problemIn };
    // WordPress ignores parameters that it does not know.
    this.#http = new ShopHttp({
      rest,
      ca: rest.ca ?? undefined,
      authorization,
      secrets,
      ...context,
      ...texts,
      freshKey: '_',
    });
    this.#pages = new PageSize(rest.pageSize);
    this.#clock = context.clock;
  }

  get clockAheadMs(): number | null {
    return this.#http.clockAheadMs;
  }

  changedSince(sinceMs: number): OrderList {
    return listOrders(async (query, signal) => {
      const ask = async (size: number, more = {}) => ({
        ...(await this.#get(
          ordersPath,
          { ...query, per_page: String(size), ...more },
          signal,
          true,
        )),
        size,
      });
      const page = await this.#pages.read(ask, () => this.answers(signal));
      if (!(page instanceof ShopApiError)) return { ...page, failure: null };
      const light = ask(1, { _fields: 'id,date_modified_gmt,date_modified' });
      return {
        ...(await orElse({ items: [{}], total: null, size: 1 }, tooMuch, light)),
        failure: page,
      };
    }, sinceMs);
  }

  async answers(signal: AbortSignal): Promise<unknown> {
    const tomorrow = queryFor(this.#clock.wallMs() + 86_400_000, 0);
    return await this.#get(ordersPath, { ...tomorrow, per_page: '1', _fields: 'id' }, signal);
  }

  async newestResults(
    count: number,
    signal: AbortSignal,
  ): ReturnType<NonNullable<ShopApi['newestResults']>> {
    const query = {
      orderby: 'modified',
      order: 'desc',
      per_page: String(count),
      _fields: 'id,meta_data',
    };
    const { items } = await this.#get(ordersPath, query, signal);
    return items
      .filter(isObject)
      .map((order) => ({ orderId: String(order['id']), result: resultIn(order) }));
  }

  async order(
    orderId: string,
    signal: AbortSignal,
    { isBehind = false } = {},
  ): Promise<ReadOrder | null> {
    const path = `${ordersPath}/${orderId}`;
    try {
      const value = await this.#call('GET', path, { signal, isBehind });
      checkOrderId(value, orderId, `GET ${path}`);
      const named = isObject(value) ? listOf(value['refunds']) : null;
      // Read at once: without them the lines would be held until they are read.
      return { value, refunds: named?.length === 0 ? [] : await this.#refundsOf(orderId, signal) };
    } catch (error) {
      if (error instanceof ShopApiError && error.kind === 'absent') return null;
      throw error;
    }
  }

  async #refundsOf(orderId: string, signal: AbortSignal): Promise<readonly unknown[]> {
    const refunds: unknown[] = [];
    for (let page = 1; page <= maxRefundPages; page += 1) {
      const query = {
        per_page: String(refundsPerPage),
        page: String(page),
        orderby: 'id',
        order: 'asc',
      };
      const { items } = await this.#get(`${ordersPath}/${orderId}/refunds`, query, signal);
      refunds.push(...items);
      if (items.length < refundsPerPage) return refunds;
    }
    throw new ShopApiError(
      'unreadable',
      `the order ${orderId} has more than ${refunds.length} refunds`,
    );
  }

  async ownSkus(skus: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const query = { sku: skus.join(','), _fields: 'sku,type', per_page: '100' };
    // A key that may not read products: nothing is proven.
    const asked = this.#get(`${basePath}/products`, query, signal);
    const { items } = await orElse<ItemPage>({ items: [], total: null }, notAllowed, asked);
    const products = items.filter(isObject);
    return products.flatMap(({ sku, type }) =>
      String(type).endsWith('variation') ? [String(sku)] : [],
    );
  }

  async webhooksTo(path: string, signal: AbortSignal): ReturnType<ShopChecks['webhooksTo']> {
    const { items } = await this.#get(`${basePath}/webhooks`, { per_page: '100' }, signal);
    const ofOrders = items
      .filter(isObject)
      .filter(({ topic }) => String(topic).startsWith('order.'));
    return ofOrders
      .filter((shown) => String(shown['delivery_url']).replace(/\/$/, '').endsWith(path))
      .map((shown) => ({
        id: String(shown['id']),
        status: String(shown['status']),
        needs: needOf(String(shown['delivery_url'])),
      }));
  }

  async switchOn(id: string, signal: AbortSignal): Promise<boolean> {
    const body = JSON.stringify({ status: 'active' });
    const call = this.#call('PUT', `${basePath}/webhooks/${id}`, { body, signal });
    const value = await orElse(null, notAllowed, call);
    return isObject(value) && value['status'] === 'active';
  }

  async refundCounts(
    orderIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    const query = { include: orderIds.join(','), per_page: '100', _fields: 'id,refunds' };
    const { items } = await this.#get(ordersPath, query, signal);
    return new Map(
      items.filter(isObject).map(({ id, refunds }) => [String(id), listOf(refunds)?.length ?? 0]),
    );
  }

  async withholds({ deliverCodes }: WooCommerceWriteBack, signal: AbortSignal) {
    if (deliverCodes !== 'note') return null;
    const call = this.#call('GET', `${basePath}/settings/email_customer_note/enabled`, { signal });
    // A key that may not read settings, or a shop without them: nothing is proven.
    const value = await orElse(null, notAllowed, call);
    if (!isObject(value) || value['value'] !== 'no') return null;
    const message = 'the mail "Customer note" of the shop is off: no customer gets a code';
    return { message, next: 'switch this mail on in the shop' };
  }

  async mayWrite(signal: AbortSignal): Promise<boolean> {
    const call = this.#call('PUT', `${ordersPath}/0`, { body: '{}', signal }).then(() => true);
    // There is no order 0, so a key that may write is told that.
    return await orElse(false, ['unauthorized'], orElse(true, ['refused', 'absent'], call));
  }

  /** All notes of an order: the shop has no pages of them. */
  async notesOf(orderId: string, signal: AbortSignal): Promise<readonly unknown[]> {
    const path = `${ordersPath}/${orderId}/notes`;
    return listIn(await this.#call('GET', path, { signal, isBehind: true }), path);
  }

  /**
   * Changes what `body` names, and nothing else. Returns the order as it is then. May be repeated.
   */
  async updateOrder(orderId: string, body: OrderChange, signal: AbortSignal): Promise<unknown> {
    const path = `${ordersPath}/${orderId}`;
    const value = await this.#call('PUT', path, {
      body: withNumericIds(body),
      signal,
      isBehind: true,
    });
    checkOrderId(value, orderId, `PUT ${path}`);
    return value;
  }

  async addNote(
    orderId: string,
    body: { readonly note: string; readonly customer_note: boolean },
    once: NonNullable<ShopCall['once']>,
    signal: AbortSignal,
  ): Promise<void> {
    const call = { body: JSON.stringify(body), once, signal, isBehind: true };
    await this.#call('POST', `${ordersPath}/${orderId}/notes`, call);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #get(
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    isLarge = false,
  ): Promise<ItemPage> {
    const call = `${path}?${new URLSearchParams(query).toString()}`;
    const { value, headers } = await this.#http.call({
      method: 'GET',
      path: call,
      headers: {},
      signal,
      isLarge,
    });
    const total = headers['x-wp-total'] ?? '';
    return { items: listIn(value, path), total: /^\d{1,12}$/.test(total) ? Number(total) : null };
  }

  async #call(method: ShopCall['method'], path: string, options: CallOptions): Promise<unknown> {
    const headers: Record<string, string> =
      options.body === undefined ? {} : { 'content-type': 'application/json' };
    return (await this.#http.call({ method, path, headers, ...options })).value;
  }
}

/** What WordPress needs before it posts to an address; empty: nothing. */
function needOf(address: string): string {
  const { hostname = '', port = '' } = URL.parse(address) ?? {};
  const isPrivate = /^(localhost$|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/.test(hostname);
  if (!isPrivate && ['', '80', '443', '8080'].includes(port)) return '';
  return 'to a private address or port: for this, WordPress needs deploy/woocommerce/order-sync-webhooks.php';
}

/** A firewall may keep a path from the worker, too. */
const notAllowed = ['unauthorized', 'refused', 'unreadable'] as const;

/** The answer; `other` when the shop refuses it for one of these reasons. */
async function orElse<T>(
  other: T,
  kinds: readonly ShopApiError['kind'][],
  answer: Promise<T>,
): Promise<T> {
  return await answer.catch((error: unknown) => {
    if (error instanceof ShopApiError && kinds.includes(error.kind)) return other;
    throw error;
  });
}

function listIn(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ShopApiError('unreadable', `GET ${path}: 200, but the answer is not a list`);
}

type CallOptions = Omit<ShopCall, 'method' | 'path' | 'headers'>;

interface OrderChange {
  readonly status?: string;
  readonly meta_data?: readonly OrderField[];
  /**
   * `id`: of a line that the order has. An item without it would be added to the order, and bought.
   */
  readonly line_items?: readonly {
    readonly id: string;
    readonly meta_data: readonly OrderField[];
  }[];
}

/** JSON with the ids of lines as numbers, however large. */
function withNumericIds({ line_items: items, ...order }: OrderChange): string {
  if (items === undefined) return JSON.stringify(order);
  const lines = items.map(({ id, meta_data: fields }) => {
    assert(idOf(id) !== null, `"${id}" is the id of a line`);
    return `{"id":${id},"meta_data":${JSON.stringify(fields)}}`;
  });
  return `${JSON.stringify(order).slice(0, -1)},"line_items":[${lines.join(',')}]}`;
}

/** `total`: how many items the query has on all pages; null when the shop does not say. */
type ItemPage = { readonly items: readonly unknown[]; readonly total: number | null };

/** `size`: how many were asked for. `failure`: why the shop does not show the only item. */
type OrdersPage = ItemPage & { readonly size: number; readonly failure: ShopApiError | null };

type GetPage = (
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<OrdersPage>;

/**
 * Continues by time, not by page number. When an order changes while the list is read, it moves to
 * the end and all later orders move up by one, so a numbered page would miss one of them. The
 * shop's times are whole seconds, so within one second the list continues by offset, with the last
 * order of a page as the first of the next. If that order is not the first, the list has changed,
 * and this second is read again.
 */
function listOrders(get: GetPage, sinceMs: number): OrderList {
  /**
   * The next page has the orders that were changed after this time: "after" excludes the second
   * itself.
   */
  let afterMs = Math.floor(sinceMs / 1000) * 1000 - 1000;
  let offset = 0;
  /** The id that the next page must begin with; null: any. */
  let expectedFirst: string | null = null;
  let isInOrder = true;
  let restarts = 0;
  const beginAfter = (ms: number): void => {
    afterMs = ms;
    offset = 0;
    expectedFirst = null;
  };
  const advance = (orders: readonly ListedOrder[]): void => {
    const last = orders.at(-1);
    // The last time of an unsorted page says nothing about the rest of the list, so that list
    // continues by offset.
    isInOrder &&= isSorted(orders);
    const nextMs = (last?.modifiedMs ?? 0) - 1000;
    if (isInOrder && nextMs > afterMs) return beginAfter(nextMs);
    offset += Math.max(1, orders.length - 1);
    expectedFirst = orders.length > 1 ? (last?.id ?? null) : null;
  };
  const nextPage = async (signal: AbortSignal): Promise<OrderPage> => {
    for (;;) {
      const { items, total, size, failure } = await get(queryFor(afterMs, offset), signal);
      const orders = items.map((shown) =>
        listedOrder(shown, ['date_modified_gmt', 'date_modified'], failure),
      );
      checkSince(orders, sinceMs, ': modified_after needs WooCommerce 5.8');
      // A page that is empty again after a restart is the end, whatever total the shop claims.
      const isEnd = orders.length === 0 && restarts > 0;
      if (expectedFirst !== null && orders[0]?.id !== expectedFirst && !isEnd) {
        restarts += 1;
        if (restarts > maxRestarts)
          throw new ShopApiError('changed', 'the list changes faster than it can be read');
        beginAfter(afterMs);
        continue;
      }
      // Some shops put fewer orders on a page than requested, so the total counts where the shop
      // gives one.
      const isEndByTotal = total === null || offset + orders.length >= total;
      const isLast = orders.length === 0 || (orders.length < size && isEndByTotal);
      if (!isLast) advance(orders);
      return { orders, isLast };
    }
  };
  return { nextPage };
}

const queryFor = (afterMs: number, offset: number): Record<string, string> => ({
  // Without a zone: WordPress converts a time that has one to the shop's own zone, but then
  // compares it with GMT.
  modified_after: new Date(afterMs).toISOString().slice(0, 19),
  dates_are_gmt: 'true',
  orderby: 'modified',
  order: 'asc',
  ...(offset === 0 ? {} : { offset: String(offset) }),
});

function isSorted(orders: readonly ListedOrder[]): boolean {
  const times = orders.flatMap(({ modifiedMs }) => modifiedMs ?? []);
  return times.every((ms, index) => ms >= (times[index - 1] ?? ms));
}

function errorText({ code, message }: Readonly<Record<string, unknown>>): string {
  return typeof code === 'string' && typeof message === 'string' ? `${code}: ${message}` : '';
}

/** An error with the status 200: some proxies and plugins change it. */
function problemIn(value: unknown): ShopProblem | null {
  const text = isObject(value) ? errorText(value) : '';
  const isDenied = /_cannot_|authentication/.test(text);
  return text === ''
    ? null
    : { kind: isDenied ? 'unauthorized' : 'unreadable', text: `200, but ${text}`, waitMs: null };
}

/** Without permalinks every path of the REST API leads to the same path with a slash. */
const redirectAdvice = (headers: PlainHeaders): string | null =>
  headers['x-redirect-by'] === 'WordPress' && headers['location']?.includes('/wp-json/') === true
    ? 'choose permalinks other than "Plain" in WordPress'
    : null;

/** Any other 404 is of the path or of a plugin, and says nothing about the order. */
function saysAbsent(status: number, { code }: ExactJsonObject): boolean {
  return status === 404 && code === 'woocommerce_rest_shop_order_invalid_id';
}
