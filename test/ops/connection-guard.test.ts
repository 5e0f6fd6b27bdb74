import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ConnectionGuard,
  type ClosedBecause,
  type ConnectionLimits,
} from '../../src/ops/connection-guard.ts';
import { listen } from '../../src/ops/listen.ts';
import { HandClock } from '../support/hand-clock.ts';

type Answer = (incoming: IncomingMessage, outgoing: ServerResponse, guard: ConnectionGuard) => void;

/** `/me` proves who the caller is; every answer ends at once. */
const answers: Answer = (incoming, outgoing, guard) => {
  if (incoming.url === '/me') guard.proven(incoming.socket);
  outgoing.end('ok');
};

async function guarded(limits: Partial<ConnectionLimits> = {}, answer = answers) {
  const closed: ClosedBecause[] = [];
  const clock = new HandClock();
  const guard = new ConnectionGuard(
    {
      connections: 8,
      connectionsPerAddress: 8,
      answerMs: 60_000,
      judgesAddresses: true,
      ...limits,
    },
    clock,
    (because) => closed.push(because),
  );
  let requests = 0;
  const server = guard.createServer({}, (incoming, outgoing) => answer(incoming, outgoing, guard));
  server.prependListener('request', () => (requests += 1));
  const address = await listen(server, { host: '127.0.0.1', port: 0 }, '');
  const port = Number(address.split(':').at(-1));
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  /** A connection from an address of this machine, once the server has accepted it. */
  const dial = async (localAddress = '127.0.0.2'): Promise<Socket> => {
    const accepted = once(server, 'connection');
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined);
    sockets.push(socket);
    await accepted;
    return socket;
  };
  return { clock, closed, dial, requests: () => requests };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;

async function ask(socket: Socket, path: string): Promise<string> {
  const answered = once(socket, 'data');
  socket.write(get(path));
  const [text]: unknown[] = await answered;
  return String(text);
}

/** Which of them the server has closed. Those that it keeps answer a request. */
async function closedOf(sockets: readonly Socket[]): Promise<readonly number[]> {
  const isClosed = await Promise.all(
    sockets.map(async (socket) => {
      const end = once(socket, 'close').then(() => true);
      if (socket.destroyed) return true;
      const answered = once(socket, 'data').then(() => false);
      socket.write(get('/'));
      return await Promise.race([end, answered]);
    }),
  );
  return isClosed.flatMap((closed, index) => (closed ? [index] : []));
}

describe('too many connections', () => {
  it('close the oldest one on which nobody proved himself, so held connections keep nobody out', async () => {
    const { dial, closed } = await guarded({ connections: 4 });
    const held = [await dial(), await dial(), await dial(), await dial()];
    expect(await ask(await dial('127.0.0.3'), '/')).toContain('200 OK');
    expect(await closedOf(held)).toEqual([0, 1]);
    expect(closed).toEqual(['connections', 'connections']);
  });

  it('leave a quarter to addresses that proved themselves in the last ten minutes', async () => {
    const { clock, dial } = await guarded({ connections: 4 });
    const shop = await dial('127.0.0.3');
    await ask(shop, '/me');
    const held = [await dial(), await dial(), await dial()];
    // Of the shop again: on this one it has not proved itself yet.
    const again = await dial('127.0.0.3');
    const more = await dial();
    expect(await closedOf([shop, again, ...held, more])).toEqual([2, 3]);
    clock.now = 600_000;
    const late = await dial('127.0.0.3');
    await dial();
    await dial();
    await dial();
    expect(await closedOf([shop, late])).toEqual([1]);
  });

  it('of one address close its own oldest one', async () => {
    const { dial, closed } = await guarded({ connectionsPerAddress: 2 });
    const other = await dial('127.0.0.3');
    const own = [await dial(), await dial(), await dial()];
    expect(await closedOf([other, ...own])).toEqual([1]);
    expect(closed).toEqual(['connections_per_address']);
  });

  it('of callers that are all known close one of the address that has the most', async () => {
    const { dial } = await guarded({ connections: 4 });
    const busy = [await dial(), await dial(), await dial()];
    for (const socket of busy) await ask(socket, '/me');
    const shop = await dial('127.0.0.3');
    await ask(shop, '/me');
    const another = await dial('127.0.0.4');
    expect(await closedOf([...busy, shop, another])).toEqual([0]);
  });
});

