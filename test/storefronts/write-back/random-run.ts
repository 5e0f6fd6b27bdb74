import assert from 'node:assert/strict';
import { markersIn } from '../../../src/storefronts/woocommerce/order-fields.ts';
import { minutesAgo, shopifyBody, wooBody } from '../read-back/running-read-back.ts';
import {
  type Fault,
  type ShopCallSeen,
  StubShopify,
  StubWooCommerce,
} from '../read-back/stub-shop.ts';
import type { StubOrder } from '../../support/shops/shop-order.ts';
import { type End, WrittenShop, writtenShopifyShop, writtenWooShop } from './written-shop.ts';
import { redeliver } from '../../support/redeliver.ts';

/** Random numbers in [0, 1) that are the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A line of a random order. */
export interface RandomLine {
  readonly id: string;
  readonly isOurs: boolean;
  quantity: number;
  /** What becomes of it; null: nothing yet. */
  end: End | null;
  /** Pieces that an operator fulfilled. */
  byPerson: number;
}

export interface RandomOrder {
  readonly id: string;
  readonly lines: RandomLine[];
  edit: 'none' | 'cancelled' | 'completed' | 'raised' | 'added';
}

const deadlineMs = 600;
const mostFaults = 6;

export type RandomStub = StubWooCommerce | StubShopify;

/**
 * One shop with some orders, whose results are written while calls fail, the worker is killed, and
 * people act.
 */
export class RandomRun {
  readonly random: () => number;
  readonly orders: RandomOrder[] = [];
  stub!: RandomStub;
  written!: WrittenShop;
  deliverCodes: 'off' | 'note' | 'meta' = 'off';
  #faultsLeft = 0;
  #killsLeft = 0;
  kills = 0;
  faults = 0;
  hasLateFulfilment = false;
  readonly #echoes: Promise<void>[] = [];

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  pick<T>(...values: readonly [T, ...T[]]): T {
    return values[Math.floor(this.random() * values.length)] ?? values[0];
  }

  async play(): Promise<void> {
    await this.#open();
    for (const order of this.orders) {
      const items = order.lines.map(({ id, isOurs, quantity }) => {
        return {
          id,
          name: 'Card',
          sku: isOurs ? 'STEAM-20' : 'BOOK',
          quantity,
          meta_data: [],
          properties: [],
        };
      });
      const body =
        this.stub instanceof StubShopify ? shopifyBody('1') : wooBody('1', { total: '40.00' });
      const put = this.stub.put({
        id: order.id,
        modifiedMs: minutesAgo(30),
        body: { ...body, line_items: items },
      });
      if (this.stub instanceof StubShopify) {
        this.stub.shop.fulfilFrom(
          order.id,
          order.lines.map(({ id, quantity }) => ({ lineId: id, quantity })),
        );
      }
      await this.written.takeIn(this.stub.shown(put));
    }
    const rounds = 1 + Math.floor(this.random() * 3);
    for (let round = 0; round < rounds; round += 1) await this.#round(round === rounds - 1);
    this.#faultsLeft = 0;
    this.#killsLeft = 0;
    // An operator asks for it once more, as after a restored backup.
    if (this.chance(0.3)) await redeliver(this.written.store, {}, Date.now());
    await this.#toldAll();
    await this.stub.settled();
  }

