import { CachedAnswers } from '../core/cached-answers.ts';
import type { Clock } from '../core/clock.ts';
import { probeVerdict, type Probe, type ProbeQuestion } from '../core/answers/probe.ts';
import { withoutAnswer, type LookupOutcome, type Outcome } from '../core/answers/outcome.ts';
import {
  type ExactJson,
  isJsonList,
  isJsonObject,
  parseExactJsonBytes,
} from '../core/exact-json.ts';
import { messageText, withoutSecret } from '../core/message-text.ts';
import {
  type Expectation,
  type Family,
  familyOf,
  type Operation,
  type Purchase,
  type ReferencedPurchase,
} from '../core/order/purchase.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import {
  readDestination,
  readPlan,
  readProduct,
  type Destination,
  type ItemReader,
  type Plan,
  type Product,
} from './catalogue/catalogue-item.ts';
import {
  CatalogueWalk,
  readCataloguePage,
  type CataloguePage,
  type PageFetch,
  type WalkCall,
} from './catalogue/catalogue-walk.ts';
import { classify, type CallPurpose, type SuccessReader } from './classify.ts';
import { findDifference, findMismatch, showsGoods } from './connector/compare-order.ts';
import { maskedAnswer, type MaskedPart } from './connector/mask-answer.ts';
import { connectorHash, readWire, type Wire, type WireOverrides } from './connector/wire.ts';
import { foreignReference, isEmptyList, readAnswer, readLookup } from './connector/read-answer.ts';
import { whyUnrecognised } from './connector/recognise-order.ts';
import { answerWireFor } from './connector/wire-answer.ts';
import { renderBody } from './connector/request-body.ts';
import { headersOf, renderRequest, type RenderedCall } from './connector/render-request.ts';
import { fillPath, givenPaths, isPathPart } from './connector/wire-parts.ts';
import { dateOf, type AnswerTimes, type CallEnd } from './transport/call-end.ts';
import { Transport, type HttpPort, type Timeouts } from './transport/transport.ts';

export interface WholesaleClientOptions {
  /**
   * The base address of the API, `https:`, or `http:` for a test server. Its path is the prefix of
   * every path.
   */
  readonly baseUrl: string;
  /** The parts of the mapping that differ from the default one (`order-sync wire` prints it). */
  readonly wire?: WireOverrides;
  /** In ms. Default: connect 5 s, response 30 s, body 15 s, total 45 s. */
  readonly timeouts?: Partial<Timeouts>;
  /** Named in the refusal of what is sold there only. */
  readonly shopUrl?: string | undefined;
  /** To read a `Retry-After` that is a date. */
  readonly clock: Pick<Clock, 'wallMs'>;
  /** The version that the API sees in `User-Agent: order-sync/<version>`. */
  readonly version?: string;
  /** A certificate authority to trust instead of the system's, as PEM. */
  readonly ca?: string | undefined;
  /** A network instead of real connections, for tests. */
  readonly network?: HttpPort;
  /** Who is told the time of each answer. */
  readonly answerTimes?: AnswerTimes;
}

/** The API key of one call. It is sent in the `Authorization` header, and appears in no outcome. */
interface Keyed {
  readonly keyValue: string;
  /** When it aborts, the call ends as `shutdown`, or as `unreachable` if nothing was sent yet. */
  readonly signal?: AbortSignal | undefined;
}

interface OrderCall extends RenderedCall, Keyed {
  readonly operation: Operation;
  readonly expect: Expectation;
}

interface LookupCall extends Keyed {
  readonly family: Family;
  /**
   * The reference or the number of the order (Spec 7, `not_found`: "no order with that number or
   * reference").
   */
  readonly key: string;
  /** The reference that the found order must have, if it shows one; null when it is unknown. */
  readonly expectReference: string | null;
  /**
   * Given for an order that was accepted: it is read for its units, by the call that the mapping
   * has for that.
   */
  readonly accepted?: { readonly orderNumber: string | null } | undefined;
  /** The purchase to compare the found order with; absent or null: it is not compared. */
  readonly ordered?: Purchase | null;
}

/** What is known of an answer when it is kept. `body` and `order` are set when it is read. */
type KeptPart = Omit<MaskedPart, 'order'> & { body?: ExactJson; order?: ExactJson };

