import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** Answers a complete request; it writes bytes, not HTTP. */
export type Behaviour = (socket: Socket, request: string) => void;

export interface RawServerOptions {
  /** Called on a new connection, before anything is read. */
  readonly onConnect?: (socket: Socket) => void;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Does not read before `resumeAll`. */
  readonly paused?: boolean;
}

/** A server whose every byte a test decides. */
export class RawServer {
  /** The complete requests, head and body. */
  readonly requests: string[] = [];
  /** Everything received, complete or not, by connection. */
  readonly received: string[] = [];
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #scheme: string;

  private constructor(server: Server, scheme: string) {
    this.#server = server;
    this.#scheme = scheme;
  }

  static async start(behave: Behaviour, options: RawServerOptions = {}): Promise<RawServer> {
    const accept = (socket: Socket): void => raw.#accept(socket, behave, options);
    const server =
      options.tls === undefined
        ? createServer({ pauseOnConnect: options.paused ?? false, allowHalfOpen: true }, accept)
        : createTlsServer({ ...options.tls, allowHalfOpen: true }, accept);
    const raw = new RawServer(server, options.tls === undefined ? 'http' : 'https');
    server.on('tlsClientError', () => {});
    // Also sockets that never finish a TLS handshake: `close` would wait for them.
    server.on('connection', (socket: Socket) => {
      raw.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => raw.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return raw;
  }

  #accept(socket: Socket, behave: Behaviour, options: RawServerOptions): void {
    const index = this.connections;
    this.connections += 1;
    this.received[index] = '';
    socket.on('error', () => {});
    options.onConnect?.(socket);
    let pending = '';
    socket.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      this.received[index] += text;
      pending += text;
      for (let length = completeLength(pending); length > 0; length = completeLength(pending)) {
        const request = pending.slice(0, length);
        pending = pending.slice(length);
        this.requests.push(request);
        behave(socket, request);
      }
    });
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string')
      throw new Error('the server does not listen');
    return address.port;
  }

  get url(): string {
    return `${this.#scheme}://${this.#scheme === 'https' ? 'localhost' : '127.0.0.1'}:${this.port}`;
  }

  /** Reads what arrived while the server did not read. */
  resumeAll(): void {
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

/** The length of the first request in a text; 0 while it is incomplete. */
function completeLength(text: string): number {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return 0;
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, end))?.[1] ?? '0';
  const total = end + 4 + Number(length);
  return text.length >= total ? total : 0;
}

/** An HTTP answer with its correct content length. */
export function httpAnswer(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): string {
  const lines = Object.entries({ 'content-type': 'application/json', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const length = Buffer.byteLength(body);
  return [`HTTP/1.1 ${status} Test`, ...lines, `content-length: ${length}`, '', body].join('\r\n');
}

export const errorJson = (code: string, message = 'why'): string =>
  JSON.stringify({ error: { code, message } });