  /**
   * On a busy machine, calls may miss their short deadline until a delivery is given up: then a
   * person asks for it again.
   */
  async #toldAll(): Promise<void> {
    for (let times = 0; times < 10; times += 1) {
      await this.written.told();
      const orders = this.orders.map(({ id }) => this.written.store.read.showOrder('main', id));
      const isDone = orders.every((order) => (order?.deliveries ?? []).every(({ done }) => done));
      if (isDone) return;
      await redeliver(this.written.store, {}, Date.now());
    }
  }

  async #open(): Promise<void> {
    this.deliverCodes = this.pick('off', 'note', 'meta', 'meta');
    const deliverCodes = this.deliverCodes;
    if (this.chance(0.5)) {
      const stub = await new StubWooCommerce().open();
      const options = { deliverCodes, lineMeta: this.chance(0.3) };
      this.written = await WrittenShop.open(writtenWooShop(stub.url, options, deadlineMs), stub);
      this.stub = stub;
    } else {
      const stub = await new StubShopify().open();
      if (deliverCodes === 'note') this.deliverCodes = 'meta';
      const options = {
        deliverCodes: deliverCodes === 'off' ? ('off' as const) : ('meta' as const),
      };
      this.written = await WrittenShop.open(
        writtenShopifyShop(stub.url, options, deadlineMs),
        stub,
      );
      this.stub = stub;
    }
    this.stub.faultOf = (call) => {
      const fault = this.#faultOf(call);
      this.hasLateFulfilment ||= fault.kind === 'late' && call.body.includes('mutation Fulfil');
      return fault;
    };
    this.stub.shop.onUpdated = (order: StubOrder) => {
      // The webhook of our own change.
      if (this.chance(0.3)) this.#echoes.push(this.#takeEcho(structuredClone(order)));
    };
    const count = 1 + Math.floor(this.random() * 3);
    for (let index = 1; index <= count; index += 1) {
      const lines = Array.from({ length: 1 + Math.floor(this.random() * 3) }, (_, line) => ({
        id: `${index}0${line + 1}`,
        isOurs: line === 0 || this.chance(0.8),
        quantity: 1 + Math.floor(this.random() * 3),
        end: null,
        byPerson: 0,
      }));
      this.orders.push({ id: String(index), lines, edit: 'none' });
    }
  }

  /** Intake takes our own change for nothing new. What an operator changed it may flag. */
  async #takeEcho(shown: StubOrder): Promise<void> {
    const isEdited = this.orders.some(({ id, edit }) => id === shown.id && edit !== 'none');
    try {
      const [accepted, takenBack, flagged] = await this.written.takeIn(this.stub.shown(shown));
      assert.deepEqual([accepted, isEdited ? 0 : takenBack + flagged], [0, 0]);
    } catch (error) {
      // A webhook for a worker that was killed just now is lost.
      if (!String(error).includes('database connection is not open')) throw error;
    }
  }

  async #round(isLast: boolean): Promise<void> {
    await this.written.buy((lineId) => {
      const line = this.orders.flatMap(({ lines }) => lines).find(({ id }) => id === lineId);
      if (line === undefined || line.end !== null) return null;
      if (!isLast && this.chance(0.3)) return null;
      line.end = this.chance(0.85) ? 'fulfilled' : this.pick('rejected', 'needs_review');
      return line.end;
    });
    for (const order of this.orders) if (this.chance(0.2)) this.#actAsPerson(order);
    this.#faultsLeft = mostFaults;
    this.#killsLeft = 2;
    await this.written.told();
    // What the shop still processes would be mixed up with what people do next.
    await this.stub.settled();
  }

  #faultOf({ method }: ShopCallSeen): Fault {
    if (this.#killsLeft > 0 && this.chance(0.06)) {
      this.#killsLeft -= 1;
      this.kills += 1;
      this.written.kill();
      return this.pick<Fault>(
        { kind: 'lost' },
        { kind: 'unanswered' },
        { kind: 'late', ms: this.random() * 200 },
      );
    }
    if (this.#faultsLeft <= 0 || !this.chance(method === 'GET' ? 0.08 : 0.2))
      return { kind: 'none' };
    this.#faultsLeft -= 1;
    this.faults += 1;
    const refuse = (status: number, headers = {}): Fault => ({
      kind: 'refuse',
      reply: { status, body: {}, headers },
    });
    return this.pick<Fault>(
      refuse(429, { 'retry-after': '0' }),
      refuse(500),
      refuse(503, { 'retry-after': '0' }),
      { kind: 'lost' },
      { kind: 'unanswered' },
      { kind: 'late', ms: this.random() * 200 },
    );
  }

  /** What people of the shop do, while no call is under way. */
  #actAsPerson(order: RandomOrder): void {
    if (order.edit !== 'none') return;
    const body = this.#shown(order.id).body;
    const items: Record<string, unknown>[] = Array.isArray(body['line_items'])
      ? body['line_items']
      : [];
    order.edit = this.pick('cancelled', 'completed', 'raised', 'added');
    const [line] = order.lines;
    if (line === undefined) throw new Error('an order has a line');
    if (order.edit === 'cancelled') {
      if (this.stub instanceof StubShopify) body['cancelled_at'] = new Date().toISOString();
      else body['status'] = 'cancelled';
    } else if (order.edit === 'completed') {
      if (this.stub instanceof StubWooCommerce) body['status'] = 'completed';
      else this.#fulfilAsPerson(order, line);
    } else if (order.edit === 'raised') {
      const item = items.find(({ id }) => id === line.id);
      if (item !== undefined) item['quantity'] = line.quantity + 1;
      if (this.stub instanceof StubShopify) this.stub.shop.raise(order.id, line.id);
    } else
      items.push({ id: `${order.id}99`, sku: 'BOOK', quantity: 1, meta_data: [], properties: [] });
  }

  #shown(orderId: string): StubOrder {
    const found = this.stub.orders.find(({ id }) => id === orderId);
    if (found === undefined) throw new Error(`the shop has no order ${orderId}`);
    return found;
  }

  #fulfilAsPerson(order: RandomOrder, line: RandomLine): void {
    if (!(this.stub instanceof StubShopify)) return;
    const [one] = this.stub.shop.fulfilmentOrders.filter(({ orderId }) => orderId === order.id);
    const item = one?.lines.find(({ lineId }) => lineId === line.id);
    if (item === undefined || item.remaining === 0) return;
    line.byPerson = 1;
    item.remaining -= 1;
  }

  /** Everything that the shop must show in the end, whatever happened. */
  async check(): Promise<void> {
    await Promise.all(this.#echoes);
    for (const order of this.orders) await this.#checkOrder(order);
    const codes = this.#codesOf(this.orders);
    const log = JSON.stringify(this.written.log);
    assert.deepEqual(
      codes.filter((code) => log.includes(code)),
      [],
    );
  }

  #codesOf(orders: readonly RandomOrder[]): readonly string[] {
    return orders.flatMap(({ id }) => {
      const entries = this.written.store.read.showOrder('main', id)?.entries ?? [];
      return entries.flatMap(({ reference }) => `CODE-${reference.slice(-12)}-`);
    });
  }

  async #checkOrder(order: RandomOrder): Promise<void> {
    const { stub } = this;
    const known = this.written.store.read.showOrder('main', order.id);
    const open = (known?.deliveries ?? []).filter(({ done }) => !done);
    assert.deepEqual(open, []);
    const shown = this.#shown(order.id);
    const fields =
      stub instanceof StubShopify
        ? [...(stub.shop.metafields.get(order.id) ?? [])]
        : stub.shop.notesOf(order.id);
    const text = JSON.stringify([shown.body, fields]);
    const others = this.#codesOf(this.orders.filter((other) => other !== order));
    assert.deepEqual(
      others.filter((code) => text.includes(code)),
      [],
    );
    const isGiven = (line: RandomLine): boolean => line.isOurs && line.end === 'fulfilled';
    const codeOf = (lineId: string): string => {
      const entry = known?.entries.find((one) => one.lineId === lineId);
      return `CODE-${entry?.reference.slice(-12)}-`;
    };
    for (const line of order.lines.filter(({ isOurs }) => isOurs)) {
      const mustShow = this.deliverCodes !== 'off' && isGiven(line) && order.edit !== 'cancelled';
      if (mustShow)
        assert.ok(text.includes(codeOf(line.id)), `the codes of line ${line.id} are missing`);
      if (this.deliverCodes === 'off' || line.end !== 'fulfilled')
        assert.ok(!text.includes(codeOf(line.id)), 'shows what it must not');
    }
    if (stub instanceof StubShopify) this.#checkFulfilled(stub, order, isGiven);
    else this.#checkWooCommerce(stub, order, isGiven);
  }

  #checkFulfilled(
    stub: StubShopify,
    order: RandomOrder,
    isGiven: (line: RandomLine) => boolean,
  ): void {
    for (const line of order.lines) {
      const fulfilled = stub.shop.fulfilled(line.id);
      if (order.edit === 'cancelled' || order.edit === 'raised') {
        // Shopify has no id by which a fulfilment is made once: one that it processes late may take
        // the added piece.
        const most =
          order.edit === 'raised' && this.hasLateFulfilment ? line.quantity + 1 : line.quantity;
        assert.ok(
          [0, line.quantity, most].includes(fulfilled),
          `fulfilled ${fulfilled} of ${line.quantity}`,
        );
      } else
        assert.deepEqual(
          [line.id, fulfilled],
          [line.id, isGiven(line) ? line.quantity - line.byPerson : 0],
        );
    }
  }

  #checkWooCommerce(
    stub: StubWooCommerce,
    order: RandomOrder,
    isGiven: (line: RandomLine) => boolean,
  ): void {
    const { body } = stub.order(order.id);
    const markers = stub.shop.notesOf(order.id).flatMap(({ note }) => markersIn(note));
    assert.deepEqual(markers, [...new Set(markers)]);
    assert.deepEqual(stub.shop.addedLines, []);
    const items: Record<string, unknown>[] = Array.isArray(body['line_items'])
      ? body['line_items']
      : [];
    const ids = [
      ...order.lines.map(({ id }) => id),
      ...(order.edit === 'added' ? [`${order.id}99`] : []),
    ];
    assert.deepEqual(
      items.map(({ id }) => id),
      ids,
    );
    const isWhole = order.lines.every(isGiven);
    const mails = stub.shop.mails.filter(
      (mail) => mail.orderId === order.id && mail.kind === 'completed',
    );
    if (order.edit === 'none') {
      assert.deepEqual(
        [body['status'], mails.length],
        isWhole ? ['completed', 1] : ['processing', 0],
      );
    } else if (order.edit !== 'completed') {
      // It may have been completed before the operator changed it.
      const expected = order.edit === 'cancelled' ? ['cancelled'] : ['processing', 'completed'];
      assert.ok(
        expected.includes(String(body['status'])),
        `has the status ${String(body['status'])}`,
      );
    }
    for (const mail of mails) {
      const codes = this.deliverCodes === 'off' ? [] : this.#codesOf([order]);
      assert.deepEqual(
        codes.filter((code) => !mail.text.includes(code)),
        [],
      );
    }
  }
}
