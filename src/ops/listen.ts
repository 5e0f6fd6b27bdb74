import type { Server } from 'node:net';
import { OrderSyncError } from '../core/order-sync-error.ts';

/**
 * Resolves to the `host:port`, an IPv6 host in brackets. Throws LISTEN_FAILED with the hint what to
 * change.
 */
export async function listen(
  server: Server,
  { host, port }: { host: string; port: number },
  hint: string,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const code = 'code' in cause ? String(cause.code) : cause.message;
      const reason = code === 'EADDRINUSE' ? 'another program listens there' : code;
      reject(
        new OrderSyncError('LISTEN_FAILED', `Cannot listen on ${host}:${port}: ${reason}`, {
          hint,
          cause,
        }),
      );
    });
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port;
  return `${host.includes(':') ? `[${host}]` : host}:${boundPort}`;
}
