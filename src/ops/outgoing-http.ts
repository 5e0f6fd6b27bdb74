import type { Buffer } from 'node:buffer';
import { Pool } from 'undici';

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Begins with a slash; percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Ends the request: its deadline, and the stop of the worker. */
  readonly signal: AbortSignal;
}

export interface IncomingAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Buffer> & {
    destroy(): unknown;
    /** Reads at most `limit` bytes, and drops them. */
    dump(options: { readonly limit: number; readonly signal: AbortSignal }): Promise<unknown>;
  };
}

/** Connections to one origin. No request is repeated, and no redirect is followed. */
export interface OutgoingConnections {
  /** Resolves with the head of the answer; rejects when there is none. */
  request(call: OutgoingRequest): Promise<IncomingAnswer>;
  destroy(): Promise<void>;
}

/**
 * Opens connections to an origin (scheme, host and port): real ones in production, simulated ones
 * in the simulation.
 * @param options.kept so many connections are used for more than one request each; 0: one, for one
 * request
 * @param options.ca certificates in PEM that are trusted in the place of the known authorities
 */
export type OpenConnections = (
  origin: string,
  options: { readonly connectMs: number; readonly kept: number; readonly ca?: string | undefined },
) => OutgoingConnections;

/**
 * Real connections. They verify certificates, and have no deadline of their own after the connect.
 */
export const openConnections: OpenConnections = (origin, { connectMs, kept, ca }) =>
  new Pool(origin, {
    connections: Math.max(1, kept),
    pipelining: kept > 0 ? 1 : 0,
    allowH2: false,
    // undici's stable parser, also where the environment asks for the experimental one.
    useMilo: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    // Set here, because NODE_TLS_REJECT_UNAUTHORIZED could turn verification off.
    connect: {
      timeout: connectMs,
      rejectUnauthorized: true,
      allowH2: false,
      ...(ca === undefined ? {} : { ca }),
    },
  });
