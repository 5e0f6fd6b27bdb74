import { Client, Pool } from 'undici';
import type { CallEnd } from './call-end.ts';
import { Exchange } from './exchange.ts';

/** Limits of one call, in ms. A timeout longer than a second may be late by half of one. */
export interface Timeouts {
  /** Until the connection stands, TLS included. */
  readonly connect_ms: number;
  /** From the request to the head of the answer. */
  readonly response_ms: number;
  /** Between two parts of the body. */
  readonly body_ms: number;
  /** The whole call, name resolution included. */
  readonly total_ms: number;
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

export interface TransportOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly timeouts: Timeouts;
  /** A certificate authority to trust instead of the system's, as PEM. Verification itself cannot be turned off. */
  readonly ca?: string;
}

/**
 * HTTP calls to one origin. It never repeats a call, never follows a redirect, never sends two calls down one
 * connection at once, and always comes to an end.
 */
export class Transport {
  readonly #options: TransportOptions;
  readonly #reads: Pool;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#reads = new Pool(options.origin, { ...this.#clientOptions(), pipelining: 1, connections: 2 });
  }

  #clientOptions(): Client.Options {
    const { timeouts, ca } = this.#options;
    return {
      connectTimeout: timeouts.connect_ms,
      headersTimeout: timeouts.response_ms,
      bodyTimeout: timeouts.body_ms,
      // HTTP/2 would share one connection, and has other faults than those that are known here.
      allowH2: false,
      // The parser of this library that is not experimental, whatever the environment says.
      useMilo: false,
      // Said here, it also holds against NODE_TLS_REJECT_UNAUTHORIZED.
      connect: { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) },
    };
  }

  async #exchange(dispatcher: Client | Pool, call: HttpCall): Promise<CallEnd> {
    const { method, path, headers, body, signal } = call;
    const { total_ms } = this.#options.timeouts;
    const exchange = new Exchange();
    const stop = (): void => exchange.giveUp('shutdown', 'the worker stopped while the call was open');
    const late = (): void => exchange.giveUp('deadline', `no complete answer within ${total_ms} ms`);
    if (signal?.aborted) stop();
    else dispatcher.dispatch({ method, path, headers, body }, exchange);
    const timer = setTimeout(late, total_ms);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      return await exchange.end;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  /**
   * Sends a call that spends or refunds money, on a connection of its own, which is gone before this returns: a call
   * that was given up can then no longer reach the server. Never rejects.
   */
  async spend(call: HttpCall): Promise<CallEnd> {
    const client = new Client(this.#options.origin, { ...this.#clientOptions(), pipelining: 0 });
    try {
      return await this.#exchange(client, call);
    } finally {
      await client.destroy();
    }
  }

  /** Sends a call that only reads; its connection may be used again. Never rejects. */
  async read(call: HttpCall): Promise<CallEnd> {
    return this.#exchange(this.#reads, call);
  }

  /** Breaks off what is still being read. */
  async close(): Promise<void> {
    await this.#reads.destroy();
  }
}