describe('a connection', () => {
  it('has one request at a time: who sends the next one too early is cut off, alone', async () => {
    const { dial, closed } = await guarded({}, () => undefined);
    const [socket, neighbour] = [await dial(), await dial()];
    const end = once(socket, 'close');
    socket.write(get('/').repeat(5));
    await end;
    expect(closed).toEqual(['pipelined']);
    expect((await dial()).destroyed).toBe(false);
    expect(neighbour.destroyed).toBe(false);
  });

  /** Opens connections one after the other, each of which is cut off. */
  async function abuse(dial: () => Promise<Socket>, count: number): Promise<void> {
    for (let opened = 0; opened < count; opened += 1) {
      const socket = await dial();
      const end = once(socket, 'close');
      socket.write(get('/').repeat(2));
      await end;
    }
  }

  it('of an address that opened a hundred to abuse them is not accepted for a while, then for twice as long', async () => {
    const { clock, dial, closed } = await guarded({}, () => undefined);
    await abuse(dial, 99);
    clock.now = 10_000;
    await abuse(dial, 99);
    const [neighbour, other] = [await dial(), await dial('127.0.0.3')];
    const end = once(neighbour, 'close');
    await abuse(dial, 1);
    await end;
    expect(closed.slice(-2)).toEqual(['pipelined', 'shut_out']);
    await once(await dial(), 'close');
    expect(other.destroyed).toBe(false);
    clock.now = 20_000;
    await abuse(dial, 100);
    clock.now = 39_999;
    await once(await dial(), 'close');
    clock.now = 40_000;
    expect((await dial()).destroyed).toBe(false);
  });

  it('of the own machine is never shut out where commands and probes share the address', async () => {
    const { dial, closed } = await guarded({ judgesAddresses: false }, () => undefined);
    await abuse(dial, 101);
    expect(new Set(closed)).toEqual(new Set(['pipelined']));
    expect((await dial()).destroyed).toBe(false);
  });

  it.each(['GET / HTTP/1.1\r\n\r\n', 'GET / HTTP/1.1\r\nhost: x\r\nexpect: a\r\n\r\n'])(
    'has one request at a time also where Node would answer itself: %j',
    async (request) => {
      const { dial, closed, requests } = await guarded({}, () => undefined);
      const socket = await dial();
      const end = once(socket, 'close');
      socket.write(request.repeat(1000));
      await end;
      expect(closed).toEqual(['pipelined']);
      expect(requests()).toBeLessThan(100);
    },
  );

  it('with more than a hundred headers is refused before they are read', async () => {
    const { dial } = await guarded();
    const socket = await dial();
    const answered = once(socket, 'data');
    socket.write(`GET / HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(200)}\r\n`);
    expect(String(await answered)).toContain('431');
  });

  it('is read in small parts: few requests are made of what comes after the one that ended it', async () => {
    const { dial, requests } = await guarded({}, () => undefined);
    const socket = await dial();
    const end = once(socket, 'close');
    socket.write(get('/').repeat(1000));
    await end;
    expect(requests()).toBeLessThan(50);
  });

  it('is not read on while nobody reads the body of its request, and then in full', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<IncomingMessage>();
    const { dial } = await guarded({}, (incoming, outgoing) => {
      resolve(incoming);
      incoming.once('end', () => outgoing.end('read'));
    });
    const socket = await dial();
    const bodyBytes = 20_000_000;
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${bodyBytes}\r\n\r\n`);
    socket.write(Buffer.alloc(bodyBytes));
    const incoming = await asked;
    await expect.poll(() => incoming.readableLength).toBeGreaterThan(60_000);
    expect(socket.writableLength).toBeGreaterThan(1_000_000);
    expect(incoming.readableLength).toBeLessThan(200_000);
    const answered = once(socket, 'data');
    incoming.resume();
    expect(String(await answered)).toContain('read');
  });

  it('may send one request after the other', async () => {
    const { dial, closed } = await guarded();
    const socket = await dial();
    for (let count = 0; count < 20; count += 1) expect(await ask(socket, '/')).toContain('200 OK');
    expect(closed).toEqual([]);
  });

  it('of a caller that proved itself is cut off alone', async () => {
    const { dial, closed } = await guarded({}, (incoming, outgoing, guard) =>
      incoming.url === '/slow' ? undefined : answers(incoming, outgoing, guard),
    );
    const [socket, neighbour] = [await dial(), await dial()];
    await ask(socket, '/me');
    const end = once(socket, 'close');
    socket.write(get('/slow').repeat(2));
    await end;
    expect(closed).toEqual(['pipelined']);
    expect(await ask(neighbour, '/')).toContain('200 OK');
  });

  it('is cut off when its answer is not read in time', async () => {
    const { dial, closed } = await guarded({ answerMs: 200 }, (_incoming, outgoing) => {
      outgoing.end(Buffer.alloc(50_000_000));
    });
    const socket = await dial();
    socket.pause();
    socket.write(get('/'));
    await expect.poll(() => closed).toEqual(['answer_not_read']);
  });
});
