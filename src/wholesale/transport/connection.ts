import { connect as connectTcp, type Socket } from 'node:net';
import { buildConnector } from 'undici';

export interface ConnectionOptions {
  readonly connectMs: number;
  /** A certificate authority to trust instead of the system's, as PEM. */
  readonly ca: string | undefined;
}

/**
 * The connection of one spending call, which can be reset. An ordinary close is not enough when the call is aborted:
 * the system keeps sending what it has buffered, for minutes if the network is down, and the server then reads a
 * complete order. A reset discards the buffer.
 */
export class Connection {
  #socket: Socket | null = null;
  readonly #connector: buildConnector.connector;

  constructor(options: ConnectionOptions) {
    this.#connector = buildConnector({ ...connectorOptions(options), maxCachedSessions: 0 });
  }

  /** Connects, for undici. For TLS the TCP socket is opened here, because only that one can be reset. */
  readonly connect: buildConnector.connector = (options, callback) => {
    if (options.protocol !== 'https:') {
      this.#connector(options, (...result) => {
        // On an error undici passes no socket at all, contrary to its types.
        this.#socket = result[1] ?? null;
        callback(...result);
      });
      return;
    }
    const tcp = connectTcp({ host: options.hostname, port: Number(options.port || 443) });
    tcp.setNoDelay(true);
    this.#socket = tcp;
    this.#connector({ ...options, httpSocket: tcp }, (...result) => {
      if (result[0] !== null) tcp.destroy();
      callback(...result);
    });
  };

  /** Closes the connection at once. Bytes that have not arrived yet are discarded. */
  reset(): void {
    const socket = this.#socket;
    if (socket === null || socket.destroyed) return;
    if (socket.connecting) socket.destroy();
    else socket.resetAndDestroy();
  }
}

/**
 * Options for every connection. `rejectUnauthorized` is set because NODE_TLS_REJECT_UNAUTHORIZED could turn it off;
 * HTTP/2 is off because it fails in ways that `faultRowOf` does not know.
 */
export function connectorOptions(options: ConnectionOptions): buildConnector.BuildOptions {
  const { connectMs, ca } = options;
  return { timeout: connectMs, allowH2: false, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) };
}
