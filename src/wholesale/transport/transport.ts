import { Client, Pool } from 'undici';
import { assert } from '../../core/order-sync-error.ts';
import type { CallEnd } from './call-end.ts';
import { Connection, connectorOptions } from './connection.ts';
import { Exchange, type ExchangeLimits } from './exchange.ts';

/** Limits of one call, in ms. */
export interface Timeouts extends ExchangeLimits {
  /** Until the connection stands, TLS included. */
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
 * What the client needs of the network, and the only place where a byte leaves: real connections in production, a
 * simulated network where the clock is simulated too.
 */
export interface HttpPort {
  /** Sends a call that spends or refunds money. When it ends, nothing of it can still be sent. Never rejects. */
  spend(call: HttpCall): Promise<CallEnd>;
  /** Sends a call that only reads. Never rejects. */
  read(call: HttpCall): Promise<CallEnd>;
  /** Breaks off what is still being read. */
  close(): Promise<void>;
}

export interface TransportOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly timeouts: Timeouts;
  /** A certificate authority to trust instead of the system's, as PEM. Verification itself cannot be turned off. */
  readonly ca?: string | undefined;
}

const clientOptions = {
  // The exchange has its own timers.
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
  // The parser of this library that is not experimental, whatever the environment says.
  useMilo: false,
} as const;

/**
 * HTTP calls to one origin. It never repeats a call, never follows a redirect, never sends two calls down one
 * connection at once, and always comes to an end.
 */
export class Transport implements HttpPort {
  readonly #options: TransportOptions;
  readonly #reads: Pool;

  constructor(options: TransportOptions) {
    for (const [name, ms] of Object.entries(options.timeouts)) {
      // A longer timer would fire at once.
      assert(Number.isInteger(ms) && ms >= 1 && ms < 2 ** 31, `${name} is a whole number of ms from 1, got ${ms}`);
    }
    this.#options = options;
    this.#reads = new Pool(options.origin, {
      ...clientOptions,
      connect: connectorOptions(this.#connection()),
      pipelining: 1,
      connections: 4,
    });
  }

  #connection(): { connectMs: number; ca: string | undefined } {
    return { connectMs: this.#options.timeouts.connectMs, ca: this.#options.ca };
  }

  async #exchange(dispatcher: Client | Pool, call: HttpCall, breakOff: (exchange: Exchange) => void): Promise<CallEnd> {
    const { method, path, headers, body, signal } = call;
    const exchange = new Exchange(this.#options.timeouts);
    const stop = (): void => exchange.giveUp('shutdown', 'the worker stopped while the call was open');
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    else dispatcher.dispatch({ method, path, headers, body }, exchange);
    const end = await exchange.end;
    signal?.removeEventListener('abort', stop);
    if (end.kind === 'fault') breakOff(exchange);
    return end;
  }

  /**
   * Sends a call that spends or refunds money, on a connection of its own, which is gone before this returns: a call
   * that was given up can then no longer reach the server. Never rejects.
   */
  async spend(call: HttpCall): Promise<CallEnd> {
    const connection = new Connection(this.#connection());
    const client = new Client(this.#options.origin, { ...clientOptions, connect: connection.connect, pipelining: 0 });
    try {
      return await this.#exchange(client, call, () => connection.reset());
    } finally {
      await client.destroy();
    }
  }

  /** Sends a call that only reads; its connection may be used again. Never rejects. */
  async read(call: HttpCall): Promise<CallEnd> {
    return this.#exchange(this.#reads, call, (exchange) => exchange.breakOff());
  }

  /** Breaks off what is still being read. */
  async close(): Promise<void> {
    await this.#reads.destroy();
  }
}
