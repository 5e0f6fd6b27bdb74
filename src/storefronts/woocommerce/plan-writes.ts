import { givenLines, isWholeOrderGiven, type OrderStatement } from '../shop/order-statement.ts';
import { WriteBackError, type WritePlan, withheldUntilPaid } from '../shop/platform.ts';
import type { AnnouncedNotes, OrderField, OrderNote, OrderNow } from './order-fields.ts';
import { announcedNotesField, codesField, customerNote, lineFields, missingFields } from './order-fields.ts';
import { privateNote, readAnnouncedNotes, resultFields } from './order-fields.ts';
import type { WooCommerceWriteBack } from './settings.ts';

export type OrderWrite =
  | {
      readonly kind: 'fields';
      readonly fields: readonly OrderField[];
      readonly lines: readonly { readonly lineId: string; readonly fields: readonly OrderField[] }[];
    }
  | { readonly kind: 'note'; readonly note: OrderNote }
  | { readonly kind: 'status'; readonly status: 'completed' };

/**
 * What one run of write-back knows of a note. `posted`: the order has it. `announced`: this run announced it, so no earlier
 * run can still be posting it. `lost`: an earlier run announced it, and it does not appear any more.
 */
export type NoteState = 'posted' | 'announced' | 'lost';

interface KnownNotes {
  /** By marker; nothing is known of the others. */
  readonly states: ReadonlyMap<string, NoteState>;
  readonly nowMs: number;
}

/** With so many notes something is wrong: the customer must not get a mail after the other. */
const mostNotes = 20;

/**
 * The writes by which an order of WooCommerce comes to say what its result says. Pure. Nothing but our own fields and the
 * status is ever changed, and of an order that is closed nothing but a note for the people of the shop is written.
 * @throws WriteBackError final when the customer would get too many notes
 */
export function planWrites(
  statement: OrderStatement,
  options: WooCommerceWriteBack,
  now: OrderNow,
  known: KnownNotes,
): WritePlan<OrderWrite> {
  const { order } = now;
  if (order.status === 'trash') return { writes: [], withheld: null };
  const given = givenLines(statement, order);
  const names = new Map([...now.lines].map(([lineId, { name }]) => [lineId, name]));
  const forCustomer = options.deliverCodes === 'note' ? customerNote(statement, given, names) : null;
  const forShop = privateNote(statement);
  const { announced, notes } = announce([forCustomer, forShop], readAnnouncedNotes(now.fields), known);
  const isClosed = order.state === 'closed';
  const ofOrder = [
    ...(isClosed ? [] : resultFields(statement)),
    ...(options.deliverCodes === 'meta' ? codesField(given) : []),
    ...(announced.size === 0 ? [] : [announcedNotesField(announced)]),
  ];
  const fields = missingFields(ofOrder, now.fields);
  const lines = isClosed || !options.lineMeta ? [] : missingLineFields(statement, options, now);
  const isDone = options.status === 'completed' && order.state === 'paid' && order.status !== 'completed';
  const noteWrites = (isForCustomer: boolean) =>
    notes.filter((note) => note.isForCustomer === isForCustomer).map((note) => ({ kind: 'note', note }) as const);
  const writes: readonly OrderWrite[] = [
    ...(fields.length + lines.length === 0 ? [] : [{ kind: 'fields', fields, lines } as const]),
    ...noteWrites(true),
    ...(isDone && isWholeOrderGiven(statement, order) ? [{ kind: 'status', status: 'completed' } as const] : []),
    ...noteWrites(false),
  ];
  return { writes, withheld: whyWithheld(statement, options, now) };
}

/** The notes that the order does not have, and what is announced with them. */
function announce(
  wanted: readonly (OrderNote | null)[],
  before: AnnouncedNotes,
  { states, nowMs }: KnownNotes,
): { announced: AnnouncedNotes; notes: readonly OrderNote[] } {
  const announced = new Map(before);
  const notes: OrderNote[] = [];
  for (const note of wanted) {
    if (note === null || states.get(note.marker) === 'posted') continue;
    if (!announced.has(note.marker) && announced.size >= mostNotes) {
      if (!note.isForCustomer) continue;
      const problem = `the order has ${announced.size} notes of order-sync already, so the customer is sent no other one`;
      throw new WriteBackError('final', `${problem}: give the codes to the customer by hand`);
    }
    if (!announced.has(note.marker) || states.get(note.marker) === 'lost') announced.set(note.marker, nowMs);
    notes.push(note);
  }
  return { announced, notes };
}

function missingLineFields(statement: OrderStatement, options: WooCommerceWriteBack, now: OrderNow) {
  const given = new Set(givenLines(statement, now.order));
  return statement.lines.flatMap((line) => {
    const shown = now.lines.get(line.lineId);
    if (shown === undefined) return [];
    const wanted = lineFields(line, options.deliverCodes === 'meta' && given.has(line));
    const fields = missingFields(wanted, shown.fields);
    return fields.length === 0 ? [] : [{ lineId: line.lineId, fields }];
  });
}

function whyWithheld({ lines }: OrderStatement, options: WooCommerceWriteBack, { order }: OrderNow): string | null {
  const isOpen = order.state !== 'paid' && order.state !== 'closed';
  const gives = options.deliverCodes !== 'off' || options.status === 'completed';
  if (!isOpen || !gives || !lines.some(({ stage }) => stage === 'done')) return null;
  return withheldUntilPaid(`has the status "${order.status}"`);
}
