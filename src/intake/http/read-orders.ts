import type { Buffer } from 'node:buffer';
import type { WholeRequest } from '../../store/intake/intake.ts';
import { utf8Text } from '../orders/utf8-text.ts';
import { DocumentError } from '../orders/document-error.ts';
import { syntaxMessage } from '../orders/json-document.ts';
import { isObject } from '../orders/check-line.ts';
import { type FoundOrder, checkOrder } from '../orders/check-order.ts';
import { shownValue } from '../orders/checked-line.ts';
import { type JsonFinding, JsonSyntaxError, jsonPointer, parseStrictJson } from '../orders/strict-json.ts';
import { type DocumentMistake, Refusal } from './problem.ts';
import type { WebhookLimits } from './settings.ts';

/** A request body, read and found to be without a mistake. */
export interface ReadOrders {
  readonly lines: WholeRequest['lines'];
  /** Whether the body was one order and not a batch: the answer has the shape of the question. */
  readonly single: boolean;
}

/** More mistakes than this tell nobody more. */
const shownMistakes = 100;

/**
 * Reads one order, an array of orders, or `{"orders": […]}`. All or nothing: the caller is there to correct what is
 * wrong, and half an order in the outbox would make it ask which half. Throws the refusal, with every mistake found.
 */
export function readOrders(
  body: Buffer,
  limits: Pick<WebhookLimits, 'depth' | 'batchLines'>,
  defaultSource: string,
): ReadOrders {
  const { orders, single, mistakes } = ordersIn(textOf(body), limits.depth);
  const lines: WholeRequest['lines'][number][] = [];
  if (mistakes.length === 0) {
    const counted = orders.reduce((sum, order) => sum + lineCount(order.value), 0);
    if (counted > limits.batchLines) throw invalid([tooManyLines(counted, limits.batchLines)]);
    const seen = new Map<string, string>();
    for (const order of orders) {
      for (const item of checkOrder(order, defaultSource)) {
        if (item.kind === 'line') lines.push({ ...item.line, lineNumber: null });
        else mistakes.push(mistakeOf(item.rejection));
      }
      mistakes.push(...repeatedOrder(order, defaultSource, seen), ...repeatedLines(order));
    }
  }
  if (mistakes.length > 0) throw invalid(mistakes);
  return { lines, single };
}

function textOf(body: Buffer): string {
  try {
    return utf8Text(body);
  } catch (error) {
    if (error instanceof DocumentError) throw new Refusal('invalid_json', error.message);
    throw error;
  }
}

function ordersIn(text: string, depth: number): { orders: FoundOrder[]; single: boolean; mistakes: DocumentMistake[] } {
  const { value, findings } = parsed(text, depth);
  const shared = { findings, lineNumberOf: () => 1 };
  if (!isObject(value) || !Object.hasOwn(value, 'orders') || Object.hasOwn(value, 'lines')) {
    if (!Array.isArray(value)) return { orders: [{ ...shared, value, path: [] }], single: true, mistakes: [] };
    const orders = value.map((order: unknown, index): FoundOrder => ({ ...shared, value: order, path: [index] }));
    return { orders, single: false, mistakes: value.length === 0 ? [noOrders('')] : [] };
  }
  const { orders, ...others } = value;
  // What was found around the orders belongs to none of them, so nobody else would tell.
  const mistakes = findings.filter(({ path }) => path.length < 3 && path[0] !== 'orders').map(mistakeOfFinding);
  mistakes.push(...findings.filter(({ path }) => path.length === 1 && path[0] === 'orders').map(mistakeOfFinding));
  for (const key of Object.keys(others)) {
    const rule = 'is not a field of a batch, which has "orders" alone';
    mistakes.push({ pointer: fragment(jsonPointer([key])), code: 'unknown_field', detail: rule });
  }
  if (!Array.isArray(orders)) {
    const code = 'invalid_field';
    mistakes.push({ pointer: '#/orders', code, detail: 'must be an array of orders', ...shownAs(orders) });
    return { orders: [], single: false, mistakes };
  }
  if (orders.length === 0) mistakes.push(noOrders('/orders'));
  const found = orders.map(
    (order: unknown, index): FoundOrder => ({ ...shared, value: order, path: ['orders', index] }),
  );
  return { orders: found, single: false, mistakes };
}

