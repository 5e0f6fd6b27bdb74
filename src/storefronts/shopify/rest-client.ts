import { z } from 'zod';
import type { ExactJsonObject } from '../../core/exact-json.ts';
import type { PlainHeaders } from '../../core/http-headers.ts';
import type { OrderList, OrderPage, ReadOrder, ShopApi } from '../shop/shop-api.ts';
import { checkOrderId, checkSince, listedOrder, ShopApiError } from '../shop/shop-api.ts';
import type { ApiContext } from '../shop/platform.ts';
import { isObject, shopTime } from '../shop/payload-values.ts';
import { PageSize } from '../shop/page-size.ts';
import { type ShopAnswer, type ShopCall, ShopHttp, type ShopProblem } from '../shop/shop-http.ts';
import type { ShopifyRest } from './settings.ts';

/**
 * The shop frees two calls a second. From this share of used calls on, the worker waits for some.
 */
const fullBucket = { share: 0.8, pauseMs: 2000 };
/** A granted token is renewed this long before it expires. */
const renewBeforeMs = 300_000;

const bodySchema = z.looseObject({ orders: z.array(z.unknown()) });
const scopesSchema = z.looseObject({
  access_scopes: z.array(z.looseObject({ handle: z.string() })),
});
const transaction = z.looseObject({ kind: z.string(), status: z.string(), amount: z.string() });
const transactionsSchema = z.looseObject({ transactions: z.array(transaction) });
const wholeNumber = z.string().regex(/^\d{1,9}$/);
const grantSchema = z.looseObject({
  access_token: z.string().min(1).max(4096),
  expires_in: wholeNumber.nullish(),
});

const adminPath = '/admin/api/2026-10';
const ordersPath = `${adminPath}/orders.json`;

/**
 * The Shopify REST Admin API. Its orders include their refunds, as its webhooks do. Needs the scope
 * `read_orders`.
 */
export class ShopifyApi implements ShopApi {
  readonly #http: ShopHttp;
  readonly #rest: ShopifyRest;
  readonly #pages: PageSize;
  readonly #clock: ApiContext['clock'];
  #granted: { readonly token: string; readonly untilMs: number } | null = null;

