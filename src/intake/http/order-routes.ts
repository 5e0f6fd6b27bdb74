import type { Context } from 'hono';
import { Hono } from 'hono';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';
import type { AcceptedOrder } from '../../store/intake/intake.ts';
import type { Store } from '../../store/store.ts';
import type { AcceptedLog } from './acceptance-log.ts';
import type { Admission, Web } from './admission.ts';
import { requireSource } from './authenticate.ts';
import type { CommitQueue } from './commit-queue.ts';
import { jsonAnswer } from './json-answer.ts';
import { acknowledgementOf, conflictRefusal, orderAddress } from './order-answers.ts';
import { preferredWaitS } from './prefer-wait.ts';
import { Refusal } from './problem.ts';
import type { ShopForms } from './shop-forms.ts';
import type { SettlementWatch, WatchedOrder } from './waiting-callers.ts';
import type { WebhookSettings } from './settings.ts';

export interface OrderRoutesDeps {
  readonly config: WebhookSettings;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly admission: Admission;
  readonly commits: CommitQueue;
  readonly watch: SettlementWatch;
  readonly accepted: AcceptedLog;
  readonly forms: ShopForms;
  /** New lines are in the outbox, or lines were taken back. */
  readonly onChanged: () => void;
}

/** The routes of our own API: post orders, read one, take one back. */
export function orderRoutes(deps: OrderRoutesDeps): Hono<Web> {
  const routes = new Hono<Web>();
  routes.post('/v1/orders', (context) => postOrders(deps, context));
  routes.get('/v1/orders/:source/:order_id', (context) => getOrder(deps, context));
  routes.delete('/v1/orders/:source/:order_id', (context) => cancelUnsentResult(deps, context));
  return routes;
}

/** 202 stands for a commit on disk, never for less; the same request again is 200, with the same references. */
async function postOrders(deps: OrderRoutesDeps, context: Context<Web>): Promise<Response> {
  const { config, store, commits, watch } = deps;
  const { caller, body } = await deps.admission.withBody(context);
  const { lines, single } = deps.forms.read(body, caller.form, caller.source ?? config.source);
  // A shop of its own form also sends orders of which nothing is ours.
  if (lines.length === 0) return jsonAnswer({ result: 'nothing_to_buy' }, 200);
  for (const line of lines) requireSource(caller, line.source);
  const outcome = await commits.submit(lines);
  if (outcome.kind === 'conflict') {
    deps.logger.warn(
      { caller: caller.name, orders: outcome.conflicts.length, order_id: outcome.conflicts[0]?.orderId },
      'an order came again with other content: refused, the first one stands',
    );
    throw conflictRefusal(outcome.conflicts);
  }
  if (outcome.kind === 'failed') throw outcome.error;
  const { orders } = outcome;
  const isNew = orders.some((order) => order.status === 'accepted');
  if (isNew) {
    deps.accepted.note(caller.name, orders);
    deps.onChanged();
  }
  const location = single ? addressOf(orders[0]) : {};
  const waitS = preferredWaitS(preferOf(context), config.limits.waitS);
  if (waitS === null) {
    const acknowledged = orders.map((order) => acknowledgementOf(order, store.read));
    return jsonAnswer(single ? acknowledged[0] : { orders: acknowledged }, isNew ? 202 : 200, location);
  }
  await watch.wait(orders, waitS * 1000, context.req.raw.signal);
  const documents = orders.map(({ requestId }) => store.read.resultDocument(requestId).document);
  const status = documents.every(isSettled) ? 200 : 202;
  const headers = { ...location, 'preference-applied': `wait=${waitS}` };
  return jsonAnswer(single ? documents[0] : { orders: documents }, status, headers);
}

async function getOrder(deps: OrderRoutesDeps, context: Context<Web>): Promise<Response> {
  const { config, store, watch } = deps;
  const caller = deps.admission.withToken(context);
  const named = namedOrder(context);
  requireSource(caller, named.source);
  const found = store.read.findOrder(named.source, named.orderId);
  if (found === null) throw notFound(named);
  const order: WatchedOrder = { ...named, requestId: found.requestId };
  const waitS = preferredWaitS(preferOf(context), config.limits.waitS);
  if (waitS !== null) await watch.wait([order], waitS * 1000, context.req.raw.signal);
  const { document } = store.read.resultDocument(order.requestId);
  return jsonAnswer(document, 200, waitS === null ? {} : { 'preference-applied': `wait=${waitS}` });
}

async function cancelUnsentResult(deps: OrderRoutesDeps, context: Context<Web>): Promise<Response> {
  const { store, clock, logger } = deps;
  const caller = deps.admission.withToken(context);
  const named = namedOrder(context);
  requireSource(caller, named.source);
  const { name } = caller;
  const taken = await store.intake.cancelUnsent({
    ...named,
    actor: `webhook:${name}`,
    reason: 'DELETE over HTTP',
    nowMs: clock.wallMs(),
  });
  if (taken.kind === 'not_found') throw notFound(named);
  if (taken.kind === 'refused') {
    const detail = 'A line was sent already, so it may have been bought. Nothing was taken back.';
    const lines = taken.lines.map(({ lineId, reference, state }) => ({ line_id: lineId, reference, state }));
    throw new Refusal('already_sent', detail, { extensions: { lines } });
  }
  if (taken.cancelled > 0) {
    logger.info({ caller: name, source: named.source, order_id: named.orderId, lines: taken.cancelled }, 'taken back');
    deps.onChanged();
  }
  return jsonAnswer(store.read.resultDocument(taken.requestId).document, 200);
}

/** As Node read it: hono's own reading goes through a copy of all headers. */
function preferOf(context: Context<Web>): string | undefined {
  const { prefer } = context.env.incoming.headers;
  return Array.isArray(prefer) ? prefer.join(', ') : prefer;
}

function namedOrder(context: Context<Web>): { source: string; orderId: string } {
  return { source: context.req.param('source') ?? '', orderId: context.req.param('order_id') ?? '' };
}

function notFound({ source, orderId }: { source: string; orderId: string }): Refusal {
  return new Refusal('not_found', `There is no order "${orderId}" of the source "${source}".`);
}

function isSettled(document: ResultDocument): boolean {
  return document.state !== 'in_progress';
}

function addressOf(order: AcceptedOrder | undefined): Record<string, string> {
  return order === undefined ? {} : { location: orderAddress(order.source, order.orderId) };
}
