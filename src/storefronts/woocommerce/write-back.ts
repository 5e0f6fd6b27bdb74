import { isObject } from '../shop/payload-values.ts';
import {
  readOrder,
  WriteBackError,
  type WriteBackParts,
  nobodyMailed,
  type WritePlan,
  withheldUntilPaid,
} from '../shop/platform.ts';
import { ShopApiError } from '../shop/shop-api.ts';
import {
  type OrderStatement,
  givenLines,
  isMoving,
  isWholeOrderGiven,
  type LineStatement,
  saysPaid,
} from '../shop/order-statement.ts';
import { NotePosts } from './note-posts.ts';
import {
  fieldKeys,
  markersIn,
  type OrderNote,
  orderNow,
  type OrderNow,
  readAnnouncedNotes,
  type OrderField,
  announcedNotesField,
  codesField,
  customerMarker,
  customerNotes,
  customerParts,
  lineFields,
  missingFields,
  privateNote,
  resultFields,
} from './order-fields.ts';
import type { WooCommerceApi } from './rest-client.ts';
import type { WooCommerceShop, WooCommerceWriteBack } from './settings.ts';

type Parts = WriteBackParts<WooCommerceShop, WooCommerceApi>;
type FieldsWrite = Extract<OrderWrite, { kind: 'fields' }>;

/** An order needs four; more mean that the shop does not keep what is written. */
const mostSteps = 12;

/**
 * A note whose post began before so many call deadlines, and that the order does not show, does not
 * appear any more: the call was given up within the first, and the shop had two to finish it.
 */
const deadlinesUntilLost = 3;
/** Meanwhile it is looked for so often. */
const looksUntilLost = 9;

const mayHaveActed: readonly ShopApiError['kind'][] = ['unreachable', 'unavailable', 'unreadable'];

/**
 * Brings one order of WooCommerce to what its result says: reads it, makes the first missing write,
 * and so on until none is missing. So a run may be repeated at any time, also after a lost answer.
 * A note takes two rounds: a field of the order names it, for a worker whose disk was lost, and
 * then it is posted. One whose post had begun, and whose end nobody knows, is looked for in the
 * order until it cannot appear any more.
 */
