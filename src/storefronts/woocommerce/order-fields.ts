import { hash } from 'node:crypto';
import { messageText } from '../../core/message-text.ts';
import { codesJson, type LineStatement, type OrderStatement, resultJson, unitFields } from '../shop/order-statement.ts';
import { type Fields, isObject, listOf } from '../shop/payload-values.ts';
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
  readonly lines: ReadonlyMap<string, { readonly name: string; readonly fields: FieldValues }>;
}

/** The fields that write-back uses. The shop itself shows nobody the fields that begin with an underscore. */
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
  const lineOf = (item: Fields) => ({ name: textOf(item['name']), fields: valuesOf(item['meta_data']) });
  const lines = new Map(items.map((item) => [String(item['id']), lineOf(item)]));
  return { order, total: textOf(document['total']), fields: valuesOf(document['meta_data']), lines };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function valuesOf(entries: unknown): FieldValues {
  const values = new Map<string, string[]>();
  for (const entry of (listOf(entries) ?? []).filter(isObject)) {
    const { key, value } = entry;
    if (typeof key !== 'string') continue;
    values.set(key, [...(values.get(key) ?? []), typeof value === 'string' ? value : JSON.stringify(value)]);
  }
  return values;
}

export function missingFields(wanted: readonly OrderField[], now: FieldValues): readonly OrderField[] {
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

export function lineFields(line: LineStatement, withCodes: boolean): readonly OrderField[] {
  const texts = line.units.map((unit) =>
    unitFields(unit).map(({ label, value }) => (label === fieldKeys.lineCodes ? value : `${label}: ${value}`)),
  );
  const value = texts.map((fields) => fields.join(', ')).join('\n');
  const codes = withCodes && texts.length > 0 ? [{ key: fieldKeys.lineCodes, value }] : [];
  return [{ key: fieldKeys.state, value: line.state }, ...codes];
}

export interface OrderNote {
  /** Stands in its text, and is the same whenever the same is said about the order. */
  readonly marker: string;
  /** HTML, as WordPress shows it. */
  readonly text: string;
  readonly isForCustomer: boolean;
}

export const markerPattern = /\[order-sync:[0-9a-f]{16}\]/g;
const mostLinesInNote = 50;

/** Says to the people of the shop what was delivered and what needs review; null: neither. It has no codes. */
export function privateNote(statement: OrderStatement): OrderNote | null {
  const told = statement.lines.filter(({ stage }) => stage !== 'open');
  if (told.length === 0) return null;
  // Not the message: each try of the same thing may word it differently.
  const facts = told.map((line) => [line.lineId, line.state, line.references, line.problem?.code ?? null]);
  const marker = markerOf('private', statement, facts);
  const { source, orderId } = statement;
  const lines = told.slice(0, mostLinesInNote).map(toldLine);
  if (told.length > lines.length) lines.push(`and ${told.length - lines.length} more lines.`);
  const head = `order-sync${statement.isSandbox ? ' (sandbox: nothing of this is real)' : ''}:`;
  const ending = `All of it: order-sync orders show ${orderId} --source ${escaped(source)} ${marker}`;
  return { marker, text: [head, ...lines, ending].join('\n'), isForCustomer: false };
}

function toldLine({ lineId, sku, pieces, stage, state, references, problem }: LineStatement): string {
  const name = `${sku === '' ? 'line' : escaped(sku)} × ${pieces ?? '?'} (line ${lineId})`;
  const under = references.length === 0 ? '' : `, ordered as ${references.slice(0, 5).map(escaped).join(', ')}`;
  if (stage === 'done') return `Delivered: ${name}${under}.`;
  const why = problem === null ? '' : `: ${escaped(messageText(problem.message, 300))}`;
  return `Needs review: ${name}${under}, ${state}${why}.`;
}

/**
 * Gives the customer the units of these lines. Each value stands in a `code` element: elsewhere WordPress changes characters,
 * for example two hyphens into a dash.
 * @param names the names of the products, by the id of their lines
 */
export function customerNote(
  statement: OrderStatement,
  given: readonly LineStatement[],
  names: ReadonlyMap<string, string>,
): OrderNote | null {
  if (given.length === 0) return null;
  const facts = given.map(({ lineId, units, toppedUp }) => [lineId, units.map((unit) => unitFields(unit)), toppedUp]);
  const marker = markerOf('customer', statement, facts);
  const parts = given.map(({ lineId, sku, pieces, units, toppedUp }) => {
    const title = `<strong>${escaped(names.get(lineId) ?? sku)} × ${pieces}</strong>`;
    const rows = units.flatMap((unit) => unitFields(unit).map(({ label, value }) => `${label}: ${shownValue(value)}`));
    return [title, ...rows, ...toppedUp.map((iccid) => `Topped up: ${shownValue(iccid)}`)].join('\n');
  });
  const head = statement.isSandbox ? ['This is a test: none of these can be used.'] : [];
  return { marker, text: [...head, ...parts, marker].join('\n\n'), isForCustomer: true };
}

function shownValue(value: string): string {
  const code = `<code>${escaped(value)}</code>`;
  return /^https?:\/\//.test(value) ? `<a href="${escaped(value)}">${code}</a>` : code;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function markerOf(kind: string, { orderId }: OrderStatement, facts: readonly unknown[]): string {
  return `[order-sync:${hash('sha256', JSON.stringify([kind, orderId, facts]), 'hex').slice(0, 16)}]`;
}

/**
 * The notes that write-back was about to post, with the time: a field of the order has them before the first try. A note
 * cannot be posted so that a second try does nothing, and the answer of the first may be lost. So a note that was announced
 * is looked for before it is posted again, also by a worker whose disk was lost.
 */
export type AnnouncedNotes = ReadonlyMap<string, number>;

export function readAnnouncedNotes(fields: FieldValues): AnnouncedNotes {
  const entries = (fields.get(fieldKeys.notes) ?? []).flatMap((text) => text.split(' '));
  const notes = entries.map((entry) => /^(\[order-sync:[0-9a-f]{16}\])@([^@]+)$/.exec(entry) ?? []);
  const times = notes.map(([, marker = '', time = '']) => [marker, Date.parse(time)] as const);
  return new Map(times.filter(([, ms]) => Number.isFinite(ms)));
}

export function announcedNotesField(announced: AnnouncedNotes): OrderField {
  const entries = [...announced].map(([marker, ms]) => `${marker}@${new Date(ms).toISOString()}`);
  return { key: fieldKeys.notes, value: entries.join(' ') };
}
