import type { Clock } from '../core/clock.ts';
import type { Family, Operation } from '../core/order/operation.ts';
import { familyOf } from '../core/order/operation.ts';
import type { Expectation, Purchase, ReferencedPurchase } from '../core/order/purchase.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { withoutAnswer, type LookupOutcome, type Outcome } from '../core/decision/outcome.ts';
import {
  readDestination,
  readPlan,
  readProduct,
  type Destination,
  type Plan,
  type Product,
} from './catalogue/catalogue-item.ts';
import { readCataloguePage, type CataloguePage } from './catalogue/catalogue-page.ts';
import { CatalogueWalk, type PageFetch, type WalkCall } from './catalogue/catalogue-walk.ts';
import { classify, type CallPurpose, type SuccessReader } from './classify.ts';
import { findMismatch } from './connector/compare-order.ts';
import { isJsonList, isJsonObject, type ExactJson } from '../core/exact-json.ts';
import { withoutSecret } from '../core/message-text.ts';
import { findDifference } from './outcome/order-difference.ts';
import { readAnswer } from './connector/read-answer.ts';
import { readLookup } from './connector/read-lookup.ts';
import { renderRequest, type RenderedCall } from './connector/render-request.ts';
import { readWire } from './connector/read-wire.ts';
import { Transport, type HttpPort, type Timeouts } from './transport/transport.ts';
import { fillPath, givenPaths, isPathPart } from './connector/wire-path.ts';
import type { Wire, WireOverrides } from './connector/wire.ts';
import type { CatalogueWire } from './connector/wire-catalogue.ts';

export interface WholesaleClientOptions {
  /** The base address of the API; a path in it goes before every path. `https:`, or `http:` for a test server. */
  readonly baseUrl: string;
  /** What differs from the default mapping (`defaultWire`), or a whole mapping. */
  readonly wire?: WireOverrides;
  /** In ms. Default: connect 5 s, response 30 s, body 15 s, total 45 s. */
  readonly timeouts?: Partial<Timeouts>;
  /** For a `Retry-After` that is a date. */
  readonly clock: Pick<Clock, 'wallMs'>;
  /** The version that the API sees in `User-Agent: order-sync/<version>`. */
  readonly version?: string;
  /** A certificate authority to trust instead of the system's, as PEM. */
  readonly ca?: string;
  /** The network to use in place of real connections; the base address then only names the upstream. */
  readonly network?: HttpPort;
}

/** An API key for one call. It is sent in the `Authorization` header and appears nowhere else. */
interface Keyed {
  readonly keyValue: string;
  /** Aborted when the worker stops: the call then ends as `shutdown`, or as `unreachable` if nothing had left. */
  readonly signal?: AbortSignal | undefined;
}

export interface Submission extends RenderedCall, Keyed {
  readonly operation: Operation;
  readonly expect: Expectation;
}

export interface LookupCall extends Keyed {
  readonly family: Family;
  /** The order's reference or its number (Spec 7, `not_found`: "no order with that number or reference"). */
  readonly key: string;
  /** The reference that the found order must have, if it shows one; null when it is not known. */
  readonly expectReference: string | null;
  /** What was ordered, to compare the found order with; absent or null where that is not known. */
  readonly ordered?: Purchase | null;
}

export interface EsimLookupCall extends Keyed {
  readonly iccid: string;
}

const defaultTimeouts: Timeouts = { connectMs: 5000, responseMs: 30_000, bodyMs: 15_000, totalMs: 45_000 };

const get = (path: string): RenderedCall => ({ method: 'GET', path, body: null });

function impossibleLookup(message: string): LookupOutcome {
  return { kind: 'failed', outcome: withoutAnswer('local_defect', false, message) };
}

function parseBase(baseUrl: string): { origin: string; basePath: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new OrderSyncError(
      'CONFIG_INVALID',
      `The base address "${url?.origin ?? baseUrl.replace(/\/\/.*@/, '//')}" is not usable`,
      {
        hint: 'It must be an http(s) address without user, query and fragment, such as https://api.example.com/v1.',
      },
    );
  }
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') };
}

/**
 * The Wholesale Ordering API, as calls that each make one HTTP request and come to an end that is always classified:
 * nothing here rejects because of what the network or the server does, and nothing is repeated by itself.
 *
 * ```ts
 * const client = createWholesaleClient({ baseUrl: 'https://api.example.com', clock: { wallMs: Date.now } });
 * const facts = { operation: 'gift_card_order', reference: 'os-1', variant: 'steam-10', quantity: 1, currency: 'USD',
 *   plan: null, iccid: null, days: null } as const;
 * const outcome = await client.submit({ ...client.render(facts), operation: facts.operation, keyValue, expect: facts });
 * if (outcome.row === 'accepted') console.log(outcome.answer?.units);
 * await client.close();
 * ```
 */
