import { connect as connectTcp, type Socket } from 'node:net';
import { buildConnector, Client, Pool } from 'undici';
import { assert } from '../../core/order-sync-error.ts';
import type { CallEnd } from './call-end.ts';
import { Exchange, type ExchangeLimits } from './exchange.ts';

interface ConnectionOptions {
  readonly connectMs: number;
  /** A certificate authority to trust instead of the system's, as PEM. */
  readonly ca: string | undefined;
}

/**
 * The connection of one spending call, which can be reset. An ordinary close is not enough when the
 * call is aborted: the system keeps sending what it has buffered, for minutes if the network is
 * down, and the server then reads a complete order. A reset discards the buffer.
 */
class Connection {
  #socket: Socket | null = null;
  readonly #connector: buildConnector.connector;

  constructor(options: ConnectionOptions) {
    this.#connector = buildConnector({ ...connectorOptions(options), maxCachedSessions: 0 });
  }

  /**
   * Connects, for undici. For TLS the TCP socket is opened here, because only that one can be
   * reset.
   */
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
 * Options for every connection. `rejectUnauthorized` is set because NODE_TLS_REJECT_UNAUTHORIZED
 * could turn it off; HTTP/2 is off because it fails in ways that `faultRowOf` does not know.
 */
function connectorOptions(options: ConnectionOptions): buildConnector.BuildOptions {
  const { connectMs, ca } = options;
  return {
    timeout: connectMs,
    allowH2: false,
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  };
}

/** Limits of one call, in ms. */
export interface Timeouts extends ExchangeLimits {
  /** Until the connection is open, TLS included. */
  readonly connectMs: number;
}

export interface HttpCall {
  readonly method: string;
  /** Starts with a slash; percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Aborted when the worker stops. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The network, as the client needs it: real connections in production, a simulated network in the
 * simulation.
 */
export interface HttpPort {
  /**
   * Sends a call that spends or refunds money. After it ends, no byte of it can reach the server
   * any more. Never rejects.
   */
  spend(call: HttpCall): Promise<CallEnd>;
  /** Sends a call that only reads. Never rejects. */
  read(call: HttpCall): Promise<CallEnd>;
  /** Aborts the reads in flight. */
  close(): Promise<void>;
}

interface TransportOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly timeouts: Timeouts;
  /**
   * A certificate authority to trust instead of the system's, as PEM. Verification itself cannot be
   * turned off.
   */
  readonly ca: string | undefined;
}

const clientOptions = {
  // The exchange has its own timers.
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
  // undici's stable parser, also where the environment asks for the experimental one.
  useMilo: false,
} as const;

/**
 * HTTP calls to one origin. It never repeats a call, never follows a redirect, never has two calls
 * on one connection at once, and every call ends.
 */
export class Transport implements HttpPort {
  readonly #options: TransportOptions;
  readonly #connection: ConnectionOptions;
  readonly #reads: Pool;

  constructor(options: TransportOptions) {
    for (const [name, ms] of Object.entries(options.timeouts)) {
      // Node fires a longer timer at once.
      assert(
        Number.isInteger(ms) && ms >= 1 && ms < 2 ** 31,
        `${name} is a whole number of ms from 1, got ${ms}`,
      );
    }
    this.#options = options;
    this.#connection = { connectMs: options.timeouts.connectMs, ca: options.ca };
    this.#reads = new Pool(options.origin, {
      ...clientOptions,
      connect: connectorOptions(this.#connection),
      // Each read has a connection of its own: a late answer to an earlier one says nothing about it.
      pipelining: 0,
      connections: 4,
    });
  }

  /** Calls `close` after a fault: the connection must not carry anything of the call any more. */
  async #exchange(
    dispatcher: Client | Pool,
    call: HttpCall,
    close: (exchange: Exchange) => void,
  ): Promise<CallEnd> {
    const { method, path, headers, body, signal } = call;
    const exchange = new Exchange(this.#options.timeouts);
    const stop = (): void =>
      exchange.abort('shutdown', 'the worker stopped while the call was in flight');
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    else dispatcher.dispatch({ method, path, headers, body }, exchange);
    const end = await exchange.end;
    signal?.removeEventListener('abort', stop);
    if (end.kind === 'fault') close(exchange);
    return end;
  }

  /**
   * Each spending call has a connection of its own, which is closed, or reset after a fault, before
   * this returns.
   */
  async spend(call: HttpCall): Promise<CallEnd> {
    const connection = new Connection(this.#connection);
    const client = new Client(this.#options.origin, {
      ...clientOptions,
      connect: connection.connect,
      pipelining: 0,
    });
    try {
      return await this.#exchange(client, call, () => connection.reset());
    } finally {
      await client.destroy();
    }
  }

  /** A few reads at a time, each on a connection of its own. */
  async read(call: HttpCall): Promise<CallEnd> {
    return this.#exchange(this.#reads, call, (exchange) => exchange.closeConnection());
  }

  async close(): Promise<void> {
    await this.#reads.destroy();
  }
}
