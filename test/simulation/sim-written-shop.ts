import type { OutgoingRequest } from '../../src/ops/outgoing-http.ts';
import type { Shop } from '../../src/storefronts/settings.ts';
import { ShopifyOrders } from '../support/shops/shopify-orders.ts';
import { listIn, type Reply, type StubOrder, withNumericIds } from '../support/shops/shop-order.ts';
import { WooCommerceOrders } from '../support/shops/woocommerce-orders.ts';
import type { ShopOrderPlan } from './intake-plan.ts';
import { drawReceiverFault, type ReceiverFault } from './receiver-faults.ts';
import { ReceiverProgress } from './receiver-progress.ts';
import { RetryAfterWatch } from './retry-after-watch.ts';
import type { SeededRandom } from './seeded-random.ts';
import { shopDocument, type ShopState, wooRefunds } from './shop-documents.ts';
import type { SimProcess } from './sim-process.ts';
import type { Receiver } from './sim-receivers.ts';
import { receiverDeadlineMs, type ShopEdit, type ShopSinkPlan } from './sinks-plan.ts';
import type { VirtualTime } from './virtual-time.ts';
import { wallStartMs } from './virtual-time.ts';
import type { Invariant } from './invariants.ts';

/** Which order a call is about. */
function orderOf({ path, body }: OutgoingRequest): string {
  return /(?:orders\/|ids=|Order\/)(\d{4})/.exec(`${path} ${body ?? ''}`)?.[1] ?? '';
}

/**
 * GraphQL tells most errors with the status 200: that calls cost too much, and that a change was
 * not made.
 */
function asGraphql(reply: Reply, { body }: OutgoingRequest): ReceiverFault {
  const throttled = { errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }] };
  if (reply.status === 429) return { kind: 'refuse', reply: { status: 200, body: throttled } };
  const isChange = reply.status === 500 && body?.startsWith('{"query":"mutation') === true;
  const data = {
    change: { userErrors: [{ field: null, message: 'The order is being changed.' }] },
  };
  return { kind: 'refuse', reply: isChange ? { status: 200, body: { data } } : reply };
}

export const shopSecrets = [
  'ck_simulated_key',
  'cs_simulated_secret',
  'shpat_simulated_token',
] as const;

/** A shop into whose orders the worker writes, and the people who change them meanwhile. */
export class SimWrittenShop implements Receiver {
  readonly kind: 'woocommerce' | 'shopify';
  readonly plan: ShopSinkPlan;
  readonly woocommerce: WooCommerceOrders;
  readonly shopify: ShopifyOrders;
  readonly progress: ReceiverProgress;
  /** What people did to an order. */
  readonly edits = new Map<string, ShopEdit['kind']>();
  /** When people took a piece of the first line out of an order. */
  readonly loweredAtMs = new Map<string, number>();
  /** Called when an order was changed over the API; the shop tells that by a webhook. */
  onWritten: (orderId: string) => void = () => undefined;
  /** How many pieces of a line people fulfilled. */
  readonly byHand = new Map<string, number>();
  readonly #orders: StubOrder[] = [];
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #faultsOffMs: number;
  readonly #retryAfter: RetryAfterWatch;
  readonly #failing = new WeakSet<OutgoingRequest>();
  /**
   * Orders for which a write was processed after a newer one: its connection had ended long before.
   */
  readonly overtaken = new Set<string>();
  /**
   * Orders that were changed for an outbox which was lost: what it knew of them, the one in its
   * place may not know.
   */
  readonly ofLostOutbox = new Set<string>();
  /** Before so many calls, the outbox was another one. */
  #callsBeforeLoss = 0;
  readonly #sent = new WeakMap<OutgoingRequest, number>();
  readonly #newestWrite = new Map<string, number>();
  #calls = 0;
  #openEdits = 0;