export class WholesaleClient {
  readonly #wire: Wire;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #transport: HttpPort;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #userAgent: string;

  constructor(options: WholesaleClientOptions) {
    const { origin, basePath } = parseBase(options.baseUrl);
    this.#origin = origin;
    this.#basePath = basePath;
    this.#wire = readWire(options.wire);
    this.#clock = options.clock;
    this.#userAgent = `order-sync/${options.version ?? '0'}`;
    const timeouts = { ...defaultTimeouts, ...options.timeouts };
    this.#transport =
      options.network ?? new Transport({ origin, timeouts, ...(options.ca === undefined ? {} : { ca: options.ca }) });
  }

  /** Writes the request of an entry. It is stored with its reference and sent as it stands, also on a retry. */
  render(purchase: ReferencedPurchase): RenderedCall {
    return renderRequest(purchase, this.#wire);
  }

  /**
   * Places an order, buys a top-up or cancels an eSIM: one request that may spend or refund money. The connection is
   * gone when the outcome is there. `accepted` means a complete JSON object without an `error` whose repeated fields
   * match (Spec 7); it is refunded, complete or still to be delivered, as its `answer` says.
   */
  async submit(submission: Submission): Promise<Outcome> {
    const { operation, expect } = submission;
    const read: SuccessReader = (body) => {
      const answer = readAnswer(body, familyOf(operation), this.#wire.answer);
      const mismatch = findMismatch(body, answer, operation, expect, this.#wire);
      return mismatch === null ? { kind: 'read', answer } : { kind: 'mismatch', answer, message: mismatch };
    };
    return this.#call('spend', submission, submission, { kind: 'submit', operation }, read);
  }

  /** Whether orders of this family can be looked up at all. */
  canLookUp(family: Family): boolean {
    return this.#wire.lookup[family] !== 'off';
  }

  /** The path of such a lookup as the mapping writes it; null where there is none. */
  lookupPath(family: Family): string | null {
    const lookup = this.#wire.lookup[family];
    return lookup === 'off' ? null : lookup.path;
  }

  /** Whether an eSIM can be read by its ICCID; the specification names no such call. */
  canLookUpEsim(): boolean {
    return this.#wire.lookup.get_sim !== 'off';
  }

  /**
   * Looks up an order of one family. `absent` is the API itself saying `not_found` with status 404 and its whole error
   * body; everything else that is not the order is `failed`. Only while `canLookUp(family)`.
   */
  async lookUp(call: LookupCall): Promise<LookupOutcome> {
    const lookup = this.#wire.lookup[call.family];
    if (lookup === 'off') return impossibleLookup('the wire mapping has no such lookup');
    // An order number comes from outside: what it looks like is no mistake of ours.
    if (!isPathPart(call.key)) return impossibleLookup('an order cannot be looked up by this key');
    const path = fillPath(lookup.path, { key: call.key });
    let differs: string | null = null;
    const found = await this.#lookUp(path, call, call.family, (body) => {
      const reading = readLookup(body, call.family, call.expectReference, this.#wire.answer);
      if (reading.kind === 'read' && call.ordered) differs = findDifference(reading.order, call.ordered, this.#wire);
      return reading;
    });
    return found.kind === 'found' && differs !== null
      ? { ...found, differs: withoutSecret(differs, call.keyValue) }
      : found;
  }

  /** Reads one eSIM; its state stands in `answer.status` and in its unit. Only while `canLookUpEsim()`. */
  async lookUpEsim(call: EsimLookupCall): Promise<LookupOutcome> {
    const lookup = this.#wire.lookup.get_sim;
    if (lookup === 'off') return impossibleLookup('the wire mapping has no such lookup');
    const path = fillPath(lookup.path, { iccid: call.iccid });
    return this.#lookUp(path, call, 'esim', (body) => {
      const answer = readAnswer(body, 'esim', this.#wire.answer);
      if (answer.units.some((unit) => unit.iccid === call.iccid)) return { kind: 'read', answer };
      return { kind: 'unreadable', message: 'the answer does not show the eSIM that was asked for' };
    });
  }

  /** Asks for the first page of `/products`: does the API answer, and with this key? Spends no money. */
  async probe(call: Keyed): Promise<Outcome> {
    const request = this.#productsRequest(givenPaths.products);
    return this.#call('read', request, call, { kind: 'read', family: 'gift_card' }, (catalogue) =>
      // Whoever stands between us and the API may answer with any list; a catalogue is one of products.
      isJsonList(catalogue) && !catalogue.every(isJsonObject)
        ? { kind: 'unreadable', message: 'a list of something else than products' }
        : { kind: 'read', answer: null },
    );
  }

  /** The gift card and software catalogue. One `read` of the walk is one HTTP request. */
  products(): CatalogueWalk<Product> {
    return this.#walk(givenPaths.products, 'gift_card', readProduct);
  }

  destinations(): CatalogueWalk<Destination> {
    return this.#walk(this.#wire.catalogue.destinations.path, 'esim', readDestination);
  }

  /** The plans of a destination; an unknown one is a failed step with `not_found` (Spec 4, lookup rule 2). */
  plans(destination: string): CatalogueWalk<Plan> {
    return this.#walk(fillPath(this.#wire.catalogue.plans.path, { destination }), 'esim', readPlan);
  }

  /** The top-up plans of an eSIM of the account (Spec 4). */
  topups(iccid: string): CatalogueWalk<Plan> {
    return this.#walk(fillPath(givenPaths.topups, { iccid }), 'esim', readPlan);
  }

  /** Breaks off what is still being read. Spending calls end by their own signal. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  #productsRequest(path: string): RenderedCall {
    const { method } = this.#wire.catalogue.products;
    return { method, path, body: method === 'GET' ? null : '{}' };
  }

  #walk<T>(
    path: string,
    family: Family,
    readItem: (element: ExactJson, wire: CatalogueWire) => T | null,
  ): CatalogueWalk<T> {
    const wire = this.#wire.catalogue;
    const fetch = async (pagePath: string, call: WalkCall): ReturnType<PageFetch<T>> => {
      const request = family === 'gift_card' ? this.#productsRequest(pagePath) : get(pagePath);
      let page: CataloguePage<T> | null = null;
      const outcome = await this.#call('read', request, call, { kind: 'read', family }, (body) => {
        page = readCataloguePage(body, readItem, wire);
        if (page !== null) return { kind: 'read', answer: null };
        return { kind: 'unreadable', message: 'an answer in which no list can be recognised' };
      });
      return outcome.row === 'accepted' && page !== null ? { kind: 'page', page } : { kind: 'failed', outcome };
    };
    return new CatalogueWalk({ path, paging: wire.paging, origin: this.#origin, basePath: this.#basePath, fetch });
  }

  async #lookUp(path: string, call: Keyed, family: Family, read: SuccessReader): Promise<LookupOutcome> {
    const outcome = await this.#call('read', get(path), call, { kind: 'read', family }, read);
    if (outcome.row === 'accepted' && outcome.answer !== null) return { kind: 'found', answer: outcome.answer };
    // A breach is an answer of another form than Spec 7 shows: on its word nothing is declared absent.
    const absent = outcome.row === 'not_found' && outcome.http === 404 && outcome.breach === null;
    return absent ? { kind: 'absent' } : { kind: 'failed', outcome };
  }

  async #call(
    how: 'spend' | 'read',
    request: RenderedCall,
    call: Keyed,
    purpose: CallPurpose,
    read: SuccessReader,
  ): Promise<Outcome> {
    const { keyValue, signal } = call;
    const { method, path, body } = request;
    const headers: Record<string, string> = {
      authorization: `Bearer ${keyValue}`,
      accept: 'application/json',
      // A compressed answer would have to be unpacked before it could be judged; none is asked for.
      'accept-encoding': 'identity',
      'user-agent': this.#userAgent,
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    };
    const end = await this.#transport[how]({ method, path: `${this.#basePath}${path}`, headers, body, signal });
    const outcome = classify(end, purpose, read, this.#clock.wallMs());
    return {
      ...outcome,
      code: outcome.code === null ? null : withoutSecret(outcome.code, keyValue),
      message: withoutSecret(outcome.message, keyValue),
      breach: outcome.breach === null ? null : withoutSecret(outcome.breach, keyValue),
    };
  }
}

/** Makes a client of the API. Base address and mapping are checked here (CONFIG_INVALID); nothing is sent yet. */
export function createWholesaleClient(options: WholesaleClientOptions): WholesaleClient {
  return new WholesaleClient(options);
}
