import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { messageText } from '../../core/message-text.ts';
import type { Unit } from '../../core/answers/order-answer.ts';
import { labelledFields } from '../../core/answers/unit-fields.ts';
import {
  codesJson,
  type LineStatement,
  type OrderStatement,
  resultJson,
  saysPaid,
} from '../shop/order-statement.ts';
import { type Fields, isObject, listOf } from '../shop/payload-values.ts';
import { nobodyMailed } from '../shop/platform.ts';
import type { ShopOrder } from '../shop/shop-order.ts';

/** A field of an order or of one of its lines; the platform calls these meta data. */
export interface OrderField {
  readonly key: string;
  readonly value: string;
}

type FieldValues = ReadonlyMap<string, readonly string[]>;

/** An order as the shop shows it now, as far as write-back needs it. */
export interface OrderNow {
  readonly order: ShopOrder;
  readonly total: string;
  readonly fields: FieldValues;
  readonly lines: ReadonlyMap<string, LineNow>;
  /** How far the shop's time is ahead of UTC, in ms. */
  readonly zoneMs: number;
  readonly isRefundedWhole: boolean;
  readonly lacksEmail: boolean;
}

interface LineNow {
  readonly name: string;
  readonly sku: string;
  readonly quantity: string;
  readonly fields: FieldValues;
}

/**
 * The fields that write-back uses. The shop itself shows nobody the fields that begin with an
 * underscore.
 */
export const fieldKeys = {
  state: '_order_sync_state',
  result: '_order_sync_result',
  codes: '_order_sync_codes',
  notes: '_order_sync_notes',
  /** Shown to the customer, in mails and in the account. */
  lineCodes: 'Code',
} as const;

export function orderNow(value: unknown, order: ShopOrder): OrderNow {
  const document = isObject(value) ? value : {};
  const items = (listOf(document['line_items']) ?? []).filter(isObject);
  const lineOf = (item: Fields): LineNow => {
    const texts = {
      name: textOf(item['name']),
      sku: textOf(item['sku']),
      quantity: textOf(item['quantity']),
    };
    return { ...texts, fields: valuesOf(item['meta_data']) };
  };
  const lines = new Map(items.map((item) => [String(item['id']), lineOf(item)]));
  const zoneMs = zoneOf(textOf(document['date_created']), textOf(document['date_created_gmt']));
  const billing = document['billing'];
  const lacksEmail = isObject(billing) && textOf(billing['email']).trim() === '';
  const fields = valuesOf(document['meta_data']);
  const total = textOf(document['total']);
  const refunded = (listOf(document['refunds']) ?? [])
    .filter(isObject)
    .map((refund) => Number(refund['total']));
  const isRefundedWhole =
    refunded.length > 0 && refunded.reduce((sum, one) => sum + one, Number(total)) < 0.005;
  return { order, total, fields, lines, zoneMs, lacksEmail, isRefundedWhole };
}

/**
 * Both times of an order have no zone: the first is in the zone of the shop. 0: they cannot be
 * read.
 */
