import { isObject } from '../shop/payload-values.ts';
import { readOrder, WriteBackError, type WriteBackParts } from '../shop/platform.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import type { OrderStatement } from '../shop/order-statement.ts';
import { NotePosts } from './note-posts.ts';
import { fieldKeys, markersIn, type OrderNote, orderNow, type OrderNow, readAnnouncedNotes } from './order-fields.ts';
import { type OrderWrite, planWrites } from './plan-writes.ts';
import type { WooCommerceApi } from './rest-client.ts';
import type { WooCommerceShop } from './settings.ts';

type Parts = WriteBackParts<WooCommerceShop, WooCommerceApi>;
type FieldsWrite = Extract<OrderWrite, { kind: 'fields' }>;

/** An order needs four; more mean that the shop does not keep what is written. */
const mostSteps = 12;

/**
 * A note whose post began before so many call deadlines, and that the order does not show, does not appear any more: the call
 * was given up within the first, and the shop had two to finish it.
 */
const deadlinesUntilLost = 3;
/** Meanwhile it is looked for so often. */
const looksUntilLost = 9;

const mayHaveActed: readonly ShopApiError['kind'][] = ['unreachable', 'unavailable', 'unreadable'];

/**
 * Brings one order of WooCommerce to what its result says: reads it, makes the first missing write, and so on until none is
 * missing. So a run may be repeated at any time, also after a lost answer. A note takes two rounds: a field of the order names
 * it, for a worker whose disk was lost, and then it is posted. One whose post had begun, and whose end nobody knows, is looked
 * for in the order until it cannot appear any more.
 */
export class OrderWriter {
  readonly #statement: OrderStatement;
  readonly #parts: Parts;
  readonly #posts: NotePosts;
  readonly #written: string[] = [];
  /** Notes that the shop refused in this run, by their first marker. */
  readonly #refused = new Map<string | undefined, ShopApiError>();
  #refunds: readonly unknown[] = [];
  /** Whether the last call showed the order. */
  #isShown = false;

  constructor(statement: OrderStatement, parts: Parts) {
    this.#statement = statement;
    this.#parts = parts;
    this.#posts = new NotePosts(parts.notePosts, { clock: parts.clock, keep: parts.keepNotePosts });
  }