/** The JSON of a body, as the strict reader found it. Throws the refusal of what is none. */
export function documentOf(body: Buffer, depth: number): ReturnType<typeof parseStrictJson> {
  return parsed(textOf(body), depth);
}

function parsed(text: string, depth: number): ReturnType<typeof parseStrictJson> {
  if (text.trim() === '') throw new Refusal('invalid_json', 'The body is empty.');
  try {
    return parseStrictJson(text, depth);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new Refusal('invalid_json', syntaxMessage(text, error));
  }
}

function lineCount(order: unknown): number {
  return isObject(order) && Array.isArray(order['lines']) ? order['lines'].length : 1;
}

/** The same order twice in one batch: whichever came second, it is not what the caller meant. */
function repeatedOrder(order: FoundOrder, defaultSource: string, seen: Map<string, string>): DocumentMistake[] {
  const { value, path } = order;
  if (!isObject(value) || typeof value['order_id'] !== 'string') return [];
  const source = typeof value['source'] === 'string' ? value['source'] : defaultSource;
  const key = JSON.stringify([source, value['order_id']]);
  const first = seen.get(key);
  const pointer = fragment(jsonPointer([...path, 'order_id']));
  if (first === undefined) {
    seen.set(key, pointer);
    return [];
  }
  const detail = `is the order of ${first} again: an order stands once in a batch, with all its lines`;
  return [{ pointer, code: 'duplicate_order', detail, ...shownAs(value['order_id']) }];
}

/** Two lines of one id would be one line to buy, and the other one lost in silence. */
export function repeatedLines(order: FoundOrder): DocumentMistake[] {
  const { value, path } = order;
  if (!isObject(value) || !Array.isArray(value['lines'])) return [];
  const seen = new Map<string, number>();
  const mistakes: DocumentMistake[] = [];
  for (const [index, line] of (value['lines'] as unknown[]).entries()) {
    const id = isObject(line) ? line['line_id'] : undefined;
    if (typeof id !== 'string') continue;
    const first = seen.get(id);
    if (first === undefined) seen.set(id, index);
    else {
      const pointer = fragment(jsonPointer([...path, 'lines', index, 'line_id']));
      const detail = `is the line_id of line ${first + 1} of this order, too: each line needs its own`;
      mistakes.push({ pointer, code: 'duplicate_line', detail, ...shownAs(id) });
    }
  }
  return mistakes;
}

export function mistakeOf(rejection: {
  field: string | null;
  code: string;
  rule: string;
  value: string | null;
}): DocumentMistake {
  const { field, code, rule, value } = rejection;
  return { pointer: fragment(field ?? ''), code, detail: rule, ...(value === null ? {} : { value }) };
}

export function mistakeOfFinding(finding: JsonFinding): DocumentMistake {
  const { path, code, rule, value } = finding;
  return { pointer: fragment(jsonPointer(path)), code, detail: rule, ...shownAs(value) };
}

function noOrders(pointer: string): DocumentMistake {
  return { pointer: fragment(pointer), code: 'no_orders', detail: 'must hold at least one order' };
}

export function tooManyLines(counted: number, limit: number): DocumentMistake {
  const detail = `holds ${counted} order lines, and a request may hold ${limit}: divide it`;
  return { pointer: '#', code: 'too_many_lines', detail };
}

function shownAs(value: unknown): { value?: string } {
  const shown = shownValue(value);
  return shown === null ? {} : { value: shown };
}

/** A JSON pointer as the fragment of a URI (RFC 6901, section 6). */
export function fragment(pointer: string): string {
  return `#${encodeURI(pointer.toWellFormed()).replaceAll('#', '%23')}`;
}

/** What is wrong with an order is wrong with each of its lines; once is enough to tell. */
export function invalid(mistakes: readonly DocumentMistake[]): Refusal {
  const distinct = [...new Map(mistakes.map((mistake) => [JSON.stringify(mistake), mistake])).values()];
  const errors = distinct.slice(0, shownMistakes);
  const count = distinct.length === 1 ? 'one mistake' : `${distinct.length} mistakes`;
  const more = distinct.length > errors.length ? `, of which the first ${errors.length} are listed` : '';
  return new Refusal('invalid_order', `There is ${count} in the request${more}. Correct it and send it again, whole.`, {
    extensions: { errors },
  });
}
