import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createSandbox, type Sandbox } from '../../sandbox/create-sandbox.ts';

/** An answer; a body that is no text is sent as JSON. */
export interface Answer {
  readonly http: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `silence`: the connection stays open, and nothing is ever sent. */
type Reply = Answer | 'silence';

/** The error body of Spec 7. */
export const refusal = (http: number, code: string): Answer => ({
  http,
  body: { error: { code, message: `refused: ${code}` } },
});

/** The answer of a proxy. */
export const page = (http: number): Answer => ({
  http,
  body: `<html><body><h1>HTTP ${http}</h1></body></html>`,
  headers: { 'content-type': 'text/html' },
});

type Fields = Readonly<Record<string, unknown>>;

/** An order that the sandbox sold. */
export interface SoldOrder {
  readonly family: 'gift_card' | 'esim';
  readonly number: string;
  readonly reference: string;
  readonly product: string;
  readonly quantity: number;
  readonly currency: string;
  /** What the sandbox shows of it. */
  readonly body: Fields;
  /**
   * What its answer, its replay and its lookup show. A test may change it, for example to deliver.
   */
  show: (order: SoldOrder) => unknown;
}

type Sell = (show: SoldOrder['show']) => Promise<SoldOrder>;

/** How a product answers an order. Without `sell` nothing is sold, whatever the answer says. */
export type Behaviour = (sell: Sell) => Reply | Promise<Reply>;

/** All units. */
export const complete = ({ body }: SoldOrder): Fields => body;

/** Sells, and shows the order like this. */
export const sellsAndShows =
  (show: SoldOrder['show']): Behaviour =>
  async (sell) => {
    const order = await sell(show);
    return { http: 201, body: order.show(order) };
  };

export const delivers = sellsAndShows(complete);

/** Sells, and never shows a unit. */
export const neverDelivers = sellsAndShows(({ body }) => {
  const units = { codes: undefined, esims: undefined };
  return { ...body, ...units, status: 'processing' };
});

/** Sells, and repeats other fields of the order than were asked for. */
export const echoes = (fields: Fields): Behaviour =>
  sellsAndShows(({ body }) => ({ ...body, ...fields }));

/** Sells nothing, and answers this. */
export const answersWith =
  (answer: Reply): Behaviour =>
  () =>
    answer;

export const fails = answersWith(refusal(500, 'internal'));
export const refuses = (http: number, code: string): Behaviour => answersWith(refusal(http, code));
/** A success that says nothing about an order. */
export const saysNothing = (body: unknown): Behaviour => answersWith({ http: 200, body });

/** Takes this long before it does the same as the other behaviour. */
export const after =
  (ms: number, then: Behaviour): Behaviour =>
  async (sell) => {
    await delay(ms);
    return then(sell);
  };

/** A call as the server saw it. */
export interface ApiCall {
  readonly atMs: number;
  readonly kind: 'order' | 'lookup' | 'products' | 'other';
  /** Null where the call names none. */
  readonly reference: string | null;
  readonly product: string | null;
  /** The status of the answer; null while there is none. */
  http: number | null;
}

/**
 * The rate of these calls as a share of the highest that the limit allows: the time that so many
 * calls need at least, by the time that they took.
 */
export function shareOfCeiling(calls: readonly ApiCall[], limit: number, windowMs: number): number {
  const leastMs = Math.floor((calls.length - 1) / limit) * windowMs;
  return leastMs / ((calls.at(-1)?.atMs ?? 0) - (calls[0]?.atMs ?? 0));
}

interface Product {
  /** The price of one, in each currency that it is sold in. Default: 5 in USD and in EUR. */
  readonly prices?: Readonly<Record<string, number>>;
  /** How many can be sold. Default: any number. */
  readonly stock?: number;
  /** Default: it delivers. */
  readonly behaviour?: Behaviour;
}

export interface FakeApiOptions {
  /** Variants, by their id. */
  readonly variants?: Readonly<Record<string, Product>>;
  /** Plans, by their id. */
  readonly plans?: Readonly<Record<string, Product>>;
  /** Money in each balance. Default: a million. */
  readonly balances?: Readonly<Record<string, number>>;
  /** As Spec 8 says, unless a test needs a shorter window. */
  readonly limits?: {
    readonly windowMs: number;
    readonly requests: number;
    readonly orders: number;
  };
}

/**
 * What the API as a whole does: `open` works; `disabled` is its 503 `api_disabled`; `page_503` is a
 * proxy's page; `silent` accepts connections and requests, and never answers.
 */
type Condition = 'open' | 'disabled' | 'page_503' | 'silent';

export type LookupAnswer = (order: SoldOrder | undefined, key: string) => Reply | Promise<Reply>;

/** The found order, or the error body of Spec 7. */
export const answersLookups: LookupAnswer = (order) =>
  order === undefined ? refusal(404, 'not_found') : { http: 200, body: order.show(order) };

export const defaultKey = 'sandbox-key-main';
const account = 'acme';

/** What the sandbox says before the behaviour of a product, or of the lookups, is asked. */
class Refused extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`refused with ${answer.http}`);
    this.answer = answer;
  }
}

