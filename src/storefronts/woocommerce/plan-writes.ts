import {
  givenLines,
  isMoving,
  isWholeOrderGiven,
  type LineStatement,
  type OrderStatement,
  saysPaid,
} from '../shop/order-statement.ts';
import { nobodyMailed, WriteBackError, type WritePlan, withheldUntilPaid } from '../shop/platform.ts';
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
  const unmailed = unmailedFlags(options, given, now);
  const flags = [...statement.flags, ...unmailed];
  const notes = missingNotes({ ...statement, flags }, options, now, posts);
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
  const isOpen = saysPaid(order) && !order.isDone && unmailed.length === 0;
  const isDone = options.status === 'completed' && isOpen;
  const noteWrites = (isForCustomer: boolean) =>
    notes.filter((note) => note.isForCustomer === isForCustomer).map((note) => ({ kind: 'note', note }) as const);
  const writes: readonly OrderWrite[] = [
    ...(fields.length + lines.length === 0 ? [] : [{ kind: 'fields', fields, lines, announced } as const]),
    ...noteWrites(true),
    ...(isDone && isWholeOrderGiven(statement, order) ? [{ kind: 'status', status: 'completed' } as const] : []),
    ...noteWrites(false),
  ];
  const problems = unmailed.map(({ rule }) => new WriteBackError(nobodyMailed, `the order ${rule}`));
  return { writes, withheld: problems[0] ?? whyWithheld(statement, options, now) };
}

/** The notes that were not posted yet. What the customer reads in a note needs no private one, which would repeat it. */
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
  // A line that the shop changed after its mail is not given any more, and the customer has read it all the same.
  const isMailed = (line: LineStatement): boolean => line.stage === 'done' && partsLeft(line).length === 0;
  const mailed = inNotes ? statement.lines.filter(isMailed).map(({ lineId }) => lineId) : [];
  const toMail = given.filter(({ lineId }) => inNotes && !mailed.includes(lineId));
  const forCustomer = waits ? [] : customerNotes(statement, toMail.flatMap(partsLeft), now);
  const told = {
    given: new Map(given.map((line) => [line.lineId, line])),
    inNotes: [...toMail.map(({ lineId }) => lineId), ...mailed],
    isPosted: isMarked,
  };
  const note = posts.countPosted(false) < mostPrivateNotes ? privateNote(statement, told, now) : null;
  return [...forCustomer, ...(note === null ? [] : [note])];
}

function missingLineFields(statement: OrderStatement, options: WooCommerceWriteBack, now: OrderNow) {
  const given = new Map(givenLines(statement, now.order).map((line) => [line.lineId, line]));
  return statement.lines.flatMap((line) => {
    const shown = now.lines.get(line.lineId);
    if (shown === undefined) return [];
    const part = given.get(line.lineId);
    const wanted = lineFields(part ?? line, options.deliverCodes === 'meta' && part !== undefined, now);
    const fields = missingFields(wanted, shown.fields);
    return fields.length === 0 ? [] : [{ lineId: line.lineId, fields }];
  });
}

/** Whoever gives the codes by hand completes the order. */
function unmailedFlags({ deliverCodes }: WooCommerceWriteBack, given: readonly unknown[], { lacksEmail }: OrderNow) {
  if (deliverCodes !== 'note' || given.length === 0 || !lacksEmail) return [];
  const rule = 'has no e-mail address, so the shop mails nobody: give the codes by hand, then complete it';
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