export class OrderWriter {
  readonly #statement: OrderStatement;
  readonly #parts: Parts;
  readonly #posts: NotePosts;
  readonly #written: string[] = [];
  /** Notes that the shop refused in this run, by their first marker. */
  readonly #refused = new Map<string | undefined, ShopApiError>();
  #refunds: readonly unknown[] = [];
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
      const { writes, withheld } = planWrites(
        this.#statement,
        this.#parts.options,
        now,
        this.#posts,
      );
      const write = writes.find(
        (one) => one.kind !== 'note' || !this.#refused.has(one.note.markers[0]),
      );
      if (write !== undefined) {
        now = await this.#make(write, now);
        continue;
      }
      for (const refusal of this.#refused.values()) throw refusal;
      if (withheld !== null) throw withheld;
      return this.#written;
    }
    throw new WriteBackError(
      'waits',
      `the order changed ${mostSteps} times while the result was written`,
    );
  }

  /**
   * Finds out what became of posts whose end the outbox does not know, also of those that a lost
   * outbox made.
   */
  async #comparePosts(now: OrderNow): Promise<void> {
    const announced = readAnnouncedNotes(now.fields);
    const isKnown = announced.every((marker) => this.#posts.stateOf(marker) !== null);
    // A write that the shop processed late may have removed what a lost outbox announced.
    const isLost =
      this.#posts.isEmpty && Object.values(fieldKeys).some((key) => now.fields.has(key));
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
    this.#parts.logger.warn(
      'the order was refunded while the worker completed it: its status is set back',
    );
    this.#written.push('status refunded');
    return await this.#update({ status: 'refunded' });
  }

  async #writeFields(write: FieldsWrite, before: OrderNow): Promise<OrderNow> {
    const isUnknown = (marker: string): boolean => this.#posts.stateOf(marker) === null;
    // Before the call: else a run after a lost answer would take it for the announcement of another
    // outbox.
    for (const note of write.announced) {
      // The post of others may have begun.
      const markers = note.markers.filter(isUnknown);
      if (markers.length > 0) await this.#posts.set({ ...note, markers }, 'announced');
    }
    const lines = write.lines.map(({ lineId, fields }) => ({ id: lineId, meta_data: fields }));
    const after = await this.#update({
      meta_data: write.fields,
      ...(lines.length === 0 ? {} : { line_items: lines }),
    });
    this.#written.push(
      ...write.fields.map(({ key }) => key),
      ...lines.map(({ id }) => `line ${id}`),
    );
    this.#checkKept(write, before, after);
    return after;
  }

  /**
   * A plugin may drop or change fields. Without the announcement of a note, a lost disk could
   * double it.
   */
  #checkKept(write: FieldsWrite, before: OrderNow, after: OrderNow): void {
    const dropped = write.fields.find(({ key, value }) => after.fields.get(key)?.[0] !== value);
    if (dropped !== undefined) {
      const problem = `the shop did not keep the field ${dropped.key} of the order as the worker wrote it`;
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
    const isBegun = (): boolean =>
      note.markers.some((marker) => this.#posts.stateOf(marker) === 'begun');
    if (isBegun()) {
      const waitMs = this.#posts.settleInMs(note.markers, this.#lostAfterMs);
      const problem = 'perhaps an earlier try posted a note that the order does not show yet';
      const lookInMs = Math.min(waitMs, Math.max(waitMs, this.#lostAfterMs) / looksUntilLost);
      throw new WriteBackError('settles', problem, lookInMs);
    }
    this.#isShown = false;
    const once = {
      latestStartMs: clock.steadyMs() + this.#deadlineMs,
      begins: () => this.#posts.set(note, 'begun'),
    };
    try {
      await api.addNote(
        this.#statement.orderId,
        { note: note.text, customer_note: note.isForCustomer },
        once,
        signal,
      );
    } catch (error) {
      if (!(error instanceof ShopApiError) || error.kind === 'stopped') throw error;
      if (isBegun() && mayHaveActed.includes(error.kind)) {
        throw new WriteBackError('waits', `${error.message}; perhaps the shop has posted the note`);
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

type OrderWrite =
  | {
      readonly kind: 'fields';
      readonly fields: readonly OrderField[];
      readonly lines: readonly {
        readonly lineId: string;
        readonly fields: readonly OrderField[];
      }[];
      readonly announced: readonly OrderNote[];
    }
  | { readonly kind: 'note'; readonly note: OrderNote }
  | { readonly kind: 'status'; readonly status: 'completed' };

type KnownPosts = Pick<NotePosts, 'stateOf' | 'countPosted'>;

/** With so many private notes something is wrong. */
const mostPrivateNotes = 20;
/**
 * With so many mails the customer gets the next one when all lines are settled, with everything
 * that is left.
 */
const mostEarlyMails = 10;

/**
 * The writes by which an order of WooCommerce comes to say what its result says. Pure. Nothing but
 * our own fields and the status is ever changed, and of an order that is closed nothing but a note
 * for the people of the shop is written.
 */
function planWrites(
  statement: OrderStatement,
  options: WooCommerceWriteBack,
  now: OrderNow,
  posts: KnownPosts,
): WritePlan<OrderWrite> {
  const { order } = now;
  if (order.status === 'trash') return { writes: [], withheld: null };
  const given = givenLines(statement, order);
  const unmailed = unmailedFlags(options, given, now);
  const flags = [...statement.flags, ...unmailed];
  const notes = missingNotes({ ...statement, flags }, options, now, posts);
  const before = readAnnouncedNotes(now.fields);
  const announced = notes.filter(({ markers }) =>
    markers.some((marker) => !before.includes(marker)),
  );
  const isClosed = order.state === 'closed';
  const ofOrder = [
    ...(isClosed ? [] : resultFields(statement)),
    ...(options.deliverCodes === 'meta' ? codesField(given) : []),
    ...(announced.length === 0
      ? []
      : [announcedNotesField([...before, ...announced.flatMap((note) => note.markers)])]),
  ];
  const fields = missingFields(ofOrder, now.fields);
  const lines = isClosed || !options.lineMeta ? [] : missingLineFields(statement, options, now);
  const isOpen = saysPaid(order) && !order.isDone && unmailed.length === 0;
  const isDone = options.status === 'completed' && isOpen;
  const noteWrites = (isForCustomer: boolean) =>
    notes
      .filter((note) => note.isForCustomer === isForCustomer)
      .map((note) => ({ kind: 'note', note }) as const);
  const writes: readonly OrderWrite[] = [
    ...(fields.length + lines.length === 0
      ? []
      : [{ kind: 'fields', fields, lines, announced } as const]),
    ...noteWrites(true),
    ...(isDone && isWholeOrderGiven(statement, order)
      ? [{ kind: 'status', status: 'completed' } as const]
      : []),
    ...noteWrites(false),
  ];
  const problems = unmailed.map(
    ({ rule }) => new WriteBackError(nobodyMailed, `the order ${rule}`),
  );
  return { writes, withheld: problems[0] ?? whyWithheld(statement, options, now) };
}

/**
 * The notes that were not posted yet. A private note does not repeat one that the customer reads.
 */
function missingNotes(
  statement: OrderStatement,
  options: WooCommerceWriteBack,
  now: OrderNow,
  posts: KnownPosts,
): readonly OrderNote[] {
  const inNotes = options.deliverCodes === 'note';
  const given = givenLines(statement, now.order);
  const isMarked = (marker: string): boolean => posts.stateOf(marker) === 'posted';
  const isPosted = (part: LineStatement): boolean => isMarked(customerMarker(statement, part));
  // Each code is mailed once.
  const partsLeft = (line: LineStatement): readonly LineStatement[] =>
    customerParts(line).filter((part) => !isPosted(part));
  const waits = isMoving(statement) && posts.countPosted(true) >= mostEarlyMails;
  // A line that the shop changed after its mail is not given any more, and the customer has read it
  // all the same.
  const isMailed = (line: LineStatement): boolean =>
    line.stage === 'done' && partsLeft(line).length === 0;
  const mailed = inNotes ? statement.lines.filter(isMailed).map(({ lineId }) => lineId) : [];
  const toMail = given.filter(({ lineId }) => inNotes && !mailed.includes(lineId));
  const forCustomer = waits ? [] : customerNotes(statement, toMail.flatMap(partsLeft), now);
  const told = {
    given: new Map(given.map((line) => [line.lineId, line])),
    inNotes: [...toMail.map(({ lineId }) => lineId), ...mailed],
    isPosted: isMarked,
  };
  const note =
    posts.countPosted(false) < mostPrivateNotes ? privateNote(statement, told, now) : null;
  return [...forCustomer, ...(note === null ? [] : [note])];
}

function missingLineFields(
  statement: OrderStatement,
  options: WooCommerceWriteBack,
  now: OrderNow,
) {
  const given = new Map(givenLines(statement, now.order).map((line) => [line.lineId, line]));
  return statement.lines.flatMap((line) => {
    const shown = now.lines.get(line.lineId);
    if (shown === undefined) return [];
    const part = given.get(line.lineId);
    const wanted = lineFields(
      part ?? line,
      options.deliverCodes === 'meta' && part !== undefined,
      now,
    );
    const fields = missingFields(wanted, shown.fields);
    return fields.length === 0 ? [] : [{ lineId: line.lineId, fields }];
  });
}

/** Whoever gives the codes by hand completes the order. */
function unmailedFlags(
  { deliverCodes }: WooCommerceWriteBack,
  given: readonly unknown[],
  { lacksEmail }: OrderNow,
) {
  if (deliverCodes !== 'note' || given.length === 0 || !lacksEmail) return [];
  const rule =
    'has no e-mail address, so the shop mails no customer: give the codes by hand, then complete the order';
  return [{ lineId: null, code: nobodyMailed, rule }];
}

function whyWithheld(
  { lines }: OrderStatement,
  options: WooCommerceWriteBack,
  { order }: OrderNow,
): WriteBackError | null {
  const isOpen = !saysPaid(order) && order.state !== 'closed';
  const gives = options.deliverCodes !== 'off' || options.status === 'completed';
  if (!isOpen || !gives || !lines.some(({ stage }) => stage === 'done')) return null;
  return withheldUntilPaid(`has the status "${order.status}"`);
}
