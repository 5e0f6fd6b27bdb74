import { connect as connectTcp, type Socket } from 'node:net';
import { buildConnector } from 'undici';

export interface ConnectionOptions {
  readonly connectMs: number;
  /** A certificate authority to trust instead of the system's, as PEM. */
  readonly ca: string | undefined;
}

/**
 * The connection of one spending call, which can be reset. Closing it in the ordinary way is not enough for a call
 * that was given up: the system goes on delivering what it had buffered, for minutes if the network is down for that
 * long, and a server that comes to read it finds a whole order. A reset throws the buffer away.
 */
export class Connection {
  #socket: Socket | null = null;
  readonly #connector: buildConnector.connector;

  constructor(options: ConnectionOptions) {
    this.#connector = buildConnector({ ...connectorOptions(options), maxCachedSessions: 0 });
  }

  /** Opens it, for undici. For TLS, the TCP connection below is made here, because only that one can be reset. */
  readonly connect: buildConnector.connector = (options, callback) => {
    if (options.protocol !== 'https:') {
      this.#connector(options, (...result) => {
        // On an error undici passes nothing at all in the place of the socket, whatever its types say.
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

  /** Breaks it off so that nothing which has not arrived yet can still arrive. */
  reset(): void {
    const socket = this.#socket;
    if (socket === null || socket.destroyed) return;
    if (socket.connecting) socket.destroy();
    else socket.resetAndDestroy();
  }
}

/** Said here, verification also holds against NODE_TLS_REJECT_UNAUTHORIZED; HTTP/2 has other faults than are known here. */
export function connectorOptions(options: ConnectionOptions): buildConnector.BuildOptions {
  const { connectMs, ca } = options;
  return { timeout: connectMs, allowH2: false, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) };
}
