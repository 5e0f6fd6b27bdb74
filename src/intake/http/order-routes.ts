import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Context, Hono } from 'hono';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { AcceptedLines } from '../../store/intake/intake.ts';
import type { AcceptedOrder, OrderConflict } from '../../store/intake/accept-request.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';
import { isDiskFull } from '../../ops/disk-guard.ts';
import type { Store } from '../../store/store.ts';
import { type Admission, requireSource, type Web } from './admission.ts';
import type { CommitQueue } from './commit-queue.ts';
import { Refusal } from './problem.ts';
import { readOrders } from './read-orders.ts';
import { type TokenScope, usualSource, type WebhookSettings } from './settings.ts';

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
  readonly onChanged: (accepted: AcceptedLines) => void;
}

export function orderRoutes(deps: OrderRoutesDeps): Hono<Web> {
  const routes = new Hono<Web>();
  routes.post('/v1/orders', (context) => postOrders(deps, context));
  routes.get('/v1/orders/:source/:order_id', (context) => getOrder(deps, context));
  routes.delete('/v1/orders/:source/:order_id', (context) => cancelOrder(deps, context));
  return routes;
}

/** Answers 202 only after the commit is on disk. The same request again is answered 200, with the same references. */
async function postOrders(deps: OrderRoutesDeps, context: Context<Web>): Promise<Response> {
  const { config, store, commits } = deps;
  const { caller, content } = await deps.admission.withBody(context, (body, { source }) =>
    readOrders(body, config.limits, source ?? usualSource),
  );
  const { lines, single } = content;
  for (const line of lines) requireSource(caller, line.source);
  deps.admission.count(caller, Math.floor(lines.length / linesPerRequest));
  const outcome = await commits.submit(lines);
  if (outcome.kind === 'conflict') {
    deps.logger.warn(
      { caller: caller.name, orders: outcome.conflicts.length, order_id: outcome.conflicts[0]?.orderId },
      'an order was sent again with other content: rejected, the first content stays',
    );
    throw conflictRefusal(outcome.conflicts);
  }
  if (outcome.kind === 'failed') throw outcome.error;
  const { orders } = outcome;
  const isNew = orders.some((order) => order.status === 'accepted');
  if (isNew) deps.onChanged(acceptedLines(orders));
  const [first] = orders;
  const location = single && first !== undefined ? { location: orderUrl(first.source, first.orderId) } : {};
  const acknowledgements = await inTurns(orders, (order) => acknowledgementOf(order, store.read));
  return jsonAnswer(single ? acknowledgements[0] : { orders: acknowledgements }, isNew ? 202 : 200, location);
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
  if (lines.every(({ entries }) => entries.every(({ units }) => units.length === 0))) return document;
  const read = { source, orderId, version, actor: `webhook:${caller}`, reason: 'read over HTTP' };
  try {
    await store.codeReads.record({ ...read, nowMs: clock.wallMs() });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    // Its customer waits for the code: then the log has to do.
    const details = { caller, source, order_id: orderId, version };
    logger.error(details, 'codes were read, and the audit log has no space for it');
  }
  return document;
}

async function cancelOrder(deps: OrderRoutesDeps, context: Context<Web>): Promise<Response> {
  const { store, clock, logger } = deps;
  const { caller, source, orderId } = requestedOrder(deps, context, 'cancel');
  const actor = `webhook:${caller}`;
  const nowMs = clock.wallMs();
  const result = await store.intake.cancelUnsent({ source, orderId, actor, reason: 'DELETE over HTTP', nowMs });
  if (result.kind === 'not_found') throw notFound(source, orderId);
  if (result.kind === 'refused') {
    const detail = 'A line was already sent, so it may have been bought. Nothing was cancelled.';
    const lines = result.lines.map(({ lineId, reference, state }) => ({ line_id: lineId, reference, state }));
    throw new Refusal('already_sent', detail, { extensions: { lines } });
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

/** The order in the address of a request, and the name of the caller. Throws Refusal when the caller may not touch it. */
function requestedOrder({ admission }: OrderRoutesDeps, context: Context<Web>, scope: TokenScope) {
  const caller = admission.withToken(context, scope);
  const source = context.req.param('source') ?? '';
  requireSource(caller, source);
  return { caller: caller.name, source, orderId: context.req.param('order_id') ?? '' };
}

function notFound(source: string, orderId: string): Refusal {
  return new Refusal('not_found', `There is no order "${orderId}" of the source "${source}".`);
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

function acknowledgementOf({ source, orderId, status, requestId, lines }: AcceptedOrder, read: OutboxReader) {
  return {
    source,
    order_id: orderId,
    status,
    state: status === 'accepted' ? 'in_progress' : read.resultDocument(requestId).document.state,
    lines: lines.map(({ lineId, reference }) => ({ line_id: lineId, reference })),
    url: orderUrl(source, orderId),
  };
}

function conflictRefusal(conflicts: readonly OrderConflict[]): Refusal {
  const names = conflicts.slice(0, 3).map(({ source, orderId }) => `${source}/${orderId}`);
  const more = conflicts.length > names.length ? ` and ${conflicts.length - names.length} more` : '';
  const detail = `${names.join(', ')}${more} was accepted before with other content, which stays. Nothing of this request was accepted.`;
  return new Refusal('conflict', detail, {
    extensions: {
      conflicts: conflicts.map(({ source, orderId, lines }) => ({
        source,
        order_id: orderId,
        url: orderUrl(source, orderId),
        lines: lines.map(({ lineId, reference, differences }) => ({ line_id: lineId, reference, differences })),
      })),
    },
  });
}

/** Headers as a plain object go straight to the socket; a `Headers` object costs a tenth of accepting an order. */
function jsonAnswer(value: unknown, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json', ...headers } });
}