function zoneOf(local: string, gmt: string): number {
  const zoneMs = Date.parse(`${local}Z`) - Date.parse(`${gmt}Z`);
  return Math.abs(zoneMs) <= 14 * 3_600_000 ? zoneMs : 0;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function valuesOf(entries: unknown): FieldValues {
  const values = new Map<string, string[]>();
  for (const entry of (listOf(entries) ?? []).filter(isObject)) {
    const { key, value } = entry;
    if (typeof key !== 'string') continue;
    values.set(key, [
      ...(values.get(key) ?? []),
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
  }
  return values;
}

export const resultIn = (order: Fields): string | null =>
  valuesOf(order['meta_data']).get(fieldKeys.result)?.[0] ?? null;

export function missingFields(
  wanted: readonly OrderField[],
  now: FieldValues,
): readonly OrderField[] {
  return wanted.filter(({ key, value }) => {
    const [first, ...others] = now.get(key) ?? [];
    return first !== value || others.length > 0;
  });
}

/** The result, for programs. It has no codes. */
export const resultFields = (statement: OrderStatement): readonly OrderField[] => [
  { key: fieldKeys.state, value: statement.state },
  { key: fieldKeys.result, value: resultJson(statement) },
];

/** The units of these lines, for a theme or a plugin that shows them. */
export const codesField = (given: readonly LineStatement[]): readonly OrderField[] =>
  given.length === 0 ? [] : [{ key: fieldKeys.codes, value: codesJson(given) }];

export function lineFields(
  line: LineStatement,
  withCodes: boolean,
  now: OrderNow,
): readonly OrderField[] {
  const texts = line.units.map((unit) =>
    shownFields(unit, now).map(({ name, label, value }) =>
      name === 'code' ? value : `${label}: ${value}`,
    ),
  );
  const value = texts.map((fields) => fields.join(', ')).join('\n');
  const codes = withCodes && texts.length > 0 ? [{ key: fieldKeys.lineCodes, value }] : [];
  return [{ key: fieldKeys.state, value: line.state }, ...codes];
}

/** A time is shown as its day in the zone of the shop: customers in all languages read that. */
function shownFields(unit: Unit, { zoneMs }: OrderNow): ReturnType<typeof labelledFields> {
  const endMs = /^\d{4}-\d{2}-\d{2}T/.test(unit.expires_at ?? '')
    ? Date.parse(unit.expires_at ?? '')
    : Number.NaN;
  if (!Number.isFinite(endMs)) return labelledFields(unit);
  return labelledFields({
    ...unit,
    expires_at: new Date(endMs + zoneMs).toISOString().slice(0, 10),
  });
}

export interface OrderNote {
  /**
   * Stand in its text. Each says one thing, and is the same whenever the same is said about the
   * order.
   */
  readonly markers: readonly string[];
  /** HTML, as WordPress shows it. */
  readonly text: string;
  readonly isForCustomer: boolean;
}

const factsInNote = 50;

interface Told {
  readonly given: ReadonlyMap<string, LineStatement>;
  /** The customer reads these lines in a note. */
  readonly inNotes: readonly string[];
  readonly isPosted: (marker: string) => boolean;
}

/**
 * Says to the people of the shop, once each, what was delivered and what needs review; null:
 * nothing is new. It has no codes.
 */
export function privateNote(
  statement: OrderStatement,
  { given, inNotes, isPosted }: Told,
  now: OrderNow,
): OrderNote | null {
  const { source, orderId, flags, isSandbox } = statement;
  const markerOfFact = (fact: unknown): string => markerOf('private', statement, [fact]);
  const lines = statement.lines.filter(
    ({ stage, lineId }) => stage !== 'open' && !inNotes.includes(lineId),
  );
  const facts = lines.map((line) => {
    // Not the message: each try of the same thing may word it differently.
    const fact = [line.lineId, line.state, line.references, line.problem?.code ?? null];
    const part = given.get(line.lineId);
    const why = part !== undefined || isPosted(markerOfFact(fact)) ? null : whyNotGiven(line, now);
    return { fact: why === null ? fact : [...fact, why], text: toldLine(part ?? line, now, why) };
  });
  const changes = flags.map(({ lineId, code, rule }) => {
    const head = code === nobodyMailed ? 'Needs review' : 'Changed in the shop';
    return {
      fact: [lineId, code, rule],
      text: `${head}: ${lineName(lineId, now)}: ${shownMessage(rule)}.`,
    };
  });
  const said = [...facts, ...changes]
    .map(({ fact, text }) => ({ marker: markerOfFact(fact), text }))
    .filter(({ marker }) => !isPosted(marker))
    .slice(0, factsInNote);
  if (said.length === 0) return null;
  const markers = said.map(({ marker }) => marker);
  const head = `order-sync${isSandbox ? ' (sandbox: nothing of this is real)' : ''}:`;
  const command = shownValue(`order-sync orders show ${orderId} --source ${source}`);
  const text = [
    head,
    ...said.map((one) => one.text),
    `All of it: ${command}${markers.map(commentOf).join('')}`,
  ];
  return { markers, text: text.join('\n'), isForCustomer: false };
}

function whyNotGiven({ lineId, stage, pieces }: LineStatement, { order }: OrderNow): string | null {
  if (stage !== 'done' || pieces === null) return null;
  if (!saysPaid(order)) return `the order is "${order.status}"`;
  return `the order has ${order.lines.find((line) => line.lineId === lineId)?.remaining ?? 0} of ${pieces} now`;
}

function lineName(lineId: string | null, { lines }: OrderNow): string {
  const shown = lineId === null ? undefined : lines.get(lineId);
  if (shown === undefined) return lineId === null ? 'the order' : `line ${lineId}`;
  const sku = shown.sku === '' ? '' : ` (${shown.sku})`;
  return `${escaped(`${shown.name}${sku} × ${shown.quantity}`)} (line ${lineId})`;
}

function toldLine(
  { lineId, sku, pieces, stage, state, references, problem }: LineStatement,
  now: OrderNow,
  whyNot: string | null,
): string {
  // Of a line that was not accepted only the shop knows the name.
  const name =
    sku === '' ? lineName(lineId, now) : `${escaped(sku)} × ${pieces ?? '?'} (line ${lineId})`;
  const under =
    references.length === 0 ? '' : `, ordered as ${references.slice(0, 5).map(escaped).join(', ')}`;
  if (whyNot !== null) return `Bought, not given: ${name}${under}, because ${escaped(whyNot)}.`;
  if (stage === 'done') return `Delivered: ${name}${under}.`;
  const why = problem === null ? '' : `: ${shownMessage(problem.message)}`;
  return `Needs review: ${name}${under}, ${state}${why}.`;
}

/**
 * WordPress keeps 65,535 bytes of a note. It mails a longer one all the same, and answers that it
 * failed.
 */
const longestNoteBytes = 48_000;
const unitsOfPart = 20;

/** Each part of a line is told in one note. Most lines are one part. */
export function customerParts(line: LineStatement): readonly LineStatement[] {
  const rest = line.units.slice(unitsOfPart);
  if (rest.length === 0) return [line];
  return [
    { ...line, units: line.units.slice(0, unitsOfPart) },
    ...customerParts({ ...line, units: rest, toppedUp: [] }),
  ];
}

/** Says that the customer was given the units of this part. */
export function customerMarker(
  statement: OrderStatement,
  { boughtId, units, toppedUp }: LineStatement,
): string {
  return markerOf('customer', statement, [boughtId, units, toppedUp]);
}

/** Notes that give the customer the units of these parts: one, if it is not too long. */
export function customerNotes(
  statement: OrderStatement,
  given: readonly LineStatement[],
  now: OrderNow,
) {
  const notes: LineStatement[][] = [];
  let left = 0;
  for (const part of given) {
    const bytes = Buffer.byteLength(customerNote(statement, [part], now).text);
    if (bytes > left) {
      notes.push([]);
      left = longestNoteBytes;
    }
    notes.at(-1)?.push(part);
    left -= bytes;
  }
  return notes.map((parts) => customerNote(statement, parts, now));
}

/**
 * Each value stands in a `code` element: elsewhere WordPress changes characters, for example two
 * hyphens into a dash.
 */
function customerNote(
  statement: OrderStatement,
  given: readonly LineStatement[],
  now: OrderNow,
): OrderNote {
  const markers = given.map((part) => customerMarker(statement, part));
  const parts = given.map(({ lineId, sku, pieces, units, toppedUp }, index) => {
    const title = `<strong>${escaped(now.lines.get(lineId)?.name ?? sku)} × ${pieces}</strong>`;
    const titles = given[index - 1]?.lineId === lineId ? [] : [title];
    const fields = units.flatMap((unit) => shownFields(unit, now));
    const rows = fields.map(({ label, value }) => `${label}: ${shownValue(value)}`);
    return [...titles, ...rows, ...toppedUp.map((iccid) => `Topped up: ${shownValue(iccid)}`)].join(
      '\n',
    );
  });
  const head = statement.isSandbox ? ['This is a test: none of these can be used.'] : [];
  return {
    markers,
    text: [...head, ...parts].join('\n\n') + markers.map(commentOf).join(''),
    isForCustomer: true,
  };
}

/** A command in it can be copied. */
const shownMessage = (text: string): string =>
  escaped(messageText(text, 300)).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

function shownValue(value: string): string {
  const code = `<code>${escaped(value)}</code>`;
  return /^https?:\/\//.test(value) ? `<a href="${escaped(value)}">${code}</a>` : code;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // WordPress removes a backslash when it stores a note.
  '\\': '&#92;',
};

/**
 * Older databases refuse characters of four bytes, for example emoji: the note would be mailed, and
 * not be kept.
 */
const escaped = (text: string): string =>
  text.replace(
    /[&<>"\\]|[\u{10000}-\u{10ffff}]/gu,
    (found) => entities[found] ?? `&#${found.codePointAt(0)};`,
  );

function markerOf(kind: string, { orderId }: OrderStatement, facts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify([kind, orderId, facts]), 'hex').slice(0, 16);
}

/** WordPress keeps it in notes and mails, and nobody sees it. */
const commentOf = (marker: string): string => `<!--order-sync:${marker}-->`;

export function markersIn(text: string): readonly string[] {
  return [...text.matchAll(/<!--order-sync:([0-9a-f]{16})-->/g)].map(([, marker = '']) => marker);
}

/**
 * The markers of the notes that were about to be posted: a field of the order has them before the
 * first try. So a worker whose disk was lost looks for these notes before it posts them again.
 */
export function readAnnouncedNotes(fields: FieldValues): readonly string[] {
  const texts = fields.get(fieldKeys.notes) ?? [];
  return texts.flatMap((text) => text.split(' ')).filter((marker) => /^[0-9a-f]{16}$/.test(marker));
}

export function announcedNotesField(markers: readonly string[]): OrderField {
  return { key: fieldKeys.notes, value: [...new Set(markers)].join(' ') };
}
