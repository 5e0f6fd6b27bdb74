import { type Context, Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { messageText } from '../../core/message-text.ts';
import { hasCode } from '../../core/order-sync-error.ts';
import { isOutboxFailure } from '../../ops/disk-guard.ts';
import type { AcceptedLines } from '../../store/intake/intake.ts';
import type { Store } from '../../store/store.ts';
import { Admission, type Web } from './admission.ts';
import { CallerLimits } from './caller-limits.ts';
import { hasFormOfSignature } from './signatures.ts';
import { CommitQueue, fullDisk, unavailable } from './commit-queue.ts';
import { documentRoutes } from './document-routes.ts';
import { orderRoutes } from './order-routes.ts';
import { problemResponse, HttpProblem } from './problem.ts';
import type { WebhookSettings } from './settings.ts';
import { type ReadBack, type ShopHandlers, storefrontRoutes } from './storefront-routes.ts';
import type { OpenSkuMap, SkuSource } from '../orders/sku-source.ts';
import { startWebhookServer, type WebhookAnswers, type WebhookServer } from './webhook-server.ts';

interface WebhookIntakeOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: WebhookSettings;
  readonly shops: ShopHandlers;
  readonly openSkuMap: OpenSkuMap;
  readonly version: string;
  readonly onAccepted: (lines: AcceptedLines) => void;
  /**
   * Reads a shop back when a webhook does not say which lines were refunded. Absent: the order is
   * flagged for review.
   */
  readonly readBack?: ReadBack;
  /** Hands over the requests that arrive. Default: a server that listens on `config.listen`. */
  readonly startServer?: typeof startWebhookServer;
}

interface Endpoints {
  readonly respond: Hono<Web>['fetch'];
  readonly shops: ShopHandlers;
  readonly skus: SkuSource | null;
}

/**
 * An open request waits for at most one commit when the intake stops; a commit takes much less than
 * this.
 */
const closeGraceMs = 2000;

/** Takes in orders over HTTP. An acknowledgement means that the order is on disk. */
export class WebhookIntake {
  readonly #options: WebhookIntakeOptions;
  readonly #commits: CommitQueue;
  readonly #limits: CallerLimits;
  #endpoints: Endpoints;
  #server: WebhookServer | null = null;
  #state: 'open' | 'failed' | 'stopping' = 'open';

