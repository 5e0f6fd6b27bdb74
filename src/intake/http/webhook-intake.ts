import { Hono } from 'hono';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { hasCode } from '../../core/order-sync-error.ts';
import type { Store } from '../../store/store.ts';
import { type ReadBack, type ShopHandlers, storefrontRoutes } from './storefront-routes.ts';
import { AcceptedLog } from './acceptance-log.ts';
import { Admission, type Web } from './admission.ts';
import { CommitQueue, unavailable } from './commit-queue.ts';
import { documentRoutes } from './document-routes.ts';
import { orderRoutes } from './order-routes.ts';
import { type ProblemCode, problemResponse, Refusal } from './problem.ts';
import { type OpenSkuMap, ShopForms } from './shop-forms.ts';
import { SettlementWatch } from './waiting-callers.ts';
import type { WebhookSettings } from './settings.ts';
import { startWebhookServer, type WebhookAnswers, type WebhookServer } from './webhook-server.ts';

export interface WebhookIntakeOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: WebhookSettings;
  /** Takes in the orders of WooCommerce and Shopify. */
  readonly shops: ShopHandlers;
  readonly openSkuMap: OpenSkuMap;
  readonly version: string;
  /** New lines are in the outbox, or lines were taken back. */
  readonly onAccepted?: () => void;
  /** Reads a shop back when a webhook does not say which lines were refunded. Absent: the order is flagged for review. */
  readonly readBack?: ReadBack;
}

/** Orders over HTTP. An acknowledgement stands for a commit on disk. */
export interface WebhookIntake {
  /** `host:port` as it listens. */
  readonly address: string;
  /** An order may have come to rest: whoever waits for it looks again. */
  notify(): void;
  /**
   * `warn` while more than half of the room for uncommitted requests is taken, or a SKU map cannot be read again;
   * `fail` when nothing is accepted.
   */
  health(): 'pass' | 'warn' | 'fail';
  /**
   * Prepares endpoints with other callers, secrets, shops and limits, and returns what puts all of them into use at once.
   * Requests that are under way finish at the old ones. The address stays. Throws CONFIG_INVALID when a SKU map cannot be
   * used.
   */
  prepare(config: WebhookSettings, shops: ShopHandlers): () => void;
  /** Turns new requests away with 503, finishes those under way, and closes. May be called twice. */
  stop(): Promise<void>;
  /** Rejects when an acknowledgement could not be recorded: nothing is accepted any more. */
  readonly failed: Promise<never>;
}

/** Requests under way at the end get this long; they wait for one commit at most, and a commit takes far less. */
const closeGraceMs = 2000;

/** Starts to listen. Throws LISTEN_FAILED when the address cannot be had, CONFIG_INVALID when a SKU map cannot be used. */
export async function startWebhookIntake(options: WebhookIntakeOptions): Promise<WebhookIntake> {
  const { store, clock, config, logger } = options;
  const commits = new CommitQueue(store, clock, config.limits.uncommitted);
  const watch = new SettlementWatch(store.read, clock, config.limits.waiting);
  let state: 'open' | 'failed' | 'stopping' = 'open';
  commits.failed.catch(() => {
    state = state === 'open' ? 'failed' : state;
  });
  const onChanged = (): void => {
    options.onAccepted?.();
    watch.notify();
  };
  const accepted = new AcceptedLog(logger);
  const readBack = options.readBack ?? null;
  const endpointsOf = (at: WebhookSettings, shops: ShopHandlers) => {
    const admission = new Admission(at, clock);
    const forms = new ShopForms(at, options.openSkuMap);
    const { bodyBytes } = at.limits;
    const answers = webhookAnswers({
      logger,
      isStopping: () => state === 'stopping',
      routes: [
        storefrontRoutes({ shops, clock, logger, bodyBytes, readBack }),
        orderRoutes({ config: at, store, clock, logger, admission, commits, watch, accepted, forms, onChanged }),
        documentRoutes(options.version),
      ],
    });
    return { answers, shops, forms };
  };
  let endpoints = endpointsOf(config, options.shops);
  // Looked up at each request, because a reload changes the endpoints while the address stays.
  const answers: WebhookAnswers = (request, bindings) => endpoints.answers(request, bindings);
  const server: WebhookServer = await startWebhookServer(answers, config, clock);
  return {
    address: server.address,
    notify: () => watch.notify(),
    failed: commits.failed,
    health: () => {
      if (state !== 'open') return 'fail';
      if (commits.fill > 0.5 || endpoints.forms.health() === 'warn') return 'warn';
      return endpoints.shops.health();
    },
    prepare: (changed, shops) => {
      const next = endpointsOf(changed, shops);
      return () => {
        endpoints = next;
      };
    },
    stop: async () => {
      state = 'stopping';
      const closed = server.close(closeGraceMs);
      await watch.stop();
      await commits.idle();
      await closed;
    },
  };
}

/** What all routes share: the end, and refusals as problem documents. */
function webhookAnswers(parts: {
  logger: Logger;
  isStopping: () => boolean;
  routes: readonly Hono<Web>[];
}): WebhookAnswers {
  const respond = webhookRoutes(parts).fetch;
  return async (request, bindings) => {
    if (parts.isStopping()) {
      const headers = { 'retry-after': '10', connection: 'close' };
      return problemResponse(new Refusal('unavailable', 'The worker is stopping; nothing was accepted.', { headers }));
    }
    const response = await respond(request, bindings);
    // A caller that keeps its connection would keep the end waiting.
    if (parts.isStopping()) response.headers.set('connection', 'close');
    return response;
  };
}

function webhookRoutes(parts: { logger: Logger; routes: readonly Hono<Web>[] }): Hono<Web> {
  const app = new Hono<Web>();
  for (const routes of parts.routes) app.route('/', routes);
  app.all('/webhooks/:platform/:shop', () => methodNotAllowed('POST'));
  app.all('/v1/orders', () => methodNotAllowed('POST'));
  app.all('/v1/orders/:source/:order_id', () => methodNotAllowed('GET, DELETE'));
  app.notFound(() => problemResponse(new Refusal('not_found', 'There is nothing at this address. See /docs.')));
  app.onError((error) => {
    if (error instanceof Refusal) return problemResponse(error);
    if (hasCode(error, 'DATABASE_WRITE_FAILED')) return problemResponse(unavailable());
    parts.logger.error({ err: error }, 'a request could not be answered');
    const code: ProblemCode = 'internal';
    return problemResponse(new Refusal(code, 'The request was not accepted. The log of the worker says why.'));
  });
  return app;
}

function methodNotAllowed(allow: string): Response {
  const refusal = new Refusal('method_not_allowed', `Allowed: ${allow}.`, { headers: { allow } });
  return problemResponse(refusal);
}