  /** Returns what was written. @throws WriteBackError, ShopApiError */
  async run(): Promise<readonly string[]> {
    let now = await this.#read();
    await this.#comparePosts(now);
    for (let step = 0; step < mostSteps; step += 1) {
      const { writes, withheld } = planWrites(this.#statement, this.#parts.options, now, this.#posts);
      const write = writes.find((one) => one.kind !== 'note' || !this.#refused.has(one.note.markers[0]));
      if (write !== undefined) {
        now = await this.#make(write, now);
        continue;
      }
      for (const refusal of this.#refused.values()) throw refusal;
      if (withheld !== null) throw withheld;
      return this.#written;
    }
    throw new WriteBackError('waits', `the order changed while it was written, ${mostSteps} times`);
  }

  /** Finds out what became of posts whose end the outbox does not know, also of those that a lost outbox made. */
  async #comparePosts(now: OrderNow): Promise<void> {
    const announced = readAnnouncedNotes(now.fields);
    const isKnown = announced.every((marker) => this.#posts.stateOf(marker) !== null);
    // A write that the shop processed late may have removed what a lost outbox announced.
    const isLost = this.#posts.isEmpty && Object.values(fieldKeys).some((key) => now.fields.has(key));
    if (isKnown && !isLost && !this.#posts.isAnyOpen) return;
    const { api, signal } = this.#parts;
    const notes = (await api.notesOf(this.#statement.orderId, signal)).filter(isObject);
    const shown = new Set(notes.flatMap((note) => markersIn(String(note['note']))));
    await this.#posts.compare({ shown, announced }, this.#lostAfterMs);
  }

  async #make(write: OrderWrite, now: OrderNow): Promise<OrderNow> {
    if (write.kind === 'note') return await this.#makeNote(write.note, now);
    if (write.kind === 'fields') return await this.#writeFields(write, now);
    if (!this.#isShown) return await this.#read();
    this.#written.push(`status ${write.status}`);
    const after = await this.#update({ status: write.status });
    if (after.order.status !== write.status || !after.isRefundedWhole) return after;
    // The shop has no call that sets a status only where it is still the one that was read.
    this.#parts.logger.warn('the order was refunded while it was completed: its status is refunded again');
    this.#written.push('status refunded');
    return await this.#update({ status: 'refunded' });
  }

  async #writeFields(write: FieldsWrite, before: OrderNow): Promise<OrderNow> {
    const isUnknown = (marker: string): boolean => this.#posts.stateOf(marker) === null;
    // Before the call: else a run after a lost answer would take it for the announcement of another outbox.
    for (const note of write.announced) {
      // The post of others may have begun.
      const markers = note.markers.filter(isUnknown);
      if (markers.length > 0) await this.#posts.set({ ...note, markers }, 'announced');
    }
    const lines = write.lines.map(({ lineId, fields }) => ({ id: lineId, meta_data: fields }));
    const after = await this.#update({ meta_data: write.fields, ...(lines.length === 0 ? {} : { line_items: lines }) });
    this.#written.push(...write.fields.map(({ key }) => key), ...lines.map(({ id }) => `line ${id}`));
    this.#checkKept(write, before, after);
    return after;
  }

  /** A plugin may drop or change fields. Without the announcement of a note, a lost disk could double it. */
  #checkKept(write: FieldsWrite, before: OrderNow, after: OrderNow): void {
    const dropped = write.fields.find(({ key, value }) => after.fields.get(key)?.[0] !== value);
    if (dropped !== undefined) {
      const problem = `the shop did not keep the field ${dropped.key} of the order as it was written`;
      throw new WriteBackError('waits', `${problem}: look for a plugin that changes orders`);
    }
    if (write.lines.length === 0 || before.total === after.total) return;
    this.#parts.logger.error(
      { before: before.total, after: after.total },
      'the shop calculated another total when fields of its lines were written: set line_meta: false',
    );
  }

  async #makeNote(note: OrderNote, now: OrderNow): Promise<OrderNow> {
    const { api, clock, signal } = this.#parts;
    const isBegun = (): boolean => note.markers.some((marker) => this.#posts.stateOf(marker) === 'begun');
    if (isBegun()) {
      const waitMs = this.#posts.settleInMs(note.markers, this.#lostAfterMs);
      const problem = 'an earlier try may have posted a note that the order does not show yet';
      const lookInMs = Math.min(waitMs, Math.max(waitMs, this.#lostAfterMs) / looksUntilLost);
      throw new WriteBackError('settles', problem, lookInMs);
    }
    this.#isShown = false;
    const once = { latestStartMono: clock.monoMs() + this.#deadlineMs, begins: () => this.#posts.set(note, 'begun') };
    try {
      await api.addNote(this.#statement.orderId, { note: note.text, customer_note: note.isForCustomer }, once, signal);
    } catch (error) {
      if (!(error instanceof ShopApiError) || error.kind === 'stopped') throw error;
      if (isBegun() && mayHaveActed.includes(error.kind)) {
        throw new WriteBackError('waits', `${error.message}; the note may be posted all the same`);
      }
      if (isBegun()) await this.#posts.set(note, 'announced');
      if (error.kind !== 'refused') throw error;
      // The order gets everything else.
      this.#refused.set(note.markers[0], error);
      return now;
    }
    await this.#posts.set(note, 'posted');
    this.#written.push(note.isForCustomer ? 'note to the customer' : 'note');
    return now;
  }

  get #deadlineMs(): number {
    return this.#parts.shop.rest?.timeouts.totalMs ?? 0;
  }

  get #lostAfterMs(): number {
    return deadlinesUntilLost * this.#deadlineMs;
  }

  async #read(): Promise<OrderNow> {
    const { value, refunds, order } = await readOrder(this.#statement.orderId, this.#parts);
    this.#refunds = refunds;
    this.#isShown = true;
    return orderNow(value, order);
  }

  async #update(change: Parameters<WooCommerceApi['updateOrder']>[1]): Promise<OrderNow> {
    const { api, read, signal } = this.#parts;
    const value = await api.updateOrder(this.#statement.orderId, change, signal);
    this.#isShown = true;
    return orderNow(value, await read({ value, refunds: this.#refunds }));
  }
}
