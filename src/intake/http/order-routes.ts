import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Context, Hono } from 'hono';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { AcceptedLines } from '../../store/intake/intake.ts';
import type {
  AcceptedOrder,
  ForeignLine,
  OrderConflict,
  WholeRequest,
} from '../../store/intake/accept-request.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type { SkuMap } from '../../core/order/sku-map.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';
import { isOutboxBlocked } from '../../ops/disk-guard.ts';
import type { Store } from '../../store/store.ts';
import {
  type Admission,
  type Caller,
  placeOf,
  requireCancelScope,
  requireSource,
  type Web,
} from './admission.ts';
import type { CommitQueue } from './commit-queue.ts';
import { HttpProblem, type DocumentMistake } from './problem.ts';
import {
  type TokenScope,
  usualSource,
  type WebhookLimits,
  type WebhookSettings,
} from './settings.ts';
import type { Buffer } from 'node:buffer';
import { type FoundOrder, checkOrder, problemOf } from '../orders/check-order.ts';
import { isObject, type Problem, shownValue } from '../orders/check-line.ts';
import { DocumentError } from '../orders/document-error.ts';
import { type SkuSource, withSkuRules } from '../orders/sku-source.ts';
import { syntaxMessage } from '../orders/json-document.ts';
import {
  JsonSyntaxError,
  jsonPointer,
  parseStrictJson,
  type StrictJson,
} from '../orders/strict-json.ts';
import { utf8Text } from '../orders/utf8-text.ts';

/** So many lines of a request count as one request of the caller's rate. */
const linesPerRequest = 50;
const ordersAtOnce = 50;

interface OrderRoutesDeps {
  readonly config: WebhookSettings;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly admission: Admission;
  readonly commits: CommitQueue;
  readonly skus: SkuSource | null;
  readonly onChanged: (accepted: AcceptedLines) => void;
}

export function orderRoutes(deps: OrderRoutesDeps): Hono<Web> {
  const routes = new Hono<Web>();
  routes.post('/v1/orders', (context) => postOrders(deps, context));
  routes.get('/v1/orders/:source/:order_id', (context) => getOrder(deps, context));
  routes.delete('/v1/orders/:source/:order_id', (context) => cancelOrder(deps, context));
  return routes;
}

/**
 * Answers 202 only after the commit is on disk. The same request again is answered 200, with the
 * same references.
 */
async function postOrders(deps: OrderRoutesDeps, context: Context<Web>): Promise<Response> {
  const { config, store, commits, clock } = deps;
  const skus = (await deps.skus?.current()) ?? null;
  const { caller, content } = await deps.admission.withBody(context, (body, sender) => {
    commits.requirePlace();
    return readOrders(body, config.limits, sender, { skus, nowMs: clock.wallMs() });
  });
  const { lines, single } = content;
  for (const line of lines) requireSource(caller, line.source);
  requireCancelScope(caller, lines);
  deps.admission.count(caller, Math.floor(lines.length / linesPerRequest));
  const outcome = await commits.submit(lines);
  if (outcome.kind === 'conflict') {
    deps.logger.warn(
      {
        caller: caller.name,
        orders: outcome.conflicts.length,
        order_id: outcome.conflicts[0]?.orderId,
      },
      'an order was sent again with other content: this request was refused, and the first content stays valid',
    );
    throw conflictProblem(outcome.conflicts);
  }
  if (outcome.kind === 'foreign') throw foreignProblem(outcome.line);
  if (outcome.kind === 'failed') throw outcome.error;
  const { orders } = outcome;
  const isNew = orders.some((order) => order.status === 'accepted');
  if (isNew) deps.onChanged(acceptedLines(orders));
  const [first] = orders;
  const location =
    single && first !== undefined ? { location: orderUrl(first.source, first.orderId) } : {};
  const acknowledgements = await inTurns(orders, (order) => acknowledgementOf(order, store.read));
  return jsonAnswer(
    single ? acknowledgements[0] : { orders: acknowledgements },
    isNew ? 202 : 200,
    location,
  );
}

async function getOrder(deps: OrderRoutesDeps, context: Context<Web>): Promise<Response> {
  const { read } = deps.store;
  const { caller, source, orderId } = requestedOrder(deps, context, 'read');
  const found = read.findOrder(source, orderId);
  if (found === null) throw notFound(source, orderId);
  return jsonAnswer(await readResult(deps, caller, found.requestId), 200);
}

/** The result of an order for a caller. Where it has codes, the audit log says who read them. */
async function readResult(
  { store, clock, logger }: OrderRoutesDeps,
  caller: string,
  requestId: number,
): Promise<ResultDocument> {
  const { version, document } = store.read.resultDocument(requestId);
  const { source, order_id: orderId, lines } = document;
  if (lines.every(({ entries }) => entries.every(({ units }) => units.length === 0)))
    return document;
  const read = { source, orderId, version, actor: `webhook:${caller}`, reason: 'read over HTTP' };
  try {
    await store.codeReads.record({ ...read, nowMs: clock.wallMs() });
  } catch (error) {
    if (!isOutboxBlocked(error)) throw error;
    // Its customer waits for the code: then the log has to do.
    const details = { caller, source, order_id: orderId, version };
    logger.error(details, 'codes were read, but the audit log had no space to record this');
  }
  return document;
}

