import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { page, refusal, type Answer, type Reply } from './answers.ts';
import { delivers, type Behaviour } from './behaviours.ts';
import { CallLog, type ApiCall, type CallKind, type Family } from './calls.ts';
import { Ledger, type OrderCall, type SoldOrder } from './ledger.ts';
import { SlidingWindow } from './sliding-window.ts';

export interface Product {
  /** The price of one, in each currency that it is sold in. Default: 5 in USD and in EUR. */
  readonly prices?: Readonly<Record<string, number>>;
  /** How many can be sold. Default: any number. */
  readonly stock?: number;
  /** Default: it delivers. */
  readonly behaviour?: Behaviour;
}

export interface FakeApiOptions {
  /** Variants, by their id. Every other one is `invalid_variant`. */
  readonly variants?: Readonly<Record<string, Product>>;
  /** Plans, by their id. Every other one is `invalid_plan`. */
  readonly plans?: Readonly<Record<string, Product>>;
  /** Money in each balance. Default: a million. */
  readonly balances?: Readonly<Record<string, number>>;
  readonly keys?: readonly string[];
  /** As Spec 8 says, unless a test needs a shorter window. Null: no limit. */
  readonly limits?: {
    readonly windowMs: number;
    readonly requests: number;
    readonly orders: number;
  } | null;
}

/**
 * What the API as a whole does: `open` works; `disabled` is its 503 `api_disabled`; `page_503` is a
 * proxy's page; `silent` accepts connections and requests, and never answers.
 */
export type Condition = 'open' | 'disabled' | 'page_503' | 'silent';

export type LookupAnswer = (order: SoldOrder | undefined, key: string) => Reply | Promise<Reply>;

/** The found order, or the error body of Spec 7. */
export const answersLookups: LookupAnswer = (order) =>
  order === undefined ? refusal(404, 'not_found') : { http: 200, body: order.show(order) };

export const defaultKey = 'sandbox-key-main';
const usualLimits = { windowMs: 60_000, requests: 60, orders: 20 };
const orderPaths: Readonly<Record<string, Family>> = {
  '/orders': 'gift_card',
  '/esim/orders': 'esim',
};

interface KeyWindows {
  readonly requests: SlidingWindow;
  readonly orders: SlidingWindow;
}

/**
 * The Wholesale Ordering API as a server of a few hundred lines, written from the specification for
 * these tests and apart from the sandbox. Each product can be sick in its own way, and the whole
 * API can be down in several.
 */
export class FakeApi {
  readonly ledger = new Ledger();
  readonly log = new CallLog();
  condition: Condition = 'open';
  lookups: LookupAnswer = answersLookups;
  /** What `GET /products` answers; null: the list of all variants. */
  catalogue: Answer | null = null;
  /**
   * A gateway before it repeats each order and answers what the second copy got. The API checks
   * balance and stock before the reference.
   */
  repeatsOrders = false;
  /** How far its clock is ahead of this machine's, in ms, as the `Date` of its answers shows. */
  clockAheadMs = 0;
  readonly balances: Map<string, number>;
  /** Calls that were answered 429. */
  limited = 0;
  readonly #variants: Map<string, Product>;
  readonly #plans: Map<string, Product>;
  readonly #keys: Map<string, KeyWindows | null>;
  readonly #server: Server;
  #port = 0;
  readonly #answered = new EventEmitter();

  private constructor(options: FakeApiOptions) {
    this.#variants = new Map(Object.entries(options.variants ?? { card: {} }));
    this.#plans = new Map(Object.entries(options.plans ?? {}));
    this.balances = new Map(Object.entries(options.balances ?? { USD: 1_000_000, EUR: 1_000_000 }));
    const limits = options.limits === undefined ? usualLimits : options.limits;
    const windows = (): KeyWindows | null =>
      limits === null
        ? null
        : {
            requests: new SlidingWindow(limits.requests, limits.windowMs),
            orders: new SlidingWindow(limits.orders, limits.windowMs),
          };
    this.#keys = new Map((options.keys ?? [defaultKey]).map((key) => [key, windows()]));
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async open(options: FakeApiOptions = {}): Promise<FakeApi> {
    const api = new FakeApi(options);
    await api.listen();
    return api;
  }

  get isListening(): boolean {
    return this.#server.listening;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, again on the same port: it came back. */
  async listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    if (typeof address === 'object' && address !== null) this.#port = address.port;
  }

  /** Ends every connection and refuses new ones. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Replaces a variant, or adds one. */
  setVariant(variant: string, product: Product): void {
    this.#variants.set(variant, product);
  }

  /**
   * Resolves once it holds, which is asked after each call. Rejects when it does not come true in
   * time.
   */
  async until(holds: () => boolean, timeoutMs = 20_000): Promise<void> {
    const signal = AbortSignal.timeout(timeoutMs);
    while (!holds()) await once(this.#answered, 'call', { signal });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const atMs = performance.now();
    let text = '';
    try {
      for await (const part of request.setEncoding('utf8')) text += String(part);
    } catch {
      return;
    }
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const body = parsed(text);
    const call = callOf(request.method ?? '', path, body, atMs);
    this.log.add(call);
    const reply = await this.#reply(request, path, body, call);
    if (reply !== 'silence') {
      call.http = reply.http;
      send(response, reply, new Date(Date.now() + this.clockAheadMs));
    }
    this.#answered.emit('call');
  }

  #reply(
    request: IncomingMessage,
    path: string,
    body: Readonly<Record<string, unknown>>,
    call: ApiCall,
  ): Reply | Promise<Reply> {
    if (this.condition === 'silent') return 'silence';
    if (this.condition === 'page_503') return page(503);
    const windows = this.#keys.get(
      /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '',
    );
    if (windows === undefined) return refusal(401, 'invalid_key');
    if (windows !== null && !isAdmitted(windows, call)) {
      this.limited += 1;
      return { http: 429, body: {}, headers: { 'retry-after': '1' } };
    }
    if (this.condition === 'disabled') return refusal(503, 'api_disabled');
    if (call.kind === 'products') return this.catalogue ?? this.#allVariants();
    const [, orders, key] = /^(.*orders)\/([^/]+)$/.exec(path) ?? [];
    if (call.kind === 'lookup' && orders !== undefined && key !== undefined) {
      const found = this.ledger.find(decodeURIComponent(key));
      return this.lookups(
        found?.family === orderPaths[orders] ? found : undefined,
        decodeURIComponent(key),
      );
    }
    const family = orderPaths[path];
    if (call.kind !== 'order' || family === undefined) return refusal(404, 'not_found');
    return this.repeatsOrders ? this.#orderTwice(family, body) : this.#order(family, body);
  }

