import {
  idOf,
  isObject,
  listOf,
  piecesOf,
  shopTime,
} from '../../../src/storefronts/shop/payload-values.ts';
import {
  type ApiContext,
  type Platform,
  readOrder,
} from '../../../src/storefronts/shop/platform.ts';
import {
  checkOrderId,
  listedOrder,
  type OrderList,
  type ReadOrder,
  type ShopApi,
} from '../../../src/storefronts/shop/shop-api.ts';
import { type ShopCall, ShopHttp } from '../../../src/storefronts/shop/shop-http.ts';
import type { OrderReading, ShopOrderLine } from '../../../src/storefronts/shop/shop-order.ts';
import { siteOf } from '../../../src/storefronts/shop/site.ts';
import type { StallShop } from './settings.ts';

/** An order of a stall: `{ id, paid_at, changed_at, goods: [{ id, code, count }], mark }`. */
function readStallOrder(document: unknown): OrderReading {
  const orderId = isObject(document) ? idOf(document['id']) : null;
  if (!isObject(document) || orderId === null || !('goods' in document)) return { kind: 'other' };
  const paidMs = shopTime(document['paid_at']);
  const lines = (listOf(document['goods']) ?? []).filter(isObject).map((item): ShopOrderLine => {
    return {
      lineId: String(item['id']),
      sku: String(item['code']),
      product: null,
      remaining: piecesOf(item['count']) ?? 0,
      iccids: [],
      parentId: null,
      isShopsOwn: false,
    };
  });
  return {
    kind: 'order',
    order: {
      orderId,
      modifiedMs: shopTime(document['changed_at']) ?? 0,
      status: paidMs === null ? 'open' : 'paid',
      state: paidMs === null ? 'unpaid' : 'paid',
      refundCount: 0,
      refundUnclear: false,
      marks: [],
      number: null,
      currency: 'USD',
      paidMs,
      placedMs: paidMs,
      isDone: false,
      sites: [],
      lines,
      unreadable: [],
    },
  };
}

class StallApi implements ShopApi {
  readonly #http: ShopHttp;
  readonly #token: string;

  constructor(rest: NonNullable<StallShop['rest']>, context: ApiContext) {
    this.#token = rest.token;
    this.#http = new ShopHttp({
      platform: 'Stall',
      rest,
      secrets: () => [rest.token],
      errorText: () => '',
      saysAbsent: (status) => status === 404,
      ...context,
    });
  }

  get clockAheadMs(): number | null {
    return this.#http.clockAheadMs;
  }

  changedSince(sinceMs: number): OrderList {
    return {
      nextPage: async (signal) => {
        const value = await this.#call('GET', `/orders?since=${sinceMs}`, { signal });
        const orders = (listOf(value) ?? []).map((shown) => listedOrder(shown, ['changed_at']));
        return { orders, isLast: true };
      },
    };
  }

  async answers(signal: AbortSignal): Promise<unknown> {
    return await this.#call('GET', '/orders?since=0', { signal });
  }

  async order(orderId: string, signal: AbortSignal): Promise<ReadOrder> {
    const value = await this.#call('GET', `/orders/${orderId}`, { signal });
    checkOrderId(value, orderId, 'GET');
    return { value, refunds: [] };
  }

  async mark(orderId: string, mark: string, signal: AbortSignal): Promise<void> {
    await this.#call('PUT', `/orders/${orderId}`, { signal, body: JSON.stringify({ mark }) });
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #call(
    method: ShopCall['method'],
    path: string,
    options: Pick<ShopCall, 'signal' | 'body'>,
  ): Promise<unknown> {
    const headers = { 'x-stall-token': this.#token };
    return (await this.#http.call({ method, path, headers, ...options })).value;
  }
}

export const stall: Platform<StallShop, StallApi> = {
  webhook: {
    signatureHeader: 'x-stall-signature',
    testHeader: null,
    topicHeader: 'x-stall-topic',
    siteHeader: 'x-stall-site',
    deletedTopic: 'gone',
    unsignedPing: null,
  },
  siteOf,
  showsPayment: true,
  readOrder: readStallOrder,
  connect: (rest, context) => new StallApi(rest, context),
  writeBack: async ({ orderId, lines }, parts) => {
    const { value } = await readOrder(orderId, parts);
    const { mark } = parts.options;
    const isMarked = isObject(value) && value['mark'] === mark;
    if (isMarked || lines.some(({ stage }) => stage !== 'done')) return [];
    await parts.api.mark(orderId, mark, parts.signal);
    return ['mark'];
  },
};
