import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

const fixed = (value: unknown): PropertyDescriptor => ({ get: () => value, set: () => undefined });

/**
 * The substitute of a request that is read from a connection after it was cut. Node reads nothing more from a connection that
 * asks to become another one (CONNECT), and closes it where nobody listens for that.
 */
const lastRequest = Object.defineProperties(new IncomingMessage(new Socket()), {
  method: fixed('CONNECT'),
  upgrade: fixed(true),
});

/**
 * Options of Node's HTTP server. Node makes requests of all that it has read of a connection, 64 KB at once, also after the
 * connection was destroyed: thousands of requests and answers, some MB, which stay until all connections that were read in
 * the same turn of the event loop are closed. A few hundred callers at once would fill the memory. With these options
 * nothing is read any more from a connection that was destroyed.
 */
export const afterCutOptions = {
  IncomingMessage: new Proxy(IncomingMessage, {
    construct: (Request, [socket]: [Socket]) => (socket.destroyed ? lastRequest : new Request(socket)),
  }),
};