  private constructor(options: WebhookIntakeOptions) {
    const { store, clock, logger, config, shops } = options;
    this.#options = options;
    this.#commits = new CommitQueue(store.intake, clock, logger, config.limits.uncommitted);
    this.#limits = new CallerLimits(config.limits, clock, logger);
    this.#endpoints = this.#createEndpoints(config, shops);
    this.#commits.failed.catch(() => {
      if (this.#state === 'open') this.#state = 'failed';
    });
  }

  /** Throws LISTEN_FAILED when it cannot listen on the address. */
  static async start(options: WebhookIntakeOptions): Promise<WebhookIntake> {
    const { startServer = startWebhookServer, config, clock } = options;
    const intake = new WebhookIntake(options);
    const answers: WebhookAnswers = (request, bindings) => intake.#answer(request, bindings);
    intake.#server = await startServer(answers, config, { clock, guard: intake.#limits.guard });
    return intake;
  }

  get address(): string {
    return this.#server?.address ?? '';
  }

  /** Rejects when a commit failed: from then on nothing is accepted. */
  get failed(): Promise<never> {
    return this.#commits.failed;
  }

  /**
   * `warn`: > 50 % of the commit queue is used, callers were refused lately, or a changed SKU map
   * is not in use.
   */
  health(): 'pass' | 'warn' | 'fail' {
    if (this.#state !== 'open') return 'fail';
    return this.details() !== null || this.#commits.fill > 0.5 ? 'warn' : 'pass';
  }

  /** Callers that were refused because of a limit since the start of the worker, by reason. */
  get refusedCallers(): ReadonlyMap<string, number> {
    return this.#limits.refusals.totals;
  }

  /**
   * What `/healthz` shows of it: how many callers were refused in the last minute, by reason, and
   * why an operator should look.
   */
  details(): Readonly<Record<string, unknown>> | null {
    const refused = this.#limits.refusals.recent();
    const problem = this.#endpoints.skus?.problem ?? null;
    const details = {
      ...(refused && { refused }),
      ...(problem !== null && { sku_map: problem }),
      ...this.#endpoints.shops.details(),
    };
    return Object.keys(details).length === 0 ? null : details;
  }

  /**
   * Prepares other endpoints, and returns a function that puts them into use. Open requests finish
   * at the old ones.
   */
  prepare(config: WebhookSettings, shops: ShopHandlers): () => void {
    const next = this.#createEndpoints(config, shops);
    return () => {
      this.#endpoints = next;
    };
  }

  /** Answers new requests with 503, finishes the open ones, and closes. May be called twice. */
  async stop(): Promise<void> {
    this.#state = 'stopping';
    const closed = this.#server?.close(closeGraceMs);
    await this.#commits.idle();
    await closed;
    await this.#limits.refusals.stop();
  }

  #createEndpoints(config: WebhookSettings, shops: ShopHandlers): Endpoints {
    const {
      store,
      clock,
      logger,
      version,
      onAccepted,
      openSkuMap,
      readBack = null,
    } = this.#options;
    const skus = openSkuMap(config.skuMap);
    const orders = {
      config,
      skus,
      store,
      clock,
      logger,
      admission: new Admission(config, clock, this.#limits),
      commits: this.#commits,
      onChanged: onAccepted,
    };
    const routes = [
      storefrontRoutes({ shops, limits: this.#limits, readBack }),
      orderRoutes(orders),
      documentRoutes(version),
    ];
    return { respond: webhookRoutes(routes, shops, logger, this.#limits).fetch, shops, skus };
  }

  async #answer(...[request, bindings]: Parameters<WebhookAnswers>): Promise<Response> {
    if (this.#isStopping()) {
      const headers = { 'retry-after': '10', connection: 'close' };
      return problemResponse(
        new HttpProblem('unavailable', 'The worker is stopping; nothing was accepted.', {
          headers,
        }),
      );
    }
    const response = await this.#endpoints.respond(request, bindings);
    // An open connection would delay the stop; the state may have changed while the request was
    // answered.
    if (this.#isStopping()) response.headers.set('connection', 'close');
    return response;
  }

  #isStopping(): boolean {
    return this.#state === 'stopping';
  }
}

/** Without slashes too many, and with platforms in small letters. */
const pathOf = (request: Request): string =>
  getPath(request)
    .replaceAll(/\/+(?=\/|$)/g, '')
    .replace(/^\/webhooks\/[^/]+/i, (start) => start.toLowerCase());

function webhookRoutes(
  parts: readonly Hono<Web>[],
  shops: ShopHandlers,
  logger: Logger,
  { refusals }: CallerLimits,
): Hono<Web> {
  const app = new Hono<Web>({ getPath: pathOf });
  /**
   * Counts what a shop may have met: at its address, or with its headers, which strangers do not
   * send by mistake.
   */
  const refuse = (refusal: HttpProblem, { req: { path }, env }: Context<Web>): Response => {
    const { headers } = env.incoming;
    const [, root, platform = '', shop = ''] = path.split('/');
    const isFromShop = shops.formats.some(
      ({ signatureHeader, topicHeader }) =>
        hasFormOfSignature(headers[signatureHeader]) && topicHeader in headers,
    );
    const name = shops.handlerFor(platform, shop) === null ? '' : ` ${platform}/${shop}`;
    const reason = `${refusal.code}${name}${isFromShop ? ' with the headers of a shop' : ''}`;
    const details = { path: messageText(path, 100), message: refusal.message };
    if (isFromShop || root === 'webhooks') refusals.count(reason, isFromShop, details);
    return problemResponse(refusal);
  };
  for (const routes of parts) app.route('/', routes);
  app.all('/webhooks/:platform/:shop', () => methodNotAllowed('POST'));
  app.all('/v1/orders', () => methodNotAllowed('POST'));
  app.all('/v1/orders/:source/:order_id', () => methodNotAllowed('GET, DELETE'));
  app.notFound((context) =>
    refuse(new HttpProblem('not_found', 'There is nothing at this address. See /docs.'), context),
  );
  app.onError((error, context) => {
    if (error instanceof HttpProblem) return refuse(error, context);
    if (hasCode(error, 'DISK_FULL')) return problemResponse(fullDisk());
    if (isOutboxFailure(error)) return problemResponse(unavailable());
    logger.error({ err: error }, 'a request failed');
    return problemResponse(
      new HttpProblem(
        'internal',
        'The worker failed, and its log says why. Send the request again: nothing is bought twice.',
      ),
    );
  });
  return app;
}

function methodNotAllowed(allow: string): Response {
  return problemResponse(
    new HttpProblem('method_not_allowed', `Allowed: ${allow}.`, { headers: { allow } }),
  );
}