  async #orderTwice(family: Family, body: Readonly<Record<string, unknown>>): Promise<Reply> {
    await this.#order(family, body);
    return this.#order(family, body);
  }

  #allVariants(): Answer {
    const products = [...this.#variants].map(([variant, { prices = usualPrices }]) => ({
      variant,
      prices,
    }));
    return { http: 200, body: { products } };
  }

  #order(family: Family, body: Readonly<Record<string, unknown>>): Reply | Promise<Reply> {
    const { reference, quantity, currency } = body;
    const id = family === 'gift_card' ? body['variant'] : body['plan'];
    if (typeof reference !== 'string' || typeof id !== 'string' || typeof currency !== 'string')
      return refusal(422, 'invalid_request');
    if (typeof quantity !== 'number' || !Number.isInteger(quantity) || quantity < 1)
      return refusal(422, 'invalid_request');
    const sold = this.ledger.find(reference);
    if (sold !== undefined && sold.family !== family) return refusal(409, 'reference_in_use');
    const replay = sold === undefined ? null : { http: 200, body: sold.show(sold) };
    if (replay !== null && !this.repeatsOrders) return replay;
    const product = (family === 'gift_card' ? this.#variants : this.#plans).get(id);
    if (product === undefined)
      return refusal(404, family === 'gift_card' ? 'invalid_variant' : 'invalid_plan');
    const price = (product.prices ?? usualPrices)[currency];
    if (price === undefined) return refusal(422, 'currency_unavailable');
    const left = (): number => (this.balances.get(currency) ?? 0) - price * quantity;
    if (left() < 0) return refusal(402, 'insufficient_balance');
    if (this.ledger.unitsSold(id) + quantity > (product.stock ?? Number.POSITIVE_INFINITY))
      return refusal(409, 'out_of_stock');
    if (replay !== null) return replay;
    const call: OrderCall = { family, reference, product: id, quantity, currency };
    return (product.behaviour ?? delivers)(call, (show) => {
      this.balances.set(currency, left());
      return this.ledger.sell(call, show);
    });
  }
}

const usualPrices: Readonly<Record<string, number>> = { USD: 5, EUR: 5 };

function isAdmitted({ requests, orders }: KeyWindows, call: ApiCall): boolean {
  const isOrder = call.kind === 'order';
  if (!requests.hasPlace(call.atMs) || (isOrder && !orders.hasPlace(call.atMs))) return false;
  requests.count(call.atMs);
  if (isOrder) orders.count(call.atMs);
  return true;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function kindOf(method: string, path: string): CallKind {
  if (method === 'POST' && path in orderPaths) return 'order';
  if (method === 'GET' && /orders\/[^/]+$/.test(path)) return 'lookup';
  return method === 'GET' && path === '/products' ? 'products' : 'other';
}

function callOf(
  method: string,
  path: string,
  body: Readonly<Record<string, unknown>>,
  atMs: number,
): ApiCall {
  const kind = kindOf(method, path);
  const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const reference =
    kind === 'lookup'
      ? decodeURIComponent(path.split('/').at(-1) ?? '')
      : textOf(body['reference']);
  return {
    atMs,
    kind,
    reference,
    product: textOf(body['variant']) ?? textOf(body['plan']),
    http: null,
  };
}

function send(response: ServerResponse, { http, body, headers }: Answer, now: Date): void {
  if (response.destroyed) return;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(http, {
    'content-type': 'application/json',
    date: now.toUTCString(),
    ...headers,
  });
  response.end(text);
}
