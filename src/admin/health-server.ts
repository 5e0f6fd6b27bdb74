import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { ConnectionGuard } from '../ops/connection-guard.ts';
import { listen } from '../ops/listen.ts';
import { RefusalCounts } from '../ops/refusal-counts.ts';

/** `pass`: it works; `warn`: it works, but an operator should look; `fail`: it does not work. */
export type CheckStatus = 'pass' | 'warn' | 'fail';

export interface HealthCheck {
  readonly name: string;
  /** A throw counts as `fail`. */
  readonly check: () => CheckStatus | Promise<CheckStatus>;
  /**
   * Whether a failure makes the worker unready. Not for the supplier: its failures are not ours.
   */
  readonly readiness?: boolean;
  /**
   * What `/healthz` shows of the check besides its status. It must give nothing away; null:
   * nothing.
   */
  readonly details?: () => Readonly<Record<string, unknown>> | null;
}

/** Commands such as a read-back may take minutes. */
const answerMs = 3_600_000;
/** The probes and commands of this machine come from one address. */
const connectionLimits = {
  connections: 64,
  connectionsPerAddress: 64,
  answerMs,
  judgesAddresses: false,
};

interface HealthServerOptions {
  readonly host: string;
  /** 0: any free port; `address` has the real one. */
  readonly port: number;
  readonly version: string;
  readonly checks: readonly HealthCheck[];
  /**
   * The paused scopes, for `/healthz`. When it throws, nothing is shown: then the check of the
   * database fails.
   */
  readonly pauses?: () => object;
  readonly metrics?: { readonly contentType: string; text(): Promise<string> };
  /** True once the worker is stopping: not ready any more, still alive. */
  readonly draining: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Adds further routes on the same address. They say which connection is of somebody who proved
   * who he is.
   */
  readonly addMore?: (routes: Hono, proven: (socket: Socket) => void) => void;
}

export interface HealthServer {
  /** `host:port` as it listens; an IPv6 host in brackets. */
  readonly address: string;
  /** Callers that were refused because of a limit, by reason. */
  readonly refusedCallers: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/**
 * The routes, without a socket: `/livez` (the event loop runs; nothing else is checked), `/readyz`
 * (the worker can accept and record orders), `/healthz` (every check by name, and what is paused),
 * `/metrics`. The reason of a failure is in the log only.
 */
export function healthRoutes(
  options: Omit<HealthServerOptions, 'host' | 'port' | 'clock' | 'logger'>,
  proven: (socket: Socket) => void = () => undefined,
): Hono {
  const routes = new Hono();
  routes.use(async (context, next) => {
    await next();
    if (!context.res.headers.has('cache-control')) context.header('cache-control', 'no-store');
    context.header('x-content-type-options', 'nosniff');
  });
  routes.get('/livez', (context) => context.json({ status: 'pass' }));
  routes.get('/readyz', async (context) => {
    if (options.draining()) return context.json({ status: 'fail', reason: 'draining' }, 503);
    const results = await runChecks(options.checks.filter(({ readiness }) => readiness === true));
    const failed = Object.values(results).includes('fail');
    return context.json({ status: failed ? 'fail' : 'pass' }, failed ? 503 : 200);
  });
  routes.get('/healthz', async (context) => {
    const checks = await runChecks(options.checks);
    const worst = (['fail', 'warn'] as const).find((status) =>
      Object.values(checks).includes(status),
    );
    // When the pauses cannot be read, the check of the database fails.
    const shown = { ...detailsOf(options.checks), ...readable(options.pauses) };
    const body = {
      status: worst ?? 'pass',
      draining: options.draining(),
      version: options.version,
      checks,
      ...shown,
    };
    return context.json(body, worst === 'fail' ? 503 : 200);
  });
  const { metrics } = options;
  if (metrics !== undefined) {
    const headers = { 'content-type': metrics.contentType };
    routes.get('/metrics', async (context) => context.body(await metrics.text(), 200, headers));
  }
  options.addMore?.(routes, proven);
  routes.notFound((context) =>
    context.json({ error: { code: 'not_found', message: 'No such path.' } }, 404),
  );
  return routes;
}

/** The result of each check, by its name. Never rejects. */
export async function runChecks(
  checks: readonly HealthCheck[],
): Promise<Record<string, CheckStatus>> {
  const results = await Promise.all(
    checks.map(async ({ name, check }): Promise<[string, CheckStatus]> => {
      try {
        return [name, await check()];
      } catch {
        return [name, 'fail'];
      }
    }),
  );
  return Object.fromEntries(results);
}

/** A check whose details cannot be read fails, too. */
function detailsOf(checks: readonly HealthCheck[]): object {
  const known = checks
    .map(({ name, details }) => [name, readable(details)] as const)
    .filter(([, shown]) => shown);
  return known.length === 0 ? {} : { details: Object.fromEntries(known) };
}

/** Null: it cannot be read, or there is nothing. */
export function readable(read: (() => object | null) | undefined): object | null {
  try {
    return read?.() ?? null;
  } catch {
    return null;
  }
}

/**
 * Starts to listen. Throws LISTEN_FAILED, which names the key to change, when the address cannot be
 * used.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const refusals = new RefusalCounts(options.clock, options.logger);
  const guard = new ConnectionGuard(connectionLimits, options.clock, (because) =>
    refusals.count(because),
  );
  const answer = getRequestListener(healthRoutes(options, (socket) => guard.proven(socket)).fetch);
  const server = guard.createServer(
    { headersTimeout: 10_000, requestTimeout: 30_000 },
    (incoming, outgoing) => {
      // It never rejects, so nobody needs to wait for it.
      void answer(incoming, outgoing);
    },
  );
  const hint =
    'change admin.listen (port 0 takes any free port), or stop the other program: is another worker running?';
  const address = await listen(server, options, hint);
  return {
    address,
    refusedCallers: refusals.totals,
    close: async () => {
      await new Promise<void>((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        // Health probes keep their connections open: waiting for them takes the whole grace period.
        server.closeAllConnections();
      });
      await refusals.stop();
    },
  };
}