async function cancelOrder(deps: OrderRoutesDeps, context: Context<Web>): Promise<Response> {
  const { store, clock, logger } = deps;
  const { caller, source, orderId } = requestedOrder(deps, context, 'cancel');
  const actor = `webhook:${caller}`;
  const nowMs = clock.wallMs();
  const result = await store.intake.cancelUnsent({
    source,
    orderId,
    actor,
    reason: 'DELETE over HTTP',
    nowMs,
  });
  if (result.kind === 'not_found') throw notFound(source, orderId);
  if (result.kind === 'refused') {
    const detail =
      'A line was already sent to the supplier and was perhaps bought. Nothing was cancelled.';
    const lines = result.lines.map(({ lineId, reference, state }) => ({
      line_id: lineId,
      reference,
      state,
    }));
    throw new HttpProblem('already_sent', detail, { extensions: { lines } });
  }
  if (result.cancelled > 0) {
    logger.info({ caller, source, order_id: orderId, lines: result.cancelled }, 'order cancelled');
    deps.onChanged(new Map());
  }
  return jsonAnswer(await readResult(deps, caller, result.requestId), 200);
}

function acceptedLines(orders: readonly AcceptedOrder[]): AcceptedLines {
  const counts = new Map<string, number>();
  for (const { status, source, lines } of orders)
    if (status === 'accepted') counts.set(source, (counts.get(source) ?? 0) + lines.length);
  return counts;
}

/**
 * The order in the address of a request, and the name of the caller. Throws HttpProblem when the caller
 * may not touch it.
 */
function requestedOrder({ admission }: OrderRoutesDeps, context: Context<Web>, scope: TokenScope) {
  const caller = admission.withToken(context, scope);
  const source = context.req.param('source') ?? '';
  requireSource(caller, source);
  return { caller: caller.name, source, orderId: context.req.param('order_id') ?? '' };
}

function notFound(source: string, orderId: string): HttpProblem {
  return new HttpProblem('not_found', `There is no order "${orderId}" of the source "${source}".`);
}

/** Maps some at once, and lets the worker do what else is due before it maps the next. */
async function inTurns<T, R>(items: readonly T[], map: (item: T) => R): Promise<readonly R[]> {
  const mapped: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % ordersAtOnce === 0) await nextTurn();
    mapped.push(map(item));
  }
  return mapped;
}

function orderUrl(source: string, orderId: string): string {
  return `/v1/orders/${encodeURIComponent(source)}/${encodeURIComponent(orderId)}`;
}

function acknowledgementOf(
  { source, orderId, status, requestId, lines }: AcceptedOrder,
  read: OutboxReader,
) {
  return {
    source,
    order_id: orderId,
    status,
    state: status === 'accepted' ? 'in_progress' : read.resultDocument(requestId).document.state,
    lines: lines.map(({ lineId, reference }) => ({ line_id: lineId, reference })),
    url: orderUrl(source, orderId),
  };
}

function conflictProblem(conflicts: readonly OrderConflict[]): HttpProblem {
  const names = conflicts.slice(0, 3).map(({ source, orderId }) => `${source}/${orderId}`);
  const more =
    conflicts.length > names.length ? ` and ${conflicts.length - names.length} more` : '';
  const detail = `${names.join(', ')}${more} was accepted before with other content, and that earlier content stays valid. Nothing of this request was accepted.`;
  return new HttpProblem('conflict', detail, {
    extensions: {
      conflicts: conflicts.map(({ source, orderId, lines }) => ({
        source,
        order_id: orderId,
        url: orderUrl(source, orderId),
        lines: lines.map(({ lineId, reference, differences }) => ({
          line_id: lineId,
          reference,
          differences,
        })),
      })),
    },
  });
}

/** Names what was sent, and never what another source has. */
function foreignProblem(line: ForeignLine): HttpProblem {
  const detail = `${placeOf(line)}: iccid: ${line.rule}; got ${line.iccid}. Nothing of this request was accepted.`;
  return new HttpProblem('esim_of_other_source', detail);
}

/**
 * Headers as a plain object go straight to the socket; a `Headers` object costs a tenth of
 * accepting an order.
 */