interface Request {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly key: string;
  readonly text: string;
}

/**
 * The sandbox behind a server that can spoil its answers: each product can be sick in its own way,
 * and the whole API can be down in several. Keys, limits, balances, stock and references are the
 * sandbox's. It ends with the test.
 */
export class FakeApi {
  /** Every call, in the order of arrival. */
  readonly calls: ApiCall[] = [];
  /** Everything that was sold. */
  readonly orders: SoldOrder[] = [];
  condition: Condition = 'open';
  lookups: LookupAnswer = answersLookups;
  /** What `GET /products` answers; null: the list of all variants. */
  catalogue: Answer | null = null;
  /**
   * A gateway before it repeats each order and answers what the second copy got. The API checks
   * balance and stock before the reference, so the copy is refused as a new order would be.
   */
  repeatsOrders = false;
  /** How far its clock is ahead of this machine's, in ms, as the `Date` of its answers shows. */
  clockAheadMs = 0;
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #sandbox: Sandbox;
  readonly #server: Server;
  #port = 0;
  readonly #answered = new EventEmitter();

  private constructor(sandbox: Sandbox, products: Readonly<Record<string, Product>>) {
    this.#sandbox = sandbox;
    for (const [id, { behaviour }] of Object.entries(products)) this.behave(id, behaviour);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async open(options: FakeApiOptions = {}): Promise<FakeApi> {
    const folder = mkdtempSync(join(tmpdir(), 'order-sync-api-'));
    const sandbox = await openSandbox(folder, options);
    const api = new FakeApi(sandbox, { ...options.variants, ...options.plans });
    onTestFinished(async () => {
      await api.close();
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    });
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

  /** From now on the product answers like this. Default: it delivers. */
  behave(product: string, behaviour: Behaviour = delivers): void {
    this.#behaviours.set(product, behaviour);
  }

  async deposit(currency: string, amount: number): Promise<void> {
    const add = { [currency]: String(amount) };
    await this.#sandbox.operate((operator) => operator.accountEvent(account, { add }));
  }

  count(matches: (call: ApiCall) => boolean): number {
    return this.calls.filter(matches).length;
  }

  /** Order calls for this product. */
  ordersOf(product: string): readonly ApiCall[] {
    return this.calls.filter((call) => call.kind === 'order' && call.product === product);
  }

  /** How many orders of this product were sold. */
  sold(product: string): number {
    return this.orders.filter((order) => order.product === product).length;
  }

  /** How many calls were more than a limit allows. */
  get limited(): number {
    return this.count(({ http }) => http === 429);
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
    const text = await textOf(request).catch(() => null);
    if (text === null) return;
    const { method = '', url: path = '/', headers } = request;
    const asked = { method, path, key: headers.authorization ?? '', text };
    const call = callOf(asked, atMs);
    this.calls.push(call);
    const reply = await this.#reply(asked, call).catch((error: unknown) => {
      if (error instanceof Refused) return error.answer;
      response.destroy();
      return 'silence' as const;
    });
    if (reply !== 'silence') {
      call.http = reply.http;
      send(response, reply, new Date(Date.now() + this.clockAheadMs));
    }
    this.#answered.emit('call');
  }

  async #reply(asked: Request, call: ApiCall): Promise<Reply> {
    if (this.condition === 'silent') return 'silence';
    if (this.condition === 'page_503') return page(503);
    if (this.condition === 'disabled') return refusal(503, 'api_disabled');
    if (call.kind === 'order') {
      const reply = await this.#order(asked, call);
      return this.repeatsOrders ? this.#copyOf(asked, reply) : reply;
    }
    const answer = await this.#sandboxOn(asked);
    if (call.kind === 'products') return answer.http === 200 ? (this.catalogue ?? answer) : answer;
    const isLookup = call.kind === 'lookup' && [200, 404].includes(answer.http);
    return isLookup ? this.lookups(this.#found(answer), call.reference ?? '') : answer;
  }

