import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { shopTime } from '../payload-values.ts';
import { type ListedOrder, type OrdersPage, type OrdersWalk, type ShopApi, zonesMs } from '../read-back/shop-api.ts';
import type { WooRest } from '../read-back/settings.ts';
import { ShopApiError } from '../read-back/shop-api-error.ts';
import type { ShopAnswer, ShopHttp } from '../read-back/shop-http.ts';

const ordersPath = '/wp-json/wc/v3/orders';
/** An order has a handful of refunds; one with more than this is for a person. */
const refundPages = 5;
const refundsPerPage = 100;
/** How often a list that moves while it is read is begun anew, before the run gives up until the next one. */
const restartsLimit = 5;

const listedSchema = z.looseObject({
  id: z.string().regex(/^\d{1,20}$/),
  date_modified: z.string().nullish(),
  date_modified_gmt: z.string().nullish(),
});

/** The WooCommerce REST API v3, with the consumer key of a user who may read orders. */
export class WooCommerceApi implements ShopApi {
  readonly #http: ShopHttp;
  readonly #rest: WooRest;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(http: ShopHttp, rest: WooRest) {
    this.#http = http;
    this.#rest = rest;
    const pair = Buffer.from(`${rest.consumerKey}:${rest.consumerSecret}`).toString('base64');
    this.#headers = { authorization: `Basic ${pair}` };
  }

  get aheadMs(): number | null {
    return this.#http.aheadMs;
  }

  changedSince(sinceMs: number): OrdersWalk {
    return new WooWalk((query, signal) => this.#list(ordersPath, query, signal), this.#rest.pageSize, sinceMs);
  }

  async refundsOf(orderId: string, signal: AbortSignal): Promise<readonly unknown[]> {
    const refunds: unknown[] = [];
    for (let page = 1; page <= refundPages; page += 1) {
      const query = { per_page: String(refundsPerPage), page: String(page), orderby: 'id', order: 'asc' };
      const { items } = await this.#list(`${ordersPath}/${orderId}/refunds`, query, signal);
      refunds.push(...items);
      if (items.length < refundsPerPage) return refunds;
    }
    throw new ShopApiError('unreadable', `the order ${orderId} has more than ${refunds.length} refunds`);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #list(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WooList> {
    const call = `${path}?${new URLSearchParams(query).toString()}`;
    const answer = await this.#http.call({ method: 'GET', path: call, headers: this.#headers, signal });
    if (!Array.isArray(answer.value)) {
      throw new ShopApiError('unreadable', `GET ${path}: 200, and the answer is no list`);
    }
    return { items: answer.value, total: totalOf(answer) };
  }
}

interface WooList {
  readonly items: readonly unknown[];
  /** Everything that fits the question; null when the shop does not say. */
  readonly total: number | null;
}

type ListCall = (query: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<WooList>;

/**
 * Goes on by time, not by page numbers: an order that is changed while the list is read moves to its end, everything
 * behind it moves up, and a numbered page would miss what moved across its edge. Only within one second, which is as
 * exact as the shop's times are, it goes on by offset, with the last order of a page as the first of the next; if it is
 * not, the list moved, and that second is read again from its beginning.
 */
class WooWalk implements OrdersWalk {
  readonly #list: ListCall;
  readonly #pageSize: number;
  readonly #askedMs: number;
  #sinceMs: number;
  #offset = 0;
  #anchor: string | null = null;
  #byTime = true;
  #restarts = 0;

  constructor(list: ListCall, pageSize: number, sinceMs: number) {
    this.#list = list;
    this.#pageSize = pageSize;
    this.#askedMs = sinceMs;
    // The shop's times are whole seconds, and "after" leaves the second itself out.
    this.#sinceMs = Math.floor(sinceMs / 1000) * 1000 - 1000;
  }

  async read(signal: AbortSignal): Promise<OrdersPage> {
    for (;;) {
      const { items, total } = await this.#list(this.#query(), signal);
      const orders = items.map(listedOrder);
      this.#checkFilter(orders);
      // A page that stays empty is the end, whatever total the shop tells.
      const isEnd = orders.length === 0 && this.#restarts > 0;
      if (this.#anchor !== null && orders[0]?.id !== this.#anchor && !isEnd) {
        this.#restart();
        continue;
      }
      // Some shops show fewer orders on a page than were asked for; the total, where it is told, is what counts.
      const isLast =
        orders.length === 0 ||
        (total === null ? orders.length < this.#pageSize : this.#offset + orders.length >= total);
      if (!isLast) this.#goOn(orders);
      return { orders, isLast };
    }
  }

  #query(): Record<string, string> {
    return {
      // Without a zone: WordPress turns a time with one into the shop's own time, and then compares it with GMT.
      modified_after: new Date(this.#sinceMs).toISOString().slice(0, 19),
      dates_are_gmt: 'true',
      orderby: 'modified',
      order: 'asc',
      per_page: String(this.#pageSize),
      ...(this.#offset === 0 ? {} : { offset: String(this.#offset) }),
    };
  }

  #goOn(orders: readonly ListedOrder[]): void {
    const last = orders.at(-1);
    // From a page that is not sorted nothing follows about what comes after it: such a list is read by offset.
    this.#byTime &&= isSorted(orders);
    const nextMs = (last?.modifiedMs ?? 0) - 1000;
    if (this.#byTime && nextMs > this.#sinceMs) {
      this.#sinceMs = nextMs;
      this.#offset = 0;
      this.#anchor = null;
      return;
    }
    this.#offset += Math.max(1, orders.length - 1);
    this.#anchor = orders.length > 1 ? (last?.id ?? null) : null;
  }

  #restart(): void {
    this.#restarts += 1;
    if (this.#restarts > restartsLimit) {
      throw new ShopApiError('changed', 'the list of orders changes faster than it can be read');
    }
    this.#offset = 0;
    this.#anchor = null;
  }

  #checkFilter(orders: readonly ListedOrder[]): void {
    if (!orders.some(({ modifiedMs }) => modifiedMs !== null && modifiedMs < this.#askedMs - zonesMs)) return;
    const rule =
      'the shop shows orders that were changed long before the time asked for: modified_after needs WooCommerce 5.8';
    throw new ShopApiError('unreadable', rule);
  }
}

function listedOrder(value: unknown): ListedOrder {
  const parsed = listedSchema.safeParse(value);
  if (!parsed.success) return { id: null, modifiedMs: null, value };
  const { id, date_modified, date_modified_gmt } = parsed.data;
  return { id, modifiedMs: shopTime(date_modified_gmt) ?? shopTime(date_modified), value };
}

function isSorted(orders: readonly ListedOrder[]): boolean {
  let newestMs = Number.NEGATIVE_INFINITY;
  return orders.every(({ modifiedMs }) => {
    if (modifiedMs === null) return true;
    const follows = modifiedMs >= newestMs;
    newestMs = Math.max(newestMs, modifiedMs);
    return follows;
  });
}

function totalOf(answer: ShopAnswer): number | null {
  const text = answer.headers['x-wp-total'] ?? '';
  return /^\d{1,12}$/.test(text) ? Number(text) : null;
}