function jsonAnswer(
  value: unknown,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

interface ReadOrders {
  readonly lines: WholeRequest['lines'];
  /** Whether the body was one order and not a batch: the answer has the same form. */
  readonly single: boolean;
}

/** No order has an object with so many names, and each that is unknown is a mistake to list. */
const mostNames = 2000;
/** Nobody reads more mistakes than this. */
const shownMistakes = 100;

/**
 * Reads one order, an array of orders, or `{"orders": […]}`. All or nothing: the caller is there to
 * correct a mistake, and would otherwise have to find out which part was accepted. Throws HttpProblem
 * with every mistake found.
 */
function readOrders(
  body: Buffer,
  limits: Pick<WebhookLimits, 'depth' | 'batchLines'>,
  { source: own, currency }: Caller,
  { skus, nowMs }: { skus: SkuMap | null; nowMs: number },
): ReadOrders {
  const source = own ?? usualSource;
  const { orders, single, mistakes } = ordersIn(readJson(body, limits.depth));
  if (mistakes.length > 0) throw invalid(mistakes);
  const count = orders.reduce((sum, order) => sum + lineCount(order.value), 0);
  if (count > limits.batchLines) {
    const detail = `has ${count} order lines, but a request may have at most ${limits.batchLines}: split it`;
    throw invalid([mistakeAt([], 'too_many_lines', detail)]);
  }
  const lines: WholeRequest['lines'][number][] = [];
  const seen = new Map<string, string>();
  // Each line of an order has the problems of the order itself, too: they are kept once.
  const problems = new Set<Problem>();
  for (const order of orders) {
    for (const checked of checkOrder(order, { source, currency, skus })) {
      if (checked.kind === 'line') lines.push(withSkuRules(checked.line, skus, nowMs));
      else for (const problem of checked.problems) problems.add(problem);
    }
    mistakes.push(...repeatedOrder(order, source, seen));
  }
  for (const problem of problems) mistakes.push(mistakeOf(problem));
  if (mistakes.length > 0) throw invalid(mistakes);
  return { lines, single };
}

function readJson(body: Buffer, depth: number): StrictJson {
  let text = '';
  try {
    text = utf8Text(body);
    if (text.trim() === '') throw new HttpProblem('invalid_json', 'The body is empty.');
    return parseStrictJson(text, depth, mostNames);
  } catch (error) {
    if (error instanceof DocumentError) throw new HttpProblem('invalid_json', error.message);
    if (error instanceof JsonSyntaxError)
      throw new HttpProblem('invalid_json', syntaxMessage(text, error));
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
  // `checkOrder` only reports findings inside an order, so those around the orders are reported
  // here.
  const mistakes = findings
    .filter(({ path }) => (path[0] === 'orders' ? path.length === 1 : path.length < 3))
    .map((finding) => mistakeOf(problemOf(finding)));
  for (const key of Object.keys(others)) {
    mistakes.push(
      mistakeAt([key], 'unknown_field', 'is not a field of a batch, which has only "orders"'),
    );
  }
  if (!Array.isArray(orders)) {
    mistakes.push(mistakeAt(['orders'], 'invalid_field', 'must be an array of orders', orders));
    return { orders: [], single: false, mistakes };
  }
  if (orders.length === 0) mistakes.push(noOrders(['orders']));
  return {
    orders: orders.map((order: unknown, index) => foundOrder(order, 'orders', index)),
    single: false,
    mistakes,
  };
}

function lineCount(order: unknown): number {
  return isObject(order) && Array.isArray(order['lines']) ? order['lines'].length : 1;
}

/** An order that is twice in one batch is a mistake of the caller, whatever the second one says. */
function repeatedOrder(
  order: FoundOrder,
  defaultSource: string,
  seen: Map<string, string>,
): DocumentMistake[] {
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
  return {
    pointer: fragment(field ?? ''),
    code,
    detail: rule,
    ...(value === null ? {} : { value }),
  };
}

function mistakeAt(
  path: readonly PropertyKey[],
  code: string,
  rule: string,
  value?: unknown,
): DocumentMistake {
  return mistakeOf({ field: jsonPointer(path), code, rule, value: shownValue(value) });
}

const noOrders = (path: readonly string[]): DocumentMistake =>
  mistakeAt(path, 'no_orders', 'must have at least one order');

/** A JSON pointer as the fragment of a URI (RFC 6901, section 6). */
function fragment(pointer: string): string {
  return `#${encodeURI(pointer.toWellFormed()).replaceAll('#', '%23')}`;
}

/**
 * The refusal of a request with mistakes. A mistake of an order is found at each of its lines, and
 * listed once.
 */
function invalid(mistakes: readonly DocumentMistake[]): HttpProblem {
  const distinct = [
    ...new Map(mistakes.map((mistake) => [JSON.stringify(mistake), mistake])).values(),
  ];
  const errors = distinct.slice(0, shownMistakes);
  const found = distinct.length === 1 ? 'is one mistake' : `are ${distinct.length} mistakes`;
  const more =
    distinct.length > errors.length ? `, of which the first ${errors.length} are listed` : '';
  const detail = `There ${found} in the request${more}. Correct the request and send it again as a whole.`;
  return new HttpProblem('invalid_order', detail, { extensions: { errors } });
}
