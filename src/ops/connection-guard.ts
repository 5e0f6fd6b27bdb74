import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../core/clock.ts';
import { callerAddress } from './callers.ts';

export interface ConnectionLimits {
  readonly connections: number;
  /** From one address, before a request from there was authenticated. */
  readonly connectionsPerAddress: number;
  /** From the start of a request until its answer has left, in ms. */
  readonly answerMs: number;
  /**
   * Whether each caller has an address of its own: then it is trusted or shut out by what came from
   * there.
   */
  readonly judgesAddresses: boolean;
}

/** Why a connection was closed before its caller expected it. */
export type ClosedBecause =
  | 'connections'
  | 'connections_per_address'
  | 'pipelined'
  | 'answer_not_read'
  | 'tiny_parts'
  | 'shut_out';

interface Connection {
  readonly address: string;
  request: IncomingMessage | null;
  answer: ServerResponse | null;
}

/**
 * An address of which connections were abused: since when they are counted, and how long it is shut
 * out. In ms.
 */
interface Abuser {
  readonly sinceMs: number;
  readonly count: number;
  readonly shutOutUntilMs: number;
  readonly shutOutForMs: number;
}

/**
 * So many bytes of a connection are read at once: Node makes requests of all of them, also of those
 * after the one that ended it.
 */
const partBytes = 1024;
/** So many bytes of a request may wait for their reader, and so often this is checked, in ms. */
const mostUnreadBytes = 65_536;
const unreadAgainMs = 50;
/** So long an address counts as one of a caller that proved itself, in ms. */
const provenForMs = 600_000;
/** So many addresses are remembered, of each kind. */
const mostAddresses = 1000;
/** With more headers a request costs milliseconds to read. */
const mostHeaders = 100;
/**
 * An address is shut out when so many of its connections were abused within so many ms: few are
 * those of one caller of a proxy.
 */
const mostAbuses = 100;
const abusesWithinMs = 10_000;
/** An address is shut out for the first time, and at most, for so long, in ms. */
const shortestShutOutMs = 10_000;
const longestShutOutMs = 600_000;
/**
 * The offences of callers: no honest caller does these, and each costs the worker much more than
 * the caller.
 */
const abuses: readonly ClosedBecause[] = ['pipelined', 'tiny_parts', 'answer_not_read'];

/**
 * Bounds what callers can hold of an HTTP server. When there are too many connections, the oldest
 * one on which nobody proved who he is is closed for the new one, else the oldest one of the
 * address that has the most: held connections keep nobody out. A quarter of the places is left to
 * addresses from which a request was authenticated in the last ten minutes. A connection has one
 * request at a time, and a caller that does not read its answer is cut off. An address from which
 * nobody proved himself, and that opens many connections to do so, is shut out for a while.
 */
export class ConnectionGuard {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #onClosed: (because: ClosedBecause) => void;
  readonly #connections = new Map<Socket, Connection>();
  readonly #ofAddress = new Map<string, Set<Socket>>();
  /** Connections without a valid request, from addresses without one, oldest first. */
  readonly #strangers = new Set<Socket>();
  /**
   * When a request from an address was last authenticated, in ms of the monotonic clock; the
   * longest ago first.
   */
  readonly #provenAddresses = new Map<string, number>();
  /** Addresses whose connections were abused; the one that was so the longest ago first. */
  readonly #abusers = new Map<string, Abuser>();

  /** @param onClosed called for each connection that is closed by a limit */
  constructor(limits: ConnectionLimits, clock: Clock, onClosed: (because: ClosedBecause) => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#onClosed = onClosed;
  }

