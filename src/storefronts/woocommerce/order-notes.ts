import { hash } from 'node:crypto';
import { messageText } from '../../core/message-text.ts';
import { type LineStatement, type OrderStatement, unitFields } from '../shop/order-statement.ts';
import { fieldKeys, type FieldValues, type OrderField } from './order-fields.ts';

/** A note of a WooCommerce order. */
export interface OrderNote {
  /** Stands in its text, and is the same whenever the same is said about the order. */
  readonly marker: string;
  /** HTML, as WordPress shows it. */
  readonly text: string;
  /** The shop sends it to the customer. */
  readonly isForCustomer: boolean;
}

/** Each marker in a text. */
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
    const rows = units.map((unit) =>
      unitFields(unit)
        .map(({ label, value }) => `${label}: ${shownValue(value)}`)
        .join('\n'),
    );
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
  return new Map(
    entries.flatMap((entry): [string, number][] => {
      const [marker = '', time = ''] = entry.split('@');
      const ms = Date.parse(time);
      return /^\[order-sync:[0-9a-f]{16}\]$/.test(marker) && Number.isFinite(ms) ? [[marker, ms]] : [];
    }),
  );
}

export function announcedNotesField(announced: AnnouncedNotes): OrderField {
  const entries = [...announced].map(([marker, ms]) => `${marker}@${new Date(ms).toISOString()}`);
  return { key: fieldKeys.notes, value: entries.join(' ') };
}
