import { z } from 'zod';
import { shopTime } from '../payload-values.ts';
import type { Clock } from '../../core/clock.ts';
import { type ListedOrder, type OrdersPage, type OrdersWalk, type ShopApi, zonesMs } from '../read-back/shop-api.ts';
import type { ShopifyRest } from '../read-back/settings.ts';
import { ShopApiError } from '../read-back/shop-api-error.ts';
import type { ShopAnswer, ShopHttp } from '../read-back/shop-http.ts';

/** A token that was given is renewed this long before its end. */
const renewBeforeMs = 300_000;

const bodySchema = z.looseObject({ orders: z.array(z.unknown()) });
const listedSchema = z.looseObject({ id: z.string().regex(/^\d{1,20}$/), updated_at: z.string().nullish() });
const grantSchema = z.looseObject({
  access_token: z.string().min(1).max(4096),
  expires_in: z
    .string()
    .regex(/^\d{1,9}$/)
    .nullish(),
});

/** The Shopify REST Admin API, whose orders have the form of its webhooks, refunds and all. Needs the scope `read_orders`. */
export class ShopifyApi implements ShopApi {
  readonly #http: ShopHttp;
  readonly #rest: ShopifyRest;
  readonly #clock: Clock;
  #granted: { readonly token: string; readonly untilMs: number } | null = null;

  constructor(http: ShopHttp, rest: ShopifyRest, clock: Clock) {
    this.#http = http;
    this.#rest = rest;
    this.#clock = clock;
  }

  get aheadMs(): number | null {
    return this.#http.aheadMs;
  }

  changedSince(sinceMs: number): OrdersWalk {
    const path = `/admin/api/${this.#rest.apiVersion}/orders.json`;
    const base = new URL(this.#rest.url).pathname.replace(/\/+$/, '');
    const limit = String(this.#rest.pageSize);
    // Archived and cancelled orders, too: `open` alone would hide the refund of a finished one.
    let query: Record<string, string> | null = {
      status: 'any',
      order: 'updated_at asc',
      updated_at_min: new Date(sinceMs).toISOString(),
      limit,
    };
    return {
      read: async (signal): Promise<OrdersPage> => {
        if (query === null) return { orders: [], isLast: true };
        const answer = await this.#get(`${path}?${new URLSearchParams(query).toString()}`, signal);
        const body = bodySchema.safeParse(answer.value);
        if (!body.success)
          throw new ShopApiError('unreadable', `GET ${path}: 200, and the answer has no list of orders`);
        const orders = body.data.orders.map(listedOrder);
        if (orders.some(({ modifiedMs }) => modifiedMs !== null && modifiedMs < sinceMs - zonesMs)) {
          throw new ShopApiError(
            'unreadable',
            'the shop shows orders that were changed long before the time asked for',
          );
        }
        const pageInfo = nextPage(answer, `${base}${path}`);
        query = pageInfo === null ? null : { limit, page_info: pageInfo };
        return { orders, isLast: pageInfo === null };
      },
    };
  }

  /** An order shows its refunds itself. */
  async refundsOf(): Promise<readonly unknown[]> {
    return [];
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #get(path: string, signal: AbortSignal): Promise<ShopAnswer> {
    const token = await this.#token(signal);
    try {
      return await this.#http.call({ method: 'GET', path, headers: { 'x-shopify-access-token': token }, signal });
    } catch (error) {
      // A token that was revoked, or taken back with a change of the app's rights: the next call asks for a new one.
      if (error instanceof ShopApiError && error.kind === 'unauthorized') this.#granted = null;
      throw error;
    }
  }

  async #token(signal: AbortSignal): Promise<string> {
    const { access } = this.#rest;
    if (access.kind === 'token') return access.token;
    if (this.#granted !== null && this.#clock.monoMs() < this.#granted.untilMs) return this.#granted.token;
    const form = { grant_type: 'client_credentials', client_id: access.clientId, client_secret: access.clientSecret };
    const answer = await this.#http.call({
      method: 'POST',
      path: '/admin/oauth/access_token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
      signal,
    });
    const grant = grantSchema.safeParse(answer.value);
    if (!grant.success) {
      throw new ShopApiError('unreadable', 'POST /admin/oauth/access_token: 200, and the answer has no access token');
    }
    this.#http.hide(grant.data.access_token);
    const lastsMs = Number(grant.data.expires_in ?? 3600) * 1000;
    this.#granted = { token: grant.data.access_token, untilMs: this.#clock.monoMs() + lastsMs - renewBeforeMs };
    return grant.data.access_token;
  }
}

/** The cursor of the next page; null on the last one. A link that leads elsewhere is not followed. */
function nextPage(answer: ShopAnswer, path: string): string | null {
  const [, link] = /<([^<>]{1,4096})>\s*;\s*rel="?next"?/.exec(answer.headers['link'] ?? '') ?? [];
  if (link === undefined) return null;
  const url = URL.canParse(link) ? new URL(link) : null;
  const pageInfo = url?.searchParams.get('page_info') ?? '';
  if (url === null || url.pathname !== path || pageInfo === '') {
    throw new ShopApiError('unreadable', `GET ${path}: the link to the next page leads elsewhere`);
  }
  // A shop that has a domain of its own may name that one: the cursor is used at the address of the config in any case.
  return pageInfo;
}

function listedOrder(value: unknown): ListedOrder {
  const parsed = listedSchema.safeParse(value);
  if (!parsed.success) return { id: null, modifiedMs: null, value };
  return { id: parsed.data.id, modifiedMs: shopTime(parsed.data.updated_at), value };
}
