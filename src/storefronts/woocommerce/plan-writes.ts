import {
  givenLines,
  isMoving,
  isWholeOrderGiven,
  type LineStatement,
  type OrderStatement,
} from '../shop/order-statement.ts';
import { type WritePlan, withheldUntilPaid } from '../shop/platform.ts';
import type { NotePosts } from './note-posts.ts';
import type { OrderField, OrderNote, OrderNow } from './order-fields.ts';
import { announcedNotesField, codesField, customerMarker, customerNotes, customerParts } from './order-fields.ts';
import { lineFields, missingFields, privateNote, readAnnouncedNotes, resultFields } from './order-fields.ts';
import type { WooCommerceWriteBack } from './settings.ts';

export type OrderWrite =
  | {
      readonly kind: 'fields';
      readonly fields: readonly OrderField[];
      readonly lines: readonly { readonly lineId: string; readonly fields: readonly OrderField[] }[];
      /** Notes that the order does not name yet. */
      readonly announced: readonly OrderNote[];
    }
  | { readonly kind: 'note'; readonly note: OrderNote }
  | { readonly kind: 'status'; readonly status: 'completed' };

type KnownPosts = Pick<NotePosts, 'stateOf' | 'countPosted'>;

/** With so many private notes something is wrong. */
const mostPrivateNotes = 20;
/** With so many mails the customer gets the next one when all lines are settled, with everything that is left. */
const mostEarlyMails = 10;

/**
 * The writes by which an order of WooCommerce comes to say what its result says. Pure. Nothing but our own fields and the
 * status is ever changed, and of an order that is closed nothing but a note for the people of the shop is written.
 */
export function planWrites(
  statement: OrderStatement,
  options: WooCommerceWriteBack,
  now: OrderNow,
  posts: KnownPosts,
): WritePlan<OrderWrite> {
  const { order } = now;
  if (order.status === 'trash') return { writes: [], withheld: null };
  const given = givenLines(statement, order);
  const notes = missingNotes(statement, options, now, posts);
  const before = readAnnouncedNotes(now.fields);
  const announced = notes.filter(({ markers }) => markers.some((marker) => !before.includes(marker)));
  const isClosed = order.state === 'closed';
  const ofOrder = [
    ...(isClosed ? [] : resultFields(statement)),
    ...(options.deliverCodes === 'meta' ? codesField(given) : []),
    ...(announced.length === 0 ? [] : [announcedNotesField([...before, ...announced.flatMap((note) => note.markers)])]),
  ];
  const fields = missingFields(ofOrder, now.fields);
  const lines = isClosed || !options.lineMeta ? [] : missingLineFields(statement, options, now);
  const isDone = options.status === 'completed' && order.state === 'paid' && order.status !== 'completed';
  const noteWrites = (isForCustomer: boolean) =>
    notes.filter((note) => note.isForCustomer === isForCustomer).map((note) => ({ kind: 'note', note }) as const);
  const writes: readonly OrderWrite[] = [
    ...(fields.length + lines.length === 0 ? [] : [{ kind: 'fields', fields, lines, announced } as const]),
    ...noteWrites(true),
    ...(isDone && isWholeOrderGiven(statement, order) ? [{ kind: 'status', status: 'completed' } as const] : []),
    ...noteWrites(false),
  ];
  return { writes, withheld: whyWithheld(statement, options, now) };
}

/** The notes that were not posted yet. What the customer reads in a note needs no private one, which would repeat it. */
function missingNotes(
  statement: OrderStatement,
  options: WooCommerceWriteBack,
  now: OrderNow,
  posts: KnownPosts,
): readonly OrderNote[] {
  const inNotes = options.deliverCodes === 'note';
  const given = inNotes ? givenLines(statement, now.order) : [];
  const isPosted = (part: LineStatement): boolean => posts.stateOf(customerMarker(statement, part)) === 'posted';
  // Each code is mailed once. Earlier versions told each line in one part.
  const partsLeft = (line: LineStatement): readonly LineStatement[] =>
    isPosted(line) ? [] : customerParts(line).filter((part) => !isPosted(part));
  const waits = isMoving(statement) && posts.countPosted(true) >= mostEarlyMails;
  const forCustomer = waits ? [] : customerNotes(statement, given.flatMap(partsLeft), now);
  // A line that the shop changed after its mail is not given any more, and the customer has read it all the same.
  const mailed = inNotes ? statement.lines.filter((line) => line.stage === 'done' && partsLeft(line).length === 0) : [];
  const told = new Set([...given, ...mailed].map(({ lineId }) => lineId));
  const note = privateNote(statement, told, now);
  const isMissing = note !== null && note.markers.some((marker) => posts.stateOf(marker) !== 'posted');
  return [...forCustomer, ...(isMissing && posts.countPosted(false) < mostPrivateNotes ? [note] : [])];
}

function missingLineFields(statement: OrderStatement, options: WooCommerceWriteBack, now: OrderNow) {
  const given = new Set(givenLines(statement, now.order));
  return statement.lines.flatMap((line) => {
    const shown = now.lines.get(line.lineId);
    if (shown === undefined) return [];
    const wanted = lineFields(line, options.deliverCodes === 'meta' && given.has(line), now);
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