  /**
   * A server whose answers all pass this guard. Node itself would answer a request without `Host`,
   * or with an unknown `Expect`, as often as it comes, into memory.
   */
  createServer(
    options: ServerOptions,
    answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
  ): Server {
    const guarded = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      if (this.#admits(incoming, outgoing)) answer(incoming, outgoing);
    };
    const server = createServer(
      { maxHeaderSize: 16_384, ...options, requireHostHeader: false },
      guarded,
    );
    server.maxHeadersCount = mostHeaders;
    server.on('checkExpectation', guarded);
    server.on('connection', (socket) => this.#opened(socket));
    return server;
  }

  /**
   * Whether the request is to be answered: false when an earlier one of its connection has no
   * answer yet.
   */
  #admits(incoming: IncomingMessage, answer: ServerResponse): boolean {
    const { socket } = incoming;
    const connection = this.#connections.get(socket);
    if (connection === undefined || socket.destroyed) return false;
    // Node reads requests of one connection ahead, and keeps their answers in memory until the
    // caller reads them.
    if (connection.answer !== null && !connection.answer.writableFinished) {
      this.#close(socket, 'pipelined');
      return false;
    }
    connection.request = incoming;
    connection.answer = answer;
    const late = setTimeout(() => this.#close(socket, 'answer_not_read'), this.#limits.answerMs);
    answer.once('close', () => clearTimeout(late));
    return true;
  }

  /** A request on this connection was authenticated. */
  proven(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#strangers.delete(socket);
    if (!this.#limits.judgesAddresses) return;
    remember(this.#provenAddresses, connection.address, this.#clock.steadyMs());
    this.#abusers.delete(connection.address);
  }

  /**
   * Whether a request from the address of a connection was authenticated in the last ten minutes.
   */
  isFromProven(socket: Socket): boolean {
    return this.#isProvenAddress(callerAddress(socket.remoteAddress ?? ''));
  }

  /**
   * Cuts off a caller whose body comes in parts of a few bytes: to take them in costs much more
   * than to send them.
   */
  cutTinyParts(socket: Socket): void {
    this.#close(socket, 'tiny_parts');
  }

  #opened(socket: Socket): void {
    const address = callerAddress(socket.remoteAddress ?? '');
    if ((this.#abusers.get(address)?.shutOutUntilMs ?? 0) > this.#clock.steadyMs()) {
      socket.destroy();
      this.#onClosed('shut_out');
      return;
    }
    this.#closeOneTooMany(address);
    this.#connections.set(socket, { address, request: null, answer: null });
    this.#ofAddress.set(address, (this.#ofAddress.get(address) ?? new Set()).add(socket));
    if (!this.#isProvenAddress(address)) this.#strangers.add(socket);
    socket.once('close', () => this.#forget(socket, address));
    socket.on('readable', () => this.#read(socket));
  }

  /**
   * Hands what came in to Node in small parts, while the connection is open and its request is
   * read.
   */
  #read(socket: Socket): void {
    while (!socket.destroyed) {
      const { request = null } = this.#connections.get(socket) ?? {};
      if (request !== null && request.readableLength > mostUnreadBytes) {
        setTimeout(() => this.#read(socket), unreadAgainMs).unref();
        return;
      }
      if (socket.read(Math.min(socket.readableLength, partBytes)) === null) return;
    }
  }

  /**
   * Closes the connection whose place the next one of this address may take, where there are too
   * many.
   */
  #closeOneTooMany(address: string): void {
    const { connections, connectionsPerAddress } = this.#limits;
    const own = this.#ofAddress.get(address) ?? new Set();
    const isStranger = !this.#isProvenAddress(address);
    if (isStranger && own.size >= connectionsPerAddress)
      this.#close(oldestOf(own), 'connections_per_address');
    else if (isStranger && this.#strangers.size >= Math.ceil(connections * 0.75))
      this.#close(oldestOf(this.#strangers), 'connections');
    else if (this.#connections.size >= connections)
      this.#close(oldestOf(this.#strangers) ?? this.#ofBusiest(), 'connections');
  }

  #ofBusiest(): Socket | undefined {
    let busiest: ReadonlySet<Socket> = new Set();
    for (const own of this.#ofAddress.values()) if (own.size > busiest.size) busiest = own;
    return oldestOf(busiest);
  }

  #isProvenAddress(address: string): boolean {
    const provenAtMs = this.#provenAddresses.get(address);
    return provenAtMs !== undefined && this.#clock.steadyMs() - provenAtMs < provenForMs;
  }

  /** Counts a connection that was abused; shuts its address out where those are many. */
  #recordAbuse(address: string): void {
    if (!this.#limits.judgesAddresses || this.#isProvenAddress(address)) return;
    const nowMs = this.#clock.steadyMs();
    const before = this.#abusers.get(address) ?? {
      sinceMs: nowMs,
      count: 0,
      shutOutUntilMs: 0,
      shutOutForMs: 0,
    };
    const isRecent = nowMs - before.sinceMs < abusesWithinMs;
    const abuser = {
      ...before,
      sinceMs: isRecent ? before.sinceMs : nowMs,
      count: isRecent ? before.count + 1 : 1,
    };
    if (abuser.count < mostAbuses) return remember(this.#abusers, address, abuser);
    const forMs = Math.min(longestShutOutMs, before.shutOutForMs * 2 || shortestShutOutMs);
    remember(this.#abusers, address, {
      ...abuser,
      count: 0,
      shutOutUntilMs: nowMs + forMs,
      shutOutForMs: forMs,
    });
    for (const socket of this.#ofAddress.get(address) ?? []) this.#close(socket, 'shut_out');
  }

  #close(socket: Socket | undefined, because: ClosedBecause): void {
    const connection = socket === undefined ? undefined : this.#connections.get(socket);
    if (socket === undefined || connection === undefined) return;
    // It does not count any more, although its end comes later.
    this.#forget(socket, connection.address);
    socket.destroy();
    this.#onClosed(because);
    if (abuses.includes(because)) this.#recordAbuse(connection.address);
  }

  #forget(socket: Socket, address: string): void {
    this.#connections.delete(socket);
    this.#strangers.delete(socket);
    const own = this.#ofAddress.get(address);
    own?.delete(socket);
    if (own?.size === 0) this.#ofAddress.delete(address);
  }
}

const oldestOf = (sockets: ReadonlySet<Socket>): Socket | undefined =>
  sockets.values().next().value;

/** Sets a key of a map that forgets its oldest keys. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > mostAddresses && oldest !== undefined) map.delete(oldest);
}