  #found({ body }: Answer): SoldOrder | undefined {
    const { reference } = parsed(body);
    return this.orders.find((order) => order.reference === reference);
  }

  async #order(asked: Request, call: ApiCall): Promise<Reply> {
    const known = this.orders.find(({ reference }) => reference === call.reference);
    if (known !== undefined) {
      const answer = await this.#sandboxOn(asked);
      return answer.http === 200 ? { http: 200, body: known.show(known) } : answer;
    }
    let isAdmitted = false;
    const sell: Sell = async (show) => {
      isAdmitted = true;
      const answer = await this.#sandboxOn(asked);
      if (answer.http !== 201) throw new Refused(answer);
      const order = soldOrder(parsed(answer.body), show);
      this.orders.push(order);
      return order;
    };
    const reply = await (this.#behaviours.get(call.product ?? '') ?? delivers)(sell);
    // Its key and its limits are checked by the sandbox, which refuses the empty order.
    const admission = isAdmitted ? null : await this.#sandboxOn({ ...asked, text: '{}' });
    return admission === null || admission.http === 422 ? reply : admission;
  }

  async #copyOf(asked: Request, reply: Reply): Promise<Reply> {
    if (reply === 'silence' || reply.http >= 300) return reply;
    const body = parsed(asked.text);
    const text = JSON.stringify({ ...body, reference: `${String(body['reference'])}-copy` });
    const answer = await this.#sandboxOn({ ...asked, text });
    if (answer.http < 300) throw new Error('the copy of an order was sold');
    return answer;
  }

  async #sandboxOn({ method, path, key, text }: Request): Promise<Answer> {
    const response = await fetch(this.#sandbox.url + path, {
      method,
      headers: { authorization: key, 'content-type': 'application/json' },
      body: method === 'POST' ? text : null,
    });
    const retryAfter = response.headers.get('retry-after');
    return {
      http: response.status,
      body: await response.text(),
      headers: retryAfter === null ? {} : { 'retry-after': retryAfter },
    };
  }
}

async function openSandbox(folder: string, options: FakeApiOptions): Promise<Sandbox> {
  const { variants = { card: {} }, plans = {} } = options;
  const { windowMs = 60_000, requests = 60, orders = 20 } = options.limits ?? {};
  const catalogue = join(folder, 'catalogue.json');
  const cards = sold(variants, (variant, stock) => ({ variant, stock, max_quantity: 1_000_000 }));
  const sims = sold(plans, (plan) => ({ plan, validity_days: 30 }));
  const brand = { brand: 'Brand', category: 'gaming', variants: cards };
  const place = { destination: 'fr', name: 'France', countries: ['FR'], plans: sims };
  const groups = {
    gift_cards: cards.length === 0 ? [] : [brand],
    destinations: sims.length === 0 ? [] : [place],
  };
  writeFileSync(catalogue, JSON.stringify(groups));
  const balances = texts(options.balances ?? { USD: 1_000_000, EUR: 1_000_000 });
  return await createSandbox({
    database: join(folder, 'sandbox.db'),
    config: {
      catalogue,
      durability: 'relaxed',
      accounts: [{ id: account, balances, keys: [{ name: 'main', value: defaultKey }] }],
      limits: { window_ms: windowMs, requests, orders },
    },
  });
}

const texts = (amounts: Readonly<Record<string, number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, String(amount)]));

const sold = (
  products: Readonly<Record<string, Product>>,
  fieldsOf: (id: string, stock: number | undefined) => object,
): readonly object[] =>
  Object.entries(products).map(([id, { prices = { USD: 5, EUR: 5 }, stock }]) => ({
    name: id,
    prices: texts(prices),
    ...fieldsOf(id, stock),
  }));

function soldOrder(body: Fields, show: SoldOrder['show']): SoldOrder {
  const isCard = 'variant' in body;
  return {
    family: isCard ? 'gift_card' : 'esim',
    number: String(body['number']),
    reference: String(body['reference']),
    product: String(isCard ? body['variant'] : body['plan']),
    quantity: Number(body['quantity']),
    currency: String(body['currency']),
    body,
    show,
  };
}

function parsed(text: unknown): Fields {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function kindOf(method: string, path: string): ApiCall['kind'] {
  if (method === 'POST' && /^(\/esim)?\/orders$/.test(path)) return 'order';
  if (method === 'GET' && /orders\/[^/]+$/.test(path)) return 'lookup';
  return method === 'GET' && path === '/products' ? 'products' : 'other';
}

function callOf({ method, path: url, text }: Request, atMs: number): ApiCall {
  const path = new URL(url, 'http://localhost').pathname;
  const kind = kindOf(method, path);
  const body = parsed(text);
  const textIn = (name: string): string | null =>
    typeof body[name] === 'string' ? body[name] : null;
  const inPath = decodeURIComponent(path.split('/').at(-1) ?? '');
  const reference = kind === 'lookup' ? inPath : textIn('reference');
  return { atMs, kind, reference, product: textIn('variant') ?? textIn('plan'), http: null };
}

function send(response: ServerResponse, { http, body, headers }: Answer, now: Date): void {
  if (response.destroyed) return;
  const date = now.toUTCString();
  response.writeHead(http, { 'content-type': 'application/json', date, ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
