import { isObject } from '../shop/payload-values.ts';
import { WriteBackError, type WriteBackParts } from '../shop/platform.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import type { OrderStatement } from '../shop/order-statement.ts';
import { type OrderNote, readAnnouncedNotes } from './order-notes.ts';
import { fieldKeys, orderNow, type OrderNow } from './order-fields.ts';
import { readWooCommerceOrder } from './payload.ts';
import { type NoteState, type OrderWrite, planWrites } from './plan-writes.ts';
import type { WooCommerceApi } from './rest-client.ts';
import type { WooCommerceShop } from './settings.ts';

type Parts = WriteBackParts<WooCommerceShop, WooCommerceApi>;

/** An order needs five; more mean that the shop does not keep what is written. */
const mostSteps = 12;

/**
 * A note of which this process has known for so many call deadlines does not appear any more: its post began within the first,
 * was given up within the second, and the shop had the third to finish it.
 */
const deadlinesUntilLost = 3;

/**
 * Brings an order of WooCommerce to what its result says: reads it, makes the first missing write, and so on until none is
 * missing. So it may be repeated at any time, also after a lost answer. Returns what was written.
 * @throws WriteBackError, ShopApiError
 */
export async function writeBackToWooCommerce(statement: OrderStatement, parts: Parts): Promise<readonly string[]> {
  return await new OrderWriter(statement, parts).run();
}

/**
 * One run for one order. A note takes two rounds of the loop: it is announced in a field of the order, and then posted. One
 * that an earlier run announced is looked for instead. If it is not there, it is waited for until it cannot appear any more;
 * then it counts as lost, and two more rounds announce and post it.
 */
class OrderWriter {
  readonly #statement: OrderStatement;
  readonly #parts: Parts;
  readonly #written: string[] = [];
  /** By marker. */
  readonly #notes = new Map<string, NoteState>();
  /**
   * The notes that the order had before this run. `none`: it had no field of ours, so no run before this one posted a note,
   * unless another announced it meanwhile. Else it may also have notes that it does not announce any more.
   */
  #earlierNotes: 'none' | 'unread' | 'read' = 'none';
  #refunds: readonly unknown[] = [];

  constructor(statement: OrderStatement, parts: Parts) {
    this.#statement = statement;
    this.#parts = parts;
  }

