import { isObject } from '../shop/payload-values.ts';
import { readOrder, WriteBackError, type WriteBackParts } from '../shop/platform.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import type { OrderStatement } from '../shop/order-statement.ts';
import {
  fieldKeys,
  markerPattern,
  type OrderNote,
  orderNow,
  type OrderNow,
  readAnnouncedNotes,
} from './order-fields.ts';
import { type NoteState, type OrderWrite, planWrites } from './plan-writes.ts';
import type { WooCommerceApi } from './rest-client.ts';
import type { WooCommerceShop } from './settings.ts';

type Parts = WriteBackParts<WooCommerceShop, WooCommerceApi>;
type FieldsWrite = Extract<OrderWrite, { kind: 'fields' }>;

/** An order needs five; more mean that the shop does not keep what is written. */
const mostSteps = 12;

/**
 * A note of which this process has known for so many call deadlines does not appear any more: its post began within the first,
 * was given up within the second, and the shop had the third to finish it.
 */
const deadlinesUntilLost = 3;

const mayHaveActed: readonly ShopApiError['kind'][] = ['unreachable', 'unavailable', 'unreadable'];

/**
 * Brings one order of WooCommerce to what its result says: reads it, makes the first missing write, and so on until none is
 * missing. So a run may be repeated at any time, also after a lost answer. A note takes two rounds: it is announced in a field
 * of the order, and then posted. One that an earlier run announced is looked for instead. If it is not there, it is waited for
 * until it cannot appear any more; then it counts as lost, and two more rounds announce and post it.
 */
export class OrderWriter {
  readonly #statement: OrderStatement;
  readonly #parts: Parts;
  readonly #written: string[] = [];
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

  /** Returns what was written. @throws WriteBackError, ShopApiError */
  async run(): Promise<readonly string[]> {
    const { options, clock } = this.#parts;
    let now = await this.#read();
    if (Object.values(fieldKeys).some((key) => now.fields.has(key))) this.#earlierNotes = 'unread';
    for (let step = 0; step < mostSteps; step += 1) {
      const known = { states: this.#notes, nowMs: clock.wallMs() };
      const { writes, withheld } = planWrites(this.#statement, options, now, known);
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
    if (write.kind === 'fields') return await this.#writeFields(write, now);
    this.#written.push(`status ${write.status}`);
    return await this.#update({ status: write.status });
  }

  async #writeFields(write: FieldsWrite, before: OrderNow): Promise<OrderNow> {
    const lines = write.lines.map(({ lineId, fields }) => ({ id: lineId, meta_data: fields }));
    const after = await this.#update({ meta_data: write.fields, ...(lines.length === 0 ? {} : { line_items: lines }) });
    const announced = readAnnouncedNotes(before.fields);
    for (const [marker, ms] of readAnnouncedNotes(after.fields)) {
      if (this.#notes.get(marker) !== 'posted' && announced.get(marker) !== ms) this.#notes.set(marker, 'announced');
    }
    this.#written.push(...write.fields.map(({ key }) => key), ...lines.map(({ id }) => `line ${id}`));
    this.#checkKept(write, before, after);
    return after;
  }

  /** A plugin may drop or change fields. Without the announcement of a note, a lost answer could double it. */
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
    const { api, clock, signal, noteTimes } = this.#parts;
    // A write of an earlier run that the shop processed late may have removed an announcement, after its note was posted.
    if (this.#notes.get(note.marker) !== 'announced' || this.#earlierNotes === 'unread') await this.#readNotes();
    const state = this.#notes.get(note.marker);
    if (state === 'posted') return now;
    if (state !== 'announced') {
      this.#waitUntilLost(note);
      return now;
    }
    const once = { latestStartMono: clock.monoMs() + this.#deadlineMs };
    noteTimes.posted(note.marker);
    try {
      await api.addNote(this.#statement.orderId, { note: note.text, customer_note: note.isForCustomer }, once, signal);
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
    for (const note of await api.notesOf(this.#statement.orderId, signal)) {
      const text = isObject(note) ? String(note['note']) : '';
      for (const [marker] of text.matchAll(markerPattern)) this.#notes.set(marker, 'posted');
    }
    this.#earlierNotes = 'read';
  }

  /** @throws WriteBackError while a note that an earlier run announced may still appear */
  #waitUntilLost({ marker }: OrderNote): void {
    const waitMs = deadlinesUntilLost * this.#deadlineMs - this.#parts.noteTimes.knownForMs(marker);
    if (waitMs > 0) {
      const problem = 'an earlier try may have posted a note that the order does not show yet';
      throw new WriteBackError('settles', problem, waitMs);
    }
    this.#notes.set(marker, 'lost');
  }

  get #deadlineMs(): number {
    return this.#parts.shop.rest?.timeouts.totalMs ?? 0;
  }

  async #read(): Promise<OrderNow> {
    const { value, refunds, order } = await readOrder(this.#statement.orderId, this.#parts);
    this.#refunds = refunds;
    return orderNow(value, order);
  }

  async #update(change: Parameters<WooCommerceApi['updateOrder']>[1]): Promise<OrderNow> {
    const { api, read, signal } = this.#parts;
    const value = await api.updateOrder(this.#statement.orderId, change, signal);
    return orderNow(value, read({ value, refunds: this.#refunds }));
  }
}