  constructor(options: {
    plan: ShopSinkPlan;
    time: VirtualTime;
    random: SeededRandom;
    faultsOffMs: number;
    violate: (invariant: Invariant, sentence: string) => void;
  }) {
    const { plan, time } = options;
    const nowMs = (): number => wallStartMs + time.nowMs;
    this.kind = plan.platform;
    this.plan = plan;
    this.#time = time;
    this.#random = options.random;
    this.#faultsOffMs = options.faultsOffMs;
    this.woocommerce = new WooCommerceOrders(this.#orders, nowMs, ({ body }) => body);
    this.shopify = new ShopifyOrders(this.#orders, nowMs);
    this.progress = new ReceiverProgress(() => time.nowMs);
    for (const orders of [this.woocommerce, this.shopify])
      orders.onUpdated = ({ id }) => this.onWritten(id);
    const violate = (sentence: string): void => options.violate('I45', sentence);
    this.#retryAfter = new RetryAfterWatch(`the shop ${plan.platform}`, () => time.nowMs, violate);
  }

  get origin(): string {
    return `https://${this.kind}.example`;
  }

  begin(): void {
    const { orders, edits } = this.plan;
    for (const order of this.plan.comesByIntake === true ? [] : orders) this.#place(order);
    for (const edit of edits) this.#soon(edit.atMs, () => this.#edit(edit));
  }

  get done(): boolean {
    return this.#openEdits === 0;
  }

  /** The order as the shop has it; undefined: it was deleted. */
  orderOf(orderId: string): StubOrder | undefined {
    return this.#orders.find(({ id }) => id === orderId);
  }

  leaves(call: OutgoingRequest, process: SimProcess): ReceiverFault {
    const orderId = orderOf(call);
    this.#retryAfter.leaves(process, orderId);
    this.#calls += 1;
    this.#sent.set(call, this.#calls);
    const { nowMs } = this.#time;
    const { troubles } = this.plan;
    const areFaultsOff = nowMs >= this.#faultsOffMs;
    const isNote = call.method === 'POST' && call.path.endsWith('/notes');
    const isLate = isNote && !areFaultsOff && this.#random.chance(troubles.lateNoteShare);
    const fault: ReceiverFault = isLate
      ? { kind: 'late', ms: this.#random.int(12_000, receiverDeadlineMs - 1000) }
      : drawReceiverFault(this.#random, troubles, { nowMs, areFaultsOff });
    if (fault.kind !== 'none') {
      this.#failing.add(call);
      return fault.kind === 'refuse' && call.path.endsWith('/graphql.json')
        ? asGraphql(fault.reply, call)
        : fault;
    }
    if (!troubles.refusedOrders.has(orderId)) return fault;
    const message = 'Not this one.';
    const body =
      this.kind === 'shopify' ? { errors: message } : { code: 'rest_invalid_param', message };
    return { kind: 'refuse', reply: { status: 400, body } };
  }

  process(call: OutgoingRequest): Reply {
    const { method, path } = call;
    const body = call.body ?? '';
    if (this.kind === 'woocommerce' ? method !== 'GET' : body.includes('mutation '))
      this.#written(call);
    if (this.kind === 'woocommerce')
      return (
        this.woocommerce.answer({ method, path, body }) ?? {
          status: 404,
          body: { code: 'rest_no_route' },
        }
      );
    if (path.endsWith('/graphql.json')) return this.shopify.answer({ body });
    if (path.endsWith('/access_scopes.json'))
      return { status: 200, body: { access_scopes: [{ handle: 'read_all_orders' }] } };
    const order = this.orderOf(orderOf(call));
    return {
      status: 200,
      body: withNumericIds({ orders: order === undefined ? [] : [order.body] }),
    };
  }

  #written(call: OutgoingRequest): void {
    const orderId = orderOf(call);
    const sent = this.#sent.get(call) ?? 0;
    const newest = this.#newestWrite.get(orderId) ?? 0;
    if (sent < newest) this.overtaken.add(orderId);
    if (sent <= this.#callsBeforeLoss) this.ofLostOutbox.add(orderId);
    this.#newestWrite.set(orderId, Math.max(sent, newest));
  }

  outboxReplaced(): void {
    this.#callsBeforeLoss = this.#calls;
    for (const orderId of this.#newestWrite.keys()) this.ofLostOutbox.add(orderId);
  }

  answered(call: OutgoingRequest, process: SimProcess, reply: Reply | null): void {
    const orderId = orderOf(call);
    // WordPress announces ten minutes for each update: what a 503 asks for counts less than the
    // worker's own steps.
    this.#retryAfter.answered(process, orderId, reply?.status === 503 ? null : reply);
    this.progress.answered(
      orderId,
      reply !== null && reply.status < 300 && !this.#failing.has(call),
    );
  }

  /**
   * The order is in another state. Returns it as the shop shows it, with all that was written into
   * it.
   */
  show(state: ShopState): string {
    const id = state.plan.lines[0]?.orderId ?? '';
    const body: Record<string, unknown> = JSON.parse(shopDocument(state));
    const refunds = wooRefunds(state).map((refund) => ({ ...refund }));
    const known = this.orderOf(id);
    if (known === undefined) {
      this.#orders.push({ id, modifiedMs: state.modifiedS * 1000, body, refunds });
      if (this.kind === 'shopify') this.#fulfilFrom(state.plan);
      return JSON.stringify(body);
    }
    const { status, meta_data: fields, line_items: items } = known.body;
    if (state.status === 'paid' && status === 'completed') body['status'] = status;
    if (fields !== undefined) body['meta_data'] = fields;
    for (const item of listIn(body['line_items'])) {
      const before = listIn(items).find((it) => it['id'] === item['id']);
      if (before !== undefined && this.kind === 'woocommerce')
        item['meta_data'] = before['meta_data'];
    }
    Object.assign(known, { body, refunds, modifiedMs: state.modifiedS * 1000 });
    for (const line of this.shopify.fulfilmentOrders.find(({ orderId }) => orderId === id)?.lines ??
      []) {
      const kept = Number(
        listIn(body['line_items']).find((it) => String(it['id']) === line.lineId)?.[
          'current_quantity'
        ],
      );
      line.remaining =
        state.status === 'paid' ? Math.max(0, kept - this.shopify.fulfilled(line.lineId)) : 0;
    }
    return JSON.stringify(body);
  }

  #fulfilFrom({ lines }: ShopOrderPlan): void {
    const items = lines.map(({ lineId, quantity }) => ({ lineId, quantity: quantity ?? 1 }));
    this.shopify.fulfilFrom(lines[0]?.orderId ?? '', items);
  }

  #place(plan: ShopOrderPlan): void {
    const placedS = Math.floor((wallStartMs + plan.atMs) / 1000);
    const state = {
      plan,
      status: 'paid',
      modifiedS: placedS,
      paidS: placedS,
      refunded: new Map(),
    } as const;
    this.show(state);
  }

  #edit({ orderId, kind: drawn }: ShopEdit): void {
    const order = this.orderOf(orderId);
    if (order === undefined || this.edits.has(orderId)) return;
    const { body } = order;
    const items = listIn(body['line_items']);
    const [first] = items;
    const kind = drawn === 'lowered' && Number(first?.['quantity']) < 2 ? 'raised' : drawn;
    this.edits.set(orderId, kind);
    if (kind === 'deleted') this.#orders.splice(this.#orders.indexOf(order), 1);
    else if (kind === 'added')
      items.push({
        id: Number(`${orderId}99`),
        sku: 'BOOK',
        quantity: 1,
        current_quantity: 1,
        meta_data: [],
      });
    else if (kind === 'raised' || kind === 'put_back') {
      this.#changeQuantity(first, 1);
      if (this.kind === 'shopify') this.shopify.raise(orderId, String(first?.['id']));
      if (kind === 'put_back') this.#soon(60_000, () => this.#putBack(orderId, first));
    } else if (kind === 'lowered') {
      this.loweredAtMs.set(orderId, this.#time.nowMs);
      this.#changeQuantity(first, -1);
      const line = this.#fulfilmentLines(orderId)[0];
      if (line !== undefined) line.remaining = Math.max(0, line.remaining - 1);
    } else if (kind === 'cancelled')
      Object.assign(
        body,
        this.kind === 'shopify'
          ? { cancelled_at: new Date(wallStartMs + this.#time.nowMs).toISOString() }
          : { status: 'cancelled' },
      );
    else if (this.kind === 'woocommerce') body['status'] = 'completed';
    else this.#fulfilByHand(orderId);
  }

  #soon(ms: number, act: () => void): void {
    this.#openEdits += 1;
    this.#time.after(ms, () => {
      this.#openEdits -= 1;
      act();
    });
  }

  #changeQuantity(item: Record<string, unknown> | undefined, by: 1 | -1): void {
    const quantity = Number(item?.['quantity']) + by;
    // A piece that staff of Shopify remove stays in the quantity.
    if (this.kind === 'shopify' && by < 0)
      Object.assign(item ?? {}, { current_quantity: quantity });
    else Object.assign(item ?? {}, { quantity, current_quantity: quantity });
  }

  #putBack(orderId: string, first: Record<string, unknown> | undefined): void {
    this.#changeQuantity(first, -1);
    const open = this.#fulfilmentLines(orderId).findLast(
      ({ lineId, remaining }) => lineId === String(first?.['id']) && remaining > 0,
    );
    if (open !== undefined) open.remaining -= 1;
  }

  #fulfilmentLines(orderId: string) {
    return this.shopify.fulfilmentOrders
      .filter((one) => one.orderId === orderId)
      .flatMap(({ lines }) => lines);
  }

  /** An operator fulfils one piece of the first line, if any is left. */
  #fulfilByHand(orderId: string): void {
    const line = this.shopify.fulfilmentOrders.find((one) => one.orderId === orderId)?.lines[0];
    if (line === undefined || line.remaining === 0) return;
    line.remaining -= 1;
    this.byHand.set(line.lineId, 1);
  }

  /** The shop as it is configured. */
  get settings(): Shop {
    const { plan } = this;
    const rest = {
      url: this.origin,
      schedule: '0 0 1 1 *',
      overlapS: 300,
      pageSize: 100,
      pagesPerRun: 50,
      bodyBytes: 1_048_576,
      timeouts: { connectMs: 2000, totalMs: receiverDeadlineMs },
    };
    const shop = {
      shop: 'main',
      source: plan.platform,
      secrets: ['sim-secret-of-the-shop'],
      skuMap: '',
      unmatched: 'ignore',
      onRefund: 'review',
      maxAgeH: 8760,
      lookbackH: 0,
      iccidField: 'iccid',
    } as const;
    const [consumerKey, consumerSecret, token] = shopSecrets;
    if (plan.platform === 'woocommerce')
      return {
        ...shop,
        platform: 'woocommerce',
        sites: [],
        paidStatuses: ['processing', 'completed'],
        rest: { ...rest, ca: null, consumerKey, consumerSecret },
        writeBack: plan.options,
      };
    return {
      ...shop,
      platform: 'shopify',
      sites: [],
      rest: { ...rest, access: { kind: 'token', token } },
      writeBack: plan.options,
    };
  }
}