  constructor(rest: ShopifyRest, context: ApiContext) {
    const { access } = rest;
    const secret = access.kind === 'token' ? access.token : access.clientSecret;
    const secrets = (): readonly string[] => [secret, this.#granted?.token ?? ''];
    const texts = { platform: 'Shopify', errorText, problemIn: graphqlProblem };
    this.#http = new ShopHttp({ rest, secrets, ...context, ...texts, pauseAfterMs });
    this.#pages = new PageSize(rest.pageSize);
    this.#rest = rest;
    this.#clock = context.clock;
  }

  get clockAheadMs(): number | null {
    return this.#http.clockAheadMs;
  }

  changedSince(sinceMs: number): OrderList {
    const updated_at_min = new Date(sinceMs).toISOString();
    // With the status `open`, the default, refunds of archived orders would be missing.
    let query: Record<string, string> | null = {
      status: 'any',
      order: 'updated_at asc',
      updated_at_min,
    };
    return {
      nextPage: async (signal): Promise<OrderPage> => {
        if (query === null) return { orders: [], isLast: true };
        const place = query;
        const ask = (size: number, more = {}) =>
          this.#list({ ...place, limit: String(size), ...more }, signal);
        const read = await this.#pages.read(ask, () => this.answers(signal));
        const failure = read instanceof ShopApiError ? read : null;
        const answer =
          read instanceof ShopApiError ? await ask(1, { fields: 'id,updated_at' }) : read;
        const shown = ordersIn(answer, `GET ${ordersPath}`);
        const orders = shown.map((value) => listedOrder(value, ['updated_at'], failure));
        checkSince(orders, sinceMs);
        const cursor = nextCursor(answer, `${this.#http.basePath}${ordersPath}`);
        query = cursor === null ? null : { page_info: cursor };
        return { orders, isLast: cursor === null };
      },
    };
  }

  async answers(signal: AbortSignal): Promise<unknown> {
    const updated_at_min = new Date(this.#clock.wallMs() + 86_400_000).toISOString();
    return await this.#list({ status: 'any', updated_at_min, limit: '1', fields: 'id' }, signal);
  }

  async #list(query: Record<string, string>, signal: AbortSignal): Promise<ShopAnswer> {
    const path = `${ordersPath}?${new URLSearchParams(query).toString()}`;
    return await this.#call({ method: 'GET', path, headers: {}, signal, isLarge: true });
  }

  /**
   * By the list with its id as the filter: a shop that answers 404 for a whole address would seem
   * to have deleted its orders. Without the scope `read_all_orders` orders of more than 60 days are
   * missing, too, so only with it an absent order is deleted.
   */
  async order(
    orderId: string,
    signal: AbortSignal,
    { isBehind = false } = {},
  ): Promise<ReadOrder | null> {
    const path = `${ordersPath}?ids=${orderId}`;
    const call = `GET ${path}`;
    const [value] = ordersIn(await this.#get(`${path}&status=any`, signal, isBehind), call);
    if (value !== undefined) {
      checkOrderId(value, orderId, call);
      return { value, refunds: [] };
    }
    if (await this.#readsAllOrders(signal)) return null;
    const problem = 'the shop does not show the order: it was deleted, or it is older than 60 days';
    throw new ShopApiError(
      'refused',
      `${call}: ${problem}; only an app with the scope read_all_orders can tell which`,
    );
  }

  async paidMs(order: unknown, signal: AbortSignal): Promise<number | null> {
    const { id, total_price: total } = isObject(order) ? order : {};
    const path = `${adminPath}/orders/${String(id)}/transactions.json`;
    const body = transactionsSchema.safeParse((await this.#get(path, signal)).value);
    if (!body.success)
      throw new ShopApiError('unreadable', `GET ${path}: 200, but the answer has no transactions`);
    const payments = body.data.transactions
      .filter(({ kind, status }) => status === 'success' && /^(?:sale|capture)$/.test(kind))
      .map((paid) => ({
        amount: Number(paid.amount),
        ms: shopTime(paid['processed_at']) ?? shopTime(paid['created_at']),
      }))
      .toSorted((a, b) => (a.ms ?? 0) - (b.ms ?? 0));
    let left = Number(total);
    // A later payment is for lines that were added to the order.
    return (
      payments.find(({ amount }) => (left -= amount) < 0.005)?.ms ?? payments.at(-1)?.ms ?? null
    );
  }

  async #readsAllOrders(signal: AbortSignal): Promise<boolean> {
    const path = '/admin/oauth/access_scopes.json';
    const body = scopesSchema.safeParse((await this.#get(path, signal)).value);
    if (!body.success)
      throw new ShopApiError('unreadable', `GET ${path}: 200, but the answer has no scopes`);
    return body.data.access_scopes.some(({ handle }) => handle === 'read_all_orders');
  }

  /**
   * Makes a call of the GraphQL Admin API, of the same version. Returns its `data`. Needs the
   * scopes that docs/storefronts.md lists. The status does not say whether the change succeeded:
   * see `userErrors` there.
   */
  async graphql(query: string, variables: object, signal: AbortSignal): Promise<unknown> {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query, variables });
    const call = {
      method: 'POST',
      path: `${adminPath}/graphql.json`,
      headers,
      body,
      signal,
      isBehind: true,
    } as const;
    const { value } = await this.#call(call);
    return isObject(value) ? value['data'] : null;
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #get(path: string, signal: AbortSignal, isBehind = false): Promise<ShopAnswer> {
    return await this.#call({ method: 'GET', path, headers: {}, signal, isBehind });
  }

  async #call(call: ShopCall): Promise<ShopAnswer> {
    const token = await this.#token(call.signal);
    try {
      return await this.#http.call({
        ...call,
        headers: { ...call.headers, 'x-shopify-access-token': token },
      });
    } catch (error) {
      // The token may have been revoked, for example by a change of the app's scopes: the next call
      // asks for a new one.
      if (error instanceof ShopApiError && error.kind === 'unauthorized') this.#granted = null;
      throw error;
    }
  }

  async #token(signal: AbortSignal): Promise<string> {
    const { access } = this.#rest;
    if (access.kind === 'token') return access.token;
    if (this.#granted !== null && this.#clock.steadyMs() < this.#granted.untilMs)
      return this.#granted.token;
    const form = {
      grant_type: 'client_credentials',
      client_id: access.clientId,
      client_secret: access.clientSecret,
    };
    const path = '/admin/oauth/access_token';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams(form).toString();
    const answer = await this.#http.call({ method: 'POST', path, headers, body, signal });
    const grant = grantSchema.safeParse(answer.value);
    if (!grant.success)
      throw new ShopApiError('unreadable', `POST ${path}: 200, but the answer has no access token`);
    const { access_token: token, expires_in: validS } = grant.data;
    this.#granted = {
      token,
      untilMs: this.#clock.steadyMs() + Number(validS ?? 3600) * 1000 - renewBeforeMs,
    };
    return token;
  }
}

