import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Json = Record<string, unknown>;
export type Family = 'gift_card' | 'esim';

/** What the name of a product makes the API do. */
export const behaviours = ['ok', 'slow', 'lost', 'rate', 'none', 'bad', 'limit', 'poor'] as const;
export type Behaviour = (typeof behaviours)[number];

export interface Asked {
  readonly product: string;
  readonly quantity: number;
  readonly currency: string;
  readonly reference: string;
}

export interface SoldOrder extends Asked {
  readonly number: number;
  readonly family: Family;
  readonly behaviour: Behaviour;
  readonly readyAtMs: number;
  readonly units: readonly Readonly<Record<string, string>>[];
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Json;
  readonly family: Family;
}

export interface Reply {
  readonly http: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The switches by which one API differs from another of the same specification. */
export interface Switches {
  /** Reads a request; null: it is refused as `invalid_request`. */
  readonly ask: (call: Call) => Asked | null;
  /** An order as it is shown. `whole`: its units are there. */
  readonly show: (order: SoldOrder, whole: boolean, how: 'order' | 'lookup') => unknown;
  /**
   * The answer to a call that reads; null: there is no such call. `find` takes a reference or a
   * number.
   */
  readonly read: (
    call: Call,
    find: (key: string | null) => SoldOrder | null,
  ) => Reply | SoldOrder | null;
  readonly refuse: (http: number, code: string) => unknown;
  readonly soldHttp: (whole: boolean) => number;
  readonly retryAfter: Readonly<Record<string, string>>;
  readonly everySlow: boolean;
  /** A known reference that is sent again: the order, or this refusal. */
  readonly again: readonly [number, string] | null;
  readonly names: Readonly<Record<string, Behaviour>>;
}

const behaviourOf = (product: string, names: Switches['names']): Behaviour =>
  names[product] ?? behaviours.find((name) => product.endsWith(name)) ?? 'bad';

const slowMs = 400;

/** An API of the specification whose payloads a test chooses. It counts what it sold. */
export class ShapeServer {
  readonly orders: SoldOrder[] = [];
  readonly #switches: Switches;
  readonly #limited = new Set<string>();
  readonly #lost = new Set<string>();
  #server = createServer();

  constructor(switches: Switches) {
    this.#switches = switches;
  }

  async open(): Promise<string> {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    const address: string | AddressInfo | null = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const part of request) text += String(part);
    const url = new URL(request.url ?? '/', 'http://api');
    const path = url.pathname.replace(/^\/v1/, '');
    const body: Json = text === '' ? {} : JSON.parse(text);
    const family = path.startsWith('/esim/') ? 'esim' : 'gift_card';
    const call = {
      method: request.method ?? '',
      path,
      query: url.searchParams,
      headers: request.headers,
      body,
      family,
    } as const;
    const reply =
      /^(\/esim)?\/orders$/.test(path) && call.method === 'POST'
        ? this.#order(call)
        : this.#read(call);
    if (reply === 'lost') return void request.socket.destroy();
    response.writeHead(reply.http, { 'content-type': 'application/json', ...reply.headers });
    response.end(JSON.stringify(reply.body));
  }

  #refused(http: number, code: string, headers = {}): Reply {
    return { http, body: this.#switches.refuse(http, code), headers };
  }

  #isWhole({ readyAtMs }: SoldOrder): boolean {
    return performance.now() >= readyAtMs;
  }

  #shown(order: SoldOrder, how: 'order' | 'lookup'): Reply {
    const whole = this.#isWhole(order);
    return {
      http: how === 'order' ? this.#switches.soldHttp(whole) : 200,
      body: this.#switches.show(order, whole, how),
    };
  }

  #order(call: Call): Reply | 'lost' {
    const { ask, names, everySlow, again, retryAfter } = this.#switches;
    const asked = ask(call);
    if (asked === null) return this.#refused(422, 'invalid_request');
    const { reference, product, quantity } = asked;
    const known = this.orders.find((order) => order.reference === reference);
    if (known !== undefined)
      return again === null ? this.#shown(known, 'order') : this.#refused(...again);
    const behaviour = behaviourOf(product, names);
    const isEsim = call.family === 'esim';
    if (behaviour === 'bad') return this.#refused(404, isEsim ? 'invalid_plan' : 'invalid_variant');
    if (quantity > 9) return this.#refused(422, isEsim ? 'invalid_plan' : 'limit_exceeded');
    if (behaviour === 'poor') return this.#refused(402, 'insufficient_balance');
    if (behaviour === 'none')
      return isEsim ? this.#refused(422, 'order_refused') : this.#refused(409, 'out_of_stock');
    if (behaviour === 'rate' && !this.#limited.has(reference)) {
      this.#limited.add(reference);
      return this.#refused(429, 'rate_limited', retryAfter);
    }
    const order = this.#sell(asked, call.family, behaviour, behaviour === 'slow' || everySlow);
    if (behaviour === 'lost' && !this.#lost.has(reference)) {
      this.#lost.add(reference);
      return 'lost';
    }
    return this.#shown(order, 'order');
  }

  #sell(asked: Asked, family: Family, behaviour: Behaviour, isSlow: boolean): SoldOrder {
    const number = 1001 + this.orders.length;
    const units = Array.from({ length: asked.quantity }, (_, index) =>
      unitOf(family, number * 10 + index),
    );
    const readyAtMs = performance.now() + (isSlow ? slowMs : 0);
    const order = { ...asked, number, family, behaviour, readyAtMs, units };
    this.orders.push(order);
    return order;
  }

  #read(call: Call): Reply {
    const find = (key: string | null): SoldOrder | null =>
      this.orders.find(
        (one) =>
          one.family === call.family &&
          [one.reference, String(one.number), `N-${one.number}`].includes(key ?? ''),
      ) ?? null;
    const found = this.#switches.read(call, find);
    if (found === null) return this.#refused(404, 'not_found');
    return 'http' in found ? found : this.#shown(found, 'lookup');
  }
}

function unitOf(family: Family, seed: number): Readonly<Record<string, string>> {
  if (family === 'gift_card')
    return { code: `CARD-${seed}-K7Q${seed % 7}`, pin: String(4000 + (seed % 977)) };
  const [smdp, matching] = ['rsp.example.com', `MTCH-${seed}-XZ`];
  return {
    iccid: `8944${String(seed).padStart(15, '0')}`,
    lpa: `LPA:1$${smdp}$${matching}`,
    smdp,
    matching,
  };
}
