import { createServer, type Server } from 'node:http';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import type { Clock } from '../../core/clock.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { WebhookSettings } from './settings.ts';

export interface WebhookServer {
  /** `host:port` as it listens; an IPv6 host in brackets. */
  readonly address: string;
  /** Listens no more; requests under way get up to `graceMs`, then their connections are cut. */
  close(graceMs: number): Promise<void>;
}

/** What answers a request; it deals with its own failures. */
export type WebhookAnswers = (request: Request, bindings: HttpBindings | Http2Bindings) => Promise<Response>;

/**
 * Starts to listen, with a limit on everything that a slow or greedy client could hold. Throws LISTEN_FAILED, naming
 * the key to change, when the address cannot be had.
 */
export async function startWebhookServer(
  answers: WebhookAnswers,
  config: Pick<WebhookSettings, 'listen' | 'limits'>,
  clock: Clock,
): Promise<WebhookServer> {
  const { listen, limits } = config;
  const answer = getRequestListener((request, bindings) => answers(request, bindings));
  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: Math.max(limits.requestMs, limits.headersMs),
      // How often Node looks for requests that are late.
      connectionsCheckingInterval: Math.min(1000, limits.headersMs),
      keepAliveTimeout: 15_000,
      maxHeaderSize: 16_384,
    },
    (incoming, outgoing) => {
      // Results hold delivered codes: no answer is kept in any cache, or taken for something else than it says.
      outgoing.setHeader('cache-control', 'no-store');
      outgoing.setHeader('x-content-type-options', 'nosniff');
      // It answers its own failures, so nothing is lost by not waiting for it.
      void answer(incoming, outgoing);
    },
  );
  server.maxConnections = limits.connections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure(listen, error)));
    server.listen(listen.port, listen.host, resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : listen.port;
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  let closing: Promise<void> | null = null;
  return {
    address: `${host}:${port}`,
    close: (graceMs) => {
      closing ??= closeServer(server, clock, graceMs);
      return closing;
    },
  };
}

async function closeServer(server: Server, clock: Clock, graceMs: number): Promise<void> {
  const done = new AbortController();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cut = clock.sleep(graceMs, done.signal).then(() => server.closeAllConnections());
  await closed;
  done.abort();
  await cut;
}

function listenFailure(listen: { host: string; port: number }, cause: Error): OrderSyncError {
  const code = 'code' in cause ? String(cause.code) : cause.message;
  const reason = code === 'EADDRINUSE' ? 'another program listens there' : code;
  return new OrderSyncError('LISTEN_FAILED', `Cannot listen on ${listen.host}:${listen.port}: ${reason}`, {
    hint: 'change intake.webhook.listen (port 0 takes any free one), or stop the other program',
    cause,
  });
}