type ProbeCall = Keyed & { readonly question: ProbeQuestion };

const defaultTimeouts: Timeouts = {
  connectMs: 5000,
  responseMs: 30_000,
  bodyMs: 15_000,
  totalMs: 45_000,
};

const noLookup = 'the wire mapping has no lookup by this value';
const get = (path: string): RenderedCall => ({ method: 'GET', path, body: null });

/** The values of a request that an answer may repeat, and that are no codes. */
function knownOf(
  ordered: (Pick<Expectation, 'variant' | 'plan'> & { readonly reference?: string | null }) | null,
) {
  return [ordered?.variant, ordered?.plan, ordered?.reference].filter(
    (value) => typeof value === 'string',
  );
}

/** Whether the head of a success came, and does not announce something else than JSON. */
function hasJsonHead({ http, headers }: CallEnd): boolean {
  const type = headers['content-type'];
  return (
    http !== null && http >= 200 && http < 300 && (type === undefined || /\bjson\b/i.test(type))
  );
}

function parseBase(baseUrl: string): { origin: string; basePath: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  ) {
    const shown = url?.origin ?? baseUrl.replace(/^([^/]*)\/\/.*@/, '$1//');
    throw new OrderSyncError('CONFIG_INVALID', `The base address "${shown}" is not usable`, {
      hint: 'It must be an http(s) address without user, query and fragment, such as https://api.example.com/v1.',
    });
  }
  return { origin: url.origin, basePath: url.pathname.replace(/(?<!\/)\/+$/, '') };
}

/**
 * A client of the Wholesale Ordering API. Each call makes one HTTP request and resolves to an
 * outcome: it never rejects because of the network or the server, and it never retries.
 *
 * ```ts
 * const client = createWholesaleClient({ baseUrl: 'https://api.example.com', clock: { wallMs:
 * Date.now } }); const purchase = { operation: 'gift_card_order', reference: 'os-1', variant:
 * 'steam-10', quantity: 1,
 *   currency: 'USD', plan: null, iccid: null, days: null } as const;
 * const request = client.render(purchase); // store it with its reference before it is sent
 * const { operation } = purchase;
 * const outcome = await client.submit({ ...request, operation, keyValue, expect: purchase });
 * if (outcome.row === 'accepted') console.log(outcome.answer?.units);
 * await client.close();
 * ```
 */
export class WholesaleClient {
  #wire: Wire;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #transport: HttpPort;
  readonly #answerTimes: AnswerTimes | undefined;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #userAgent: string;
  readonly #shopUrl: string | undefined;
  readonly #cached = new CachedAnswers();
  #probes = 0;

  constructor(options: WholesaleClientOptions) {
    const { origin, basePath } = parseBase(options.baseUrl);
    this.#origin = origin;
    this.#basePath = basePath;
    this.#wire = readWire(options.wire);
    this.#clock = options.clock;
    this.#shopUrl = options.shopUrl;
    this.#userAgent = `order-sync/${options.version ?? '0'}`;
    const timeouts = { ...defaultTimeouts, ...options.timeouts };
    this.#transport = options.network ?? new Transport({ origin, timeouts, ca: options.ca });
    this.#answerTimes = options.answerTimes;
  }

  /** Another mapping, from the next call on. */
  useWire(wire: Wire): void {
    this.#wire = wire;
  }