function ordersIn({ value }: ShopAnswer, call: string): readonly unknown[] {
  const body = bodySchema.safeParse(value);
  if (body.success) return body.data.orders;
  throw new ShopApiError('unreadable', `${call}: 200, but the answer has no list of orders`);
}

function errorText({ errors, error: ofGrant }: ExactJsonObject): string {
  if (errors === undefined) return typeof ofGrant === 'string' ? ofGrant : '';
  return typeof errors === 'string' ? errors : JSON.stringify(errors);
}

/**
 * A call of GraphQL is answered with 200, also when it was not made. Nothing of it was processed
 * then.
 */
function graphqlProblem(value: unknown): ShopProblem | null {
  if (!isObject(value) || !Array.isArray(value['errors'])) return null;
  const errors = value['errors'].filter(isObject);
  const codes = errors.map(({ extensions }) => (isObject(extensions) ? extensions['code'] : null));
  const text = errors.map(({ message }) => (typeof message === 'string' ? message : '')).join('; ');
  const waitMs = restoredMs(value['extensions']) || fullBucket.pauseMs;
  if (codes.includes('THROTTLED')) return { kind: 'rate_limited', text, waitMs };
  const isDenied = codes.includes('ACCESS_DENIED') || codes.includes('SHOP_INACTIVE');
  const isTheirs = codes.includes('INTERNAL_SERVER_ERROR') || codes.includes('TIMEOUT');
  return {
    kind: isDenied ? 'unauthorized' : isTheirs ? 'unavailable' : 'refused',
    text,
    waitMs: null,
  };
}

/**
 * How long until the shop allows another call of the same costs, in ms; 0: at once, or it does not
 * say.
 */
function restoredMs(extensions: unknown): number {
  const cost = isObject(extensions) && isObject(extensions['cost']) ? extensions['cost'] : {};
  const status = isObject(cost['throttleStatus']) ? cost['throttleStatus'] : {};
  const missing = Number(cost['requestedQueryCost']) - Number(status['currentlyAvailable']);
  const waitMs = (missing / Number(status['restoreRate'])) * 1000;
  return Number.isFinite(waitMs) ? Math.max(0, Math.ceil(waitMs)) : 0;
}

/**
 * Each answer of REST says how many calls are used, for example `32/40`, and each of GraphQL what
 * it costs.
 */
function pauseAfterMs(headers: PlainHeaders, value: unknown): number {
  const [, used, size] =
    /^(\d{1,6})\/(\d{1,6})$/.exec(headers['x-shopify-shop-api-call-limit'] ?? '') ?? [];
  if (Number(size) > 0 && Number(used) / Number(size) >= fullBucket.share)
    return fullBucket.pauseMs;
  return isObject(value) ? restoredMs(value['extensions']) : 0;
}

/**
 * The cursor of the next page; null on the last page. Throws when the link has another path than
 * this list.
 */
function nextCursor(answer: ShopAnswer, path: string): string | null {
  const [, link] = /<([^<>]{1,4096})>\s*;\s*rel="?next"?/.exec(answer.headers['link'] ?? '') ?? [];
  if (link === undefined) return null;
  const url = URL.canParse(link) ? new URL(link) : null;
  const cursor = url?.searchParams.get('page_info') ?? '';
  // The host may differ, because a shop can have a domain of its own. The cursor is used at the
  // configured address.
  if (url === null || url.pathname !== path || cursor === '') {
    throw new ShopApiError('unreadable', `GET ${path}: the link to the next page leads elsewhere`);
  }
  return cursor;
}
