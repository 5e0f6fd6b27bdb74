import type { Buffer } from 'node:buffer';
import type { WholeRequest } from '../../store/intake/accept-request.ts';
import { type FoundOrder, checkOrder, problemOf } from '../orders/check-order.ts';
import { isObject, type Problem, shownValue } from '../orders/check-line.ts';
import { DocumentError } from '../orders/document-error.ts';
import { syntaxMessage } from '../orders/json-document.ts';
import { JsonSyntaxError, jsonPointer, parseStrictJson, type StrictJson } from '../orders/strict-json.ts';
import { utf8Text } from '../orders/utf8-text.ts';
import { type DocumentMistake, Refusal } from './problem.ts';
import type { WebhookLimits } from './settings.ts';

export interface ReadOrders {
  readonly lines: WholeRequest['lines'];
  /** Whether the body was one order and not a batch: the answer has the same form. */
  readonly single: boolean;
}

/** No order has an object with so many names, and each that is unknown is a mistake to list. */
const mostNames = 2000;
/** Nobody reads more mistakes than this. */
const shownMistakes = 100;

/**
 * Reads one order, an array of orders, or `{"orders": […]}`. All or nothing: the caller is there to correct a mistake,
 * and would otherwise have to find out which part was accepted. Throws Refusal with every mistake found.
 */
export function readOrders(
  body: Buffer,
  limits: Pick<WebhookLimits, 'depth' | 'batchLines'>,
  defaultSource: string,
): ReadOrders {
  const { orders, single, mistakes } = ordersIn(readJson(body, limits.depth));
  if (mistakes.length > 0) throw invalid(mistakes);
  const count = orders.reduce((sum, order) => sum + lineCount(order.value), 0);
  if (count > limits.batchLines) {
    const detail = `has ${count} order lines, and a request may have ${limits.batchLines}: split it`;
    throw invalid([mistakeAt([], 'too_many_lines', detail)]);
  }
  const lines: WholeRequest['lines'][number][] = [];
  const seen = new Map<string, string>();
  // Each line of an order has the problems of the order itself, too: they are kept once.
  const problems = new Set<Problem>();
  for (const order of orders) {
    for (const checked of checkOrder(order, { source: defaultSource })) {
      if (checked.kind === 'line') lines.push(checked.line);
      else for (const problem of checked.problems) problems.add(problem);
    }
    mistakes.push(...repeatedOrder(order, defaultSource, seen));
  }
  for (const problem of problems) mistakes.push(mistakeOf(problem));
  if (mistakes.length > 0) throw invalid(mistakes);
  return { lines, single };
}

function readJson(body: Buffer, depth: number): StrictJson {
  let text = '';
  try {
    text = utf8Text(body);
    if (text.trim() === '') throw new Refusal('invalid_json', 'The body is empty.');
    return parseStrictJson(text, depth, mostNames);
  } catch (error) {
    if (error instanceof DocumentError) throw new Refusal('invalid_json', error.message);
    if (error instanceof JsonSyntaxError) throw new Refusal('invalid_json', syntaxMessage(text, error));
    throw error;
  }
}

function ordersIn({ value, findings }: StrictJson): {
  orders: FoundOrder[];
  single: boolean;
  mistakes: DocumentMistake[];
} {
  const foundOrder = (order: unknown, ...path: (string | number)[]): FoundOrder => {
    return { value: order, path, findings, lineNumberOf: () => 1 };
  };
  if (Array.isArray(value)) {
    const orders = value.map((order: unknown, index) => foundOrder(order, index));
    return { orders, single: false, mistakes: value.length === 0 ? [noOrders([])] : [] };
  }
  if (!isObject(value) || !Object.hasOwn(value, 'orders') || Object.hasOwn(value, 'lines')) {
    return { orders: [foundOrder(value)], single: true, mistakes: [] };
  }
  const { orders, ...others } = value;
  // `checkOrder` only reports findings inside an order, so those around the orders are reported here.
  const mistakes = findings
    .filter(({ path }) => (path[0] === 'orders' ? path.length === 1 : path.length < 3))
    .map((finding) => mistakeOf(problemOf(finding)));
  for (const key of Object.keys(others)) {
    mistakes.push(mistakeAt([key], 'unknown_field', 'is not a field of a batch, which has only "orders"'));
  }
  if (!Array.isArray(orders)) {
    mistakes.push(mistakeAt(['orders'], 'invalid_field', 'must be an array of orders', orders));
    return { orders: [], single: false, mistakes };
  }
  if (orders.length === 0) mistakes.push(noOrders(['orders']));
  return { orders: orders.map((order: unknown, index) => foundOrder(order, 'orders', index)), single: false, mistakes };
}

function lineCount(order: unknown): number {
  return isObject(order) && Array.isArray(order['lines']) ? order['lines'].length : 1;
}

/** An order that is twice in one batch is a mistake of the caller, whatever the second one says. */
function repeatedOrder(order: FoundOrder, defaultSource: string, seen: Map<string, string>): DocumentMistake[] {
  const { value, path } = order;
  if (!isObject(value) || typeof value['order_id'] !== 'string') return [];
  const source = typeof value['source'] === 'string' ? value['source'] : defaultSource;
  const key = JSON.stringify([source, value['order_id']]);
  const first = seen.get(key);
  const detail = `is the same order as ${first}: send an order once in a batch, with all its lines`;
  const mistake = mistakeAt([...path, 'order_id'], 'duplicate_order', detail, value['order_id']);
  if (first !== undefined) return [mistake];
  seen.set(key, mistake.pointer);
  return [];
}

function mistakeOf({ field, code, rule, value }: Problem): DocumentMistake {
  return { pointer: fragment(field ?? ''), code, detail: rule, ...(value === null ? {} : { value }) };
}

function mistakeAt(path: readonly PropertyKey[], code: string, rule: string, value?: unknown): DocumentMistake {
  return mistakeOf({ field: jsonPointer(path), code, rule, value: shownValue(value) });
}

const noOrders = (path: readonly string[]): DocumentMistake =>
  mistakeAt(path, 'no_orders', 'must have at least one order');

/** A JSON pointer as the fragment of a URI (RFC 6901, section 6). */
function fragment(pointer: string): string {
  return `#${encodeURI(pointer.toWellFormed()).replaceAll('#', '%23')}`;
}

/** The refusal of a request with mistakes. A mistake of an order is found at each of its lines, and listed once. */
function invalid(mistakes: readonly DocumentMistake[]): Refusal {
  const distinct = [...new Map(mistakes.map((mistake) => [JSON.stringify(mistake), mistake])).values()];
  const errors = distinct.slice(0, shownMistakes);
  const found = distinct.length === 1 ? 'is one mistake' : `are ${distinct.length} mistakes`;
  const more = distinct.length > errors.length ? `, of which the first ${errors.length} are listed` : '';
  const detail = `There ${found} in the request${more}. Correct it and send all of it again.`;
  return new Refusal('invalid_order', detail, { extensions: { errors } });
}
