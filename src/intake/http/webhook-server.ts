import type { Server } from 'node:http';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import type { Clock } from '../../core/clock.ts';
import type { ConnectionGuard } from '../../ops/connection-guard.ts';
import { endWithin } from '../../ops/deadline.ts';
import { listen } from '../../ops/listen.ts';
import type { WebhookSettings } from './settings.ts';

export interface WebhookServer {
  /** The `host:port` on which it listens; an IPv6 host in brackets. */
  readonly address: string;
  /** Stops listening; open requests get up to `graceMs`, then their connections are closed. */
  close(graceMs: number): Promise<void>;
}

export type WebhookAnswers = (
  request: Request,
  bindings: HttpBindings | Http2Bindings,
) => Promise<Response>;

/**
 * Starts to listen, with limits on everything that a slow or greedy client could hold. Throws
 * LISTEN_FAILED.
 */
export async function startWebhookServer(
  answers: WebhookAnswers,
  config: Pick<WebhookSettings, 'listen' | 'limits'>,
  { clock, guard }: { readonly clock: Clock; readonly guard: ConnectionGuard },
): Promise<WebhookServer> {
  const { limits } = config;
  const answer = getRequestListener((request, bindings) => answers(request, bindings));
  const server = guard.createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: Math.max(limits.requestMs, limits.headersMs),
      // How often Node checks for late requests.
      connectionsCheckingInterval: Math.min(1000, limits.headersMs),
      keepAliveTimeout: 15_000,
    },
    (incoming, outgoing) => {
      // Results contain delivered codes: no cache may keep them, and no browser may guess another
      // content type.
      outgoing.setHeader('cache-control', 'no-store');
      outgoing.setHeader('x-content-type-options', 'nosniff');
      // It never rejects, so nobody needs to wait for it.
      void answer(incoming, outgoing);
    },
  );
  const hint =
    'change intake.webhook.listen (port 0 takes any free port), or stop the other program';
  const address = await listen(server, config.listen, hint);
  let closing: Promise<void> | null = null;
  return {
    address,
    close: (graceMs) => {
      closing ??= closeServer(server, clock, graceMs);
      return closing;
    },
  };
}

async function closeServer(server: Server, clock: Clock, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  await endWithin(clock, graceMs, () => server.closeAllConnections(), closed);
}