  async run(): Promise<readonly string[]> {
    const { writeBack } = this.#parts.shop;
    if (writeBack === null) throw new WriteBackError('final', 'the shop has no `write_back` any more');
    let now = await this.#read();
    if (Object.values(fieldKeys).some((key) => now.fields.has(key))) this.#earlierNotes = 'unread';
    for (let step = 0; step < mostSteps; step += 1) {
      const { writes, withheld } = planWrites(this.#statement, writeBack, now, {
        states: this.#notes,
        nowMs: this.#parts.clock.wallMs(),
      });
      const [write] = writes;
      if (write !== undefined) {
        now = await this.#make(write, now);
        continue;
      }
      if (withheld !== null) throw new WriteBackError('waits', withheld);
      return this.#written;
    }
    throw new WriteBackError('waits', `the order changed while it was written, ${mostSteps} times`);
  }

  async #make(write: OrderWrite, now: OrderNow): Promise<OrderNow> {
    if (write.kind === 'note') return await this.#makeNote(write.note, now);
    const { api, signal } = this.#parts;
    const { orderId } = this.#statement;
    if (write.kind === 'status') {
      this.#written.push(`status ${write.status}`);
      return this.#readAnswer(await api.updateOrder(orderId, { status: write.status }, signal), now);
    }
    const before = readAnnouncedNotes(now.fields);
    const lines = write.lines.map(({ lineId, fields }) => ({
      // A number, and always there: an item without an id would be added to the order, and bought.
      id: lineId,
      meta_data: fields,
    }));
    const body = { meta_data: write.fields, ...(lines.length === 0 ? {} : { line_items: lines }) };
    const after = this.#readAnswer(await api.updateOrder(orderId, body, signal), now);
    for (const [marker, ms] of readAnnouncedNotes(after.fields)) {
      if (this.#notes.get(marker) !== 'posted' && before.get(marker) !== ms) this.#notes.set(marker, 'announced');
    }
    this.#written.push(...write.fields.map(({ key }) => key), ...lines.map(({ id }) => `line ${id}`));
    this.#checkKept(write, now, after);
    return after;
  }

  /** A plugin may drop or change fields. Without the announcement of a note, a lost answer could double it. */
  #checkKept(write: Extract<OrderWrite, { kind: 'fields' }>, before: OrderNow, after: OrderNow): void {
    const { logger } = this.#parts;
    const { source, orderId } = this.#statement;
    const dropped = write.fields.find(({ key, value }) => after.fields.get(key)?.[0] !== value);
    if (dropped !== undefined) {
      const problem = `the shop did not keep the field ${dropped.key} of the order as it was written`;
      throw new WriteBackError('waits', `${problem}: look for a plugin that changes orders`);
    }
    if (write.lines.length === 0 || before.total === after.total) return;
    const totals = { source, order_id: orderId, before: before.total, after: after.total };
    logger.error(
      totals,
      'the shop calculated another total when fields of its lines were written: set line_meta: false',
    );
  }

  async #makeNote(note: OrderNote, now: OrderNow): Promise<OrderNow> {
    const { api, clock, signal, noteTimes } = this.#parts;
    const { orderId } = this.#statement;
    // A write of an earlier run that the shop processed late may have removed an announcement, after its note was posted.
    if (this.#notes.get(note.marker) !== 'announced' || this.#earlierNotes === 'unread') await this.#readNotes();
    const state = this.#notes.get(note.marker);
    if (state === 'posted') return now;
    if (state !== 'announced') {
      this.#waitUntilLost(note);
      return now;
    }
    const body = { note: note.text, customer_note: note.isForCustomer };
    const latestStartMono = clock.monoMs() + this.#deadlineMs;
    noteTimes.posted(orderId, note.marker);
    try {
      await api.addNote(orderId, body, { latestStartMono }, signal);
    } catch (error) {
      const mayBePosted = error instanceof ShopApiError && mayHaveActed.includes(error.kind);
      if (!mayBePosted || signal.aborted) throw error;
      const problem = `${error.message}; the note may be posted all the same`;
      throw new WriteBackError('waits', problem, deadlinesUntilLost * this.#deadlineMs);
    }
    this.#notes.set(note.marker, 'posted');
    this.#written.push(note.isForCustomer ? 'note to the customer' : 'note');
    // The status may follow, and a person may have changed the order meanwhile.
    return note.isForCustomer ? await this.#read() : now;
  }

  async #readNotes(): Promise<void> {
    if (this.#earlierNotes === 'read') return;
    const { api, signal } = this.#parts;
    const texts = (await api.notesOf(this.#statement.orderId, signal)).map((note) =>
      isObject(note) ? String(note['note']) : '',
    );
    for (const text of texts)
      for (const [marker] of text.matchAll(/\[order-sync:[0-9a-f]{16}\]/g)) this.#notes.set(marker, 'posted');
    this.#earlierNotes = 'read';
  }

  /** @throws WriteBackError while a note that an earlier run announced may still appear */
  #waitUntilLost({ marker }: OrderNote): void {
    const knownForMs = this.#parts.noteTimes.knownForMs(this.#statement.orderId, marker);
    const waitMs = deadlinesUntilLost * this.#deadlineMs - knownForMs;
    if (waitMs > 0) {
      throw new WriteBackError(
        'settles',
        'an earlier try may have posted a note that the order does not show yet',
        waitMs,
      );
    }
    this.#notes.set(marker, 'lost');
  }

  get #deadlineMs(): number {
    return this.#parts.shop.rest?.timeouts.totalMs ?? 0;
  }

  async #read(): Promise<OrderNow> {
    const { api, signal } = this.#parts;
    const { orderId } = this.#statement;
    const read = await api.order(orderId, signal, { isBehind: true });
    if (read === null) {
      const problem = `the shop has the order ${orderId} no more, and something was delivered or needs review`;
      throw new WriteBackError('final', `${problem}: see \`orders show\``);
    }
    this.#refunds = read.refunds;
    return this.#nowOf(read.value);
  }

  /** @throws ShopApiError when the write has added a line */
  #readAnswer(value: unknown, before: OrderNow): OrderNow {
    const now = this.#nowOf(value);
    const added = [...now.lines.keys()].filter((lineId) => !before.lines.has(lineId));
    if (added.length === 0) return now;
    const { logger } = this.#parts;
    const { source, orderId } = this.#statement;
    logger.warn({ source, order_id: orderId, added }, 'lines were added to the order of the shop while it was written');
    return now;
  }

  #nowOf(value: unknown): OrderNow {
    const { shop } = this.#parts;
    const { orderId } = this.#statement;
    const context = { isTest: false, topic: null, isListed: true, refunds: this.#refunds };
    const reading = readWooCommerceOrder(value, shop, context);
    if (isObject(value) && reading.kind === 'order') {
      const { order } = reading;
      if (order.orderId === orderId) return orderNow(value, order);
      throw new ShopApiError(
        'unreadable',
        `the shop answered with the order ${order.orderId} in the place of ${orderId}`,
      );
    }
    const why = reading.kind === 'unreadable' ? `: its ${reading.field} ${reading.rule}` : '';
    throw new WriteBackError('waits', `the order cannot be read${why}`);
  }
}

const mayHaveActed: readonly ShopApiError['kind'][] = ['unreachable', 'unavailable', 'unreadable'];