  /**
   * Renders the request of a purchase. A retry sends the same bytes: store them with the reference.
   */
  render(purchase: ReferencedPurchase): RenderedCall {
    return renderRequest(purchase, this.#wire);
  }

  /**
   * Places an order, buys a top-up or cancels an eSIM: one request that may spend or refund money.
   * Its connection is closed before this resolves. `accepted` is a complete JSON object without
   * `error` (Spec 7) in which something of an order is recognised, and that repeats no field of
   * another order. Whether units are delivered, missing or refunded, its `answer` says.
   */
  async submit(submission: OrderCall): Promise<Outcome> {
    const { operation, expect } = submission;
    const [family, wire] = [familyOf(operation), answerWireFor(this.#wire.answer, operation)];
    const part: KeptPart = { family, wire, known: knownOf(expect) };
    const read: SuccessReader = (body) => {
      part.body = body;
      const answer = readAnswer(body, family, wire);
      const why = whyUnrecognised(body, answer, operation, this.#wire.answer);
      if (why !== null) return { kind: 'unreadable', message: why };
      const message = findMismatch(body, answer, operation, expect, this.#wire);
      if (message === null) return { kind: 'read', answer };
      // An API may repeat ours beside a reference of its own.
      const reference = foreignReference(body, family, expect.reference, wire);
      return { kind: 'mismatch', answer: { ...answer, reference }, message };
    };
    const { end } = await this.#send('spend', submission, submission);
    return this.#keptOutcome(end, submission, { kind: 'submit', operation }, { read, part });
  }

  /** Whether the mapping has a lookup for orders of this family. */
  canLookUp(family: Family): boolean {
    return this.lookupPath(family) !== null;
  }

  /**
   * Identifies that lookup: its path template, and its method and body where it posts; null where
   * there is none.
   */
  lookupPath(family: Family): string | null {
    const lookup = this.#wire.lookup[family];
    if (lookup === 'off' || lookup.path === 'off') return null;
    return lookup.body === undefined
      ? lookup.path
      : `${lookup.method} ${lookup.path} ${JSON.stringify(lookup.body)}`;
  }

  /**
   * Whether the mapping has a call of its own that reads an accepted order with this number for its
   * units.
   */
  canReadAccepted(family: Family, orderNumber: string | null): boolean {
    const lookup = this.#wire.lookup[family];
    if (lookup === 'off' || lookup.accepted === 'off') return false;
    return orderNumber !== null || !JSON.stringify(lookup.accepted).includes('{number}');
  }

  /**
   * Looks up an order of one family. `absent` only when the API itself answers 404 with `not_found`
   * and its complete error body, or as `wholesale.wire.lookup.absent` says; everything else that is not the order is `failed`. Only while
   * `canLookUp(family)`.
   */
  async lookUp(call: LookupCall): Promise<LookupOutcome> {
    const request = this.#lookupRequest(call);
    if (typeof request === 'string')
      return { kind: 'failed', outcome: withoutAnswer('local_defect', false, request) };
    let differs: string | null = null;
    let repeatsGoods = false;
    const wire = answerWireFor(this.#wire.answer, call.ordered?.operation ?? null);
    const part: KeptPart = {
      family: call.family,
      wire,
      known: [call.key, ...knownOf(call.ordered ?? null)],
    };
    const result = await this.#lookUp(request, call, part, (body) => {
      const reading = readLookup(body, call.family, call.expectReference, wire);
      part.body = body;
      if (reading.kind === 'read') part.order = reading.order;
      if (reading.kind === 'read' && call.ordered) {
        differs = findDifference(reading.order, call.ordered, this.#wire);
        repeatsGoods = differs === null && showsGoods(reading.order, call.ordered, this.#wire);
      }
      return reading;
    });
    if (result.kind !== 'found') return result;
    const told = differs === null ? {} : { differs: withoutSecret(differs, call.keyValue) };
    return { ...result, ...told, ...(repeatsGoods ? { repeatsGoods } : {}) };
  }

  /**
   * Asks one small question, to find out whether the API answers and accepts this key. One HTTP
   * request, which spends no money; none when the mapping has no lookup and a lookup is asked for.
   */
  async probe(call: ProbeCall): Promise<Probe> {
    return call.question === 'lookup' ? this.#probeLookup(call) : this.#probeProducts(call);
  }

  /** Identifies the mapping: 16 hex characters, the same for the same resolved mapping. */
  connectorHash(): string {
    return connectorHash(this.#wire);
  }

  /** Gift cards and software. Each `read` of the walk is one HTTP request. */
  products(): CatalogueWalk<Product> {
    return this.#walk(givenPaths.products, 'gift_card', readProduct);
  }

  destinations(): CatalogueWalk<Destination> {
    return this.#walk(this.#wire.catalogue.destinations.path, 'esim', readDestination);
  }

  /**
   * The plans of a destination; an unknown destination is a failed step with `not_found` (Spec 4,
   * lookup rule 2).
   */
  plans(destination: string): CatalogueWalk<Plan> {
    return this.#walk(fillPath(this.#wire.catalogue.plans.path, { destination }), 'esim', readPlan);
  }

  /** The top-up plans of an eSIM (Spec 5). */
  topups(iccid: string): CatalogueWalk<Plan> {
    return this.#walk(fillPath(givenPaths.topups, { iccid }), 'esim', readPlan);
  }

  /** Aborts the reads in flight. Spending calls end by their own signal. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  /**
   * Looks up a reference that nobody ever sold: no reference of an order has two hyphens after its
   * prefix.
   */
  async #probeLookup(call: ProbeCall): Promise<Probe> {
    const family: Family = this.canLookUp('gift_card') ? 'gift_card' : 'esim';
    this.#probes += 1;
    const key = `probe-${this.#clock.wallMs().toString(36)}-${this.#probes.toString(36)}`;
    const request = this.#lookupRequest({ family, key });
    if (typeof request === 'string')
      return { outcome: withoutAnswer('local_defect', false, request), verdict: 'cannot_tell' };
    return this.#probe(request, call, family, (body) =>
      readLookup(body, family, key, this.#wire.answer),
    );
  }

  #lookupRequest({
    family,
    key,
    accepted,
  }: Pick<LookupCall, 'family' | 'key' | 'accepted'>): RenderedCall | string {
    const lookup = this.#wire.lookup[family];
    const number = accepted?.orderNumber ?? null;
    const isOwn = accepted !== undefined && this.canReadAccepted(family, number);
    if (lookup === 'off') return noLookup;
    const { method, path, body } = isOwn && lookup.accepted !== 'off' ? lookup.accepted : lookup;
    if (path === 'off') return noLookup;
    // An order number comes from the API: a strange one must not throw.
    if (!isPathPart(key) || (number !== null && !isPathPart(number)))
      return 'this value cannot be part of a path';
    const values = { key, reference: key, ...(number === null ? {} : { number }) };
    return {
      method,
      path: fillPath(path, values),
      body: body === undefined ? null : renderBody(body, values),
    };
  }

  async #probeProducts(call: ProbeCall): Promise<Probe> {
    let currencies: readonly string[] | undefined;
    // A proxy may answer with any JSON: a catalogue is a list of objects.
    const unreadable = {
      kind: 'unreadable',
      message: 'an answer without a list of products',
    } as const;
    const probe = await this.#probe(
      this.#productsRequest(givenPaths.products),
      call,
      'gift_card',
      (catalogue) => {
        if (isJsonList(catalogue) && !catalogue.every(isJsonObject)) return unreadable;
        const page = readCataloguePage(catalogue, readProduct, this.#wire.catalogue);
        const items = page?.items ?? [];
        if (items.length > 0)
          currencies = [...new Set(items.flatMap(({ item }) => item.currencies))];
        return page === null ? unreadable : { kind: 'read', answer: null };
      },
    );
    return { ...probe, currencies };
  }

  async #probe(
    request: RenderedCall,
    call: ProbeCall,
    family: Family,
    read: SuccessReader,
  ): Promise<Probe> {
    const { end } = await this.#send('read', request, call);
    const outcome = this.#outcomeOf(end, call, { kind: 'read', family }, read);
    return { outcome, verdict: probeVerdict(call.question, outcome, hasJsonHead(end)) };
  }

  #productsRequest(path: string): RenderedCall {
    const { method } = this.#wire.catalogue.products;
    return { method, path, body: method === 'GET' ? null : '{}' };
  }

  #walk<T>(path: string, family: Family, readItem: ItemReader<T>): CatalogueWalk<T> {
    const wire = this.#wire.catalogue;
    const fetch = async (pagePath: string, call: WalkCall): ReturnType<PageFetch<T>> => {
      const request = family === 'gift_card' ? this.#productsRequest(pagePath) : get(pagePath);
      let page: CataloguePage<T> | null = null;
      const { end } = await this.#send('read', request, call);
      const outcome = this.#outcomeOf(end, call, { kind: 'read', family }, (body) => {
        page = readCataloguePage(body, readItem, wire);
        if (page !== null) return { kind: 'read', answer: null };
        return { kind: 'unreadable', message: 'an answer without a list' };
      });
      return outcome.row === 'accepted' && page !== null
        ? { kind: 'page', page }
        : { kind: 'failed', outcome };
    };
    return new CatalogueWalk({
      path,
      paging: wire.paging,
      origin: this.#origin,
      basePath: this.#basePath,
      fetch,
    });
  }

  async #lookUp(
    request: RenderedCall,
    call: Keyed,
    part: KeptPart,
    read: SuccessReader,
  ): Promise<LookupOutcome> {
    const { end, whyCached } = await this.#send('read', request, call);
    const { lookup, answer } = this.#wire;
    let isEmpty = false;
    const readOrNothing: SuccessReader = (body) => {
      isEmpty = lookup.absent === 'empty_list' && isEmptyList(body, answer);
      return read(body);
    };
    const outcome = this.#keptOutcome(
      end,
      call,
      { kind: 'read', family: part.family },
      { read: readOrNothing, part },
    );
    const { kept } = outcome;
    if (whyCached !== null && end.http !== null && (end.http < 300 || end.http === 404)) {
      const message = withoutSecret(
        `a cache answered, not the API (${messageText(whyCached, 100)})`,
        call.keyValue,
      );
      return {
        kind: 'failed',
        outcome: { ...outcome, row: 'foreign_refusal', code: null, answer: null, message },
      };
    }
    if (outcome.row === 'accepted' && outcome.answer !== null)
      return { kind: 'found', answer: outcome.answer, kept };
    // A breach is an answer of another form than Spec 7 shows: it does not prove that the order is
    // absent.
    const absent = outcome.row === 'not_found' && outcome.http === 404 && outcome.breach === null;
    const isNone = isEmpty && outcome.row === 'unreadable_success' && outcome.http === 200;
    return absent || isNone ? { kind: 'absent', kept } : { kind: 'failed', outcome };
  }

  async #send(
    how: 'spend' | 'read',
    request: RenderedCall,
    { keyValue, signal }: Keyed,
  ): Promise<{ end: CallEnd; whyCached: string | null }> {
    const { method, path, body } = request;
    const headers: Record<string, string> = {
      'user-agent': this.#userAgent,
      accept: 'application/json',
      ...(how === 'spend' ? request.headers : headersOf(this.#wire, null)),
      authorization: `Bearer ${keyValue}`,
      // A compressed answer is read all the same, but it costs time.
      'accept-encoding': 'identity',
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(how === 'read' ? { 'cache-control': 'no-cache', pragma: 'no-cache' } : {}),
    };
    const times = this.#answerTimes;
    const sentMs = times?.steadyMs() ?? 0;
    const end = await this.#transport[how]({
      method,
      path: `${this.#basePath}${path}`,
      headers,
      body,
      signal,
    });
    const receivedMs = times?.steadyMs() ?? 0;
    if (end.kind === 'answer') times?.onAnswer({ sentMs, receivedMs, dateMs: dateOf(end.headers) });
    return { end, whyCached: this.#cached.whyCached(end.headers, { sentMs, receivedMs }) };
  }

  /** The outcome of a call whose answer is kept, masked: no code leaves this module in it. */
  #keptOutcome(
    end: CallEnd,
    keyed: Keyed,
    purpose: CallPurpose,
    { read, part }: { read: SuccessReader; part: KeptPart },
  ): Outcome {
    const outcome = this.#outcomeOf(end, keyed, purpose, read);
    const body = part.body ?? (end.kind === 'answer' ? parseExactJsonBytes(end.body) : undefined);
    const kept =
      body === undefined ? null : maskedAnswer(body, { ...part, order: part.order ?? body });
    return { ...outcome, kept: kept === null ? null : withoutSecret(kept, keyed.keyValue) };
  }

  #outcomeOf(
    end: CallEnd,
    { keyValue }: Keyed,
    purpose: CallPurpose,
    read: SuccessReader,
  ): Outcome {
    const outcome = classify(end, purpose, read, this.#clock.wallMs());
    const place =
      outcome.row === 'not_api_sellable' && this.#shopUrl !== undefined
        ? ` (${this.#shopUrl})`
        : '';
    return {
      ...outcome,
      code: outcome.code === null ? null : withoutSecret(outcome.code, keyValue),
      message: withoutSecret(outcome.message + place, keyValue),
      breach: outcome.breach === null ? null : withoutSecret(outcome.breach, keyValue),
    };
  }
}

/** @throws OrderSyncError CONFIG_INVALID when the base address or the mapping is wrong */
export function createWholesaleClient(options: WholesaleClientOptions): WholesaleClient {
  return new WholesaleClient(options);
}
