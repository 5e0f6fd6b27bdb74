import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import { type JsonBody, refusal, textOf, toResponse } from '../orders/call.ts';

export type Web = { Bindings: HttpBindings };

/**
 * The calls in flight. Closing the sandbox cuts their pauses short and waits until they have ended.
 */
export class OpenCalls {
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  /** Resolves after so many milliseconds, or at once when the sandbox closes. Never rejects. */
  async pause(ms: number): Promise<void> {
    if (ms > 0) await delay(ms, undefined, { signal: this.#closing.signal }).catch(() => {});
  }

  track(call: Promise<unknown>): void {
    const settled = call.catch(() => {}).finally(() => this.#running.delete(settled));
    this.#running.add(settled);
  }

  /** Ends all pauses and resolves when every tracked call has ended. */
  async end(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }
}

/**
 * An HTTP server in front of `app`. Requests that Node or Hono cannot parse get the error body of
 * Spec 7, too.
 */
export function createHttpServer(app: Hono<Web>, openCalls: OpenCalls): Server {
  const handle = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => toResponse(refusal(422, 'invalid_request', 'The request is malformed.')),
  });
  const listener = (...[incoming, outgoing]: Parameters<typeof handle>): void => {
    openCalls.track(handle(incoming, outgoing));
  };
  // By default, Node itself answers a request without a host or with an unknown expectation,
  // without an error body.
  const server = createServer({ requireHostHeader: false }, listener);
  server.on('checkExpectation', listener);
  server.on('clientError', (_error, socket) => refuseBrokenRequest(socket));
  server.on('connect', (_request, socket) => refuseBrokenRequest(socket));
  return server;
}

function refuseBrokenRequest(socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const text = textOf(refusal(422, 'invalid_request', 'The request is not well-formed HTTP.'));
  socket.end(
    `HTTP/1.1 422 Unprocessable Entity\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}

/**
 * Listens on `host:port` and returns the base address, without a slash at the end. Port 0 takes a
 * free port.
 */
export async function listen(server: Server, address: string): Promise<string> {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(address);
  if (match === null)
    throw new Error(`listen is host:port, such as 127.0.0.1:8090, not ${address}`);
  const host = match[1] ?? (match[2] || '127.0.0.1');
  server.listen(Number(match[3]), host);
  await once(server, 'listening');
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : match[3];
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * A body that is too large is read up to here, because a client reads the answer only after it sent
 * its body.
 */
const maxReadBytes = 64 * 1024 * 1024;

/** Reads a JSON body; no body at all reads as `{}`. Never throws. */
export async function readJsonBody(incoming: IncomingMessage, maxBytes: number): Promise<JsonBody> {
  const pieces: Buffer[] = [];
  let size = 0;
  let isComplete = true;
  try {
    for await (const piece of incoming as AsyncIterable<Buffer>) {
      if (size <= maxBytes) pieces.push(piece);
      size += piece.length;
      if (size > maxReadBytes) break;
    }
  } catch {
    isComplete = false;
  }
  const bytes = Buffer.concat(pieces);
  const problem = isComplete
    ? problemOf(incoming, size, maxBytes)
    : 'The body did not arrive completely.';
  if (problem !== null) return { problem };
  if (size === 0) return { json: {} };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { json: JSON.parse(text) as unknown };
  } catch {
    return { problem: 'The body is not valid JSON in UTF-8.' };
  }
}

function problemOf({ headers }: IncomingMessage, size: number, maxBytes: number): string | null {
  if (size > maxBytes) return `The body is larger than ${maxBytes} bytes.`;
  if (size === 0) return null;
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    return 'The body must be JSON: send "Content-Type: application/json".';
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    return 'A compressed body is not read: send it without "Content-Encoding".';
  }
  return null;
}
