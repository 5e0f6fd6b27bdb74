import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { problemSchema } from '../../support/intake-openapi.ts';
import { type Answer, order, type RunningIntake, startIntake } from './running-intake.ts';
import { token, whsec } from './running-intake-config.ts';

const head = `POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;

function dial(running: RunningIntake, localAddress = '127.0.0.1'): Socket {
  const { hostname: host, port } = new URL(running.url);
  return connect({ port: Number(port), host, localAddress }).setEncoding('utf8');
}

/** Everything that is received on a connection until it is closed. */
async function heard(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (part: string) => (text += part));
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return text;
}

/**
 * Resolves when the intake has read what was written before: it has answered what was sent later,
 * on other connections.
 */
async function arrived(running: RunningIntake): Promise<void> {
  for (let asked = 0; asked < 10; asked += 1) await running.call('GET', '/openapi.json');
}

/** The number of answers by status. */
function countedBy(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('the limit on a body', () => {
  it('refuses a body with a larger Content-Length without reading it, and a stream that becomes larger', async () => {
    const running = await startIntake({ limits: { bodyBytes: 1000 } });
    const said = await running.post(order({ metadata: { note: 'x'.repeat(2000) } }));
    expect([said.status, problemSchema.parse(said.json).code]).toEqual([413, 'too_large']);
    const socket = dial(running);
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    const answer = heard(socket);
    for (let part = 0; part < 20; part += 1) socket.write(`64\r\n${' '.repeat(100)}\r\n`);
    expect(await answer).toContain('413 Payload Too Large');
    expect(running.outbox.store.read.counts().pending).toBe(0);
  });

  it('answers a much larger body, and the next request is accepted', async () => {
    const running = await startIntake();
    const answer = await running.post(order({ metadata: { note: 'x'.repeat(3_000_000) } }));
    expect(answer.status).toBe(413);
    expect((await running.post(order())).status).toBe(202);
  });

  it('is 1 MiB, which is enough for a thousand long lines', async () => {
    const { post } = await startIntake();
    const line = {
      type: 'gift_card_order',
      variant: 'v'.repeat(128),
      quantity: 1,
      extra: { note: 'n'.repeat(700) },
    };
    const lines = Array.from({ length: 1000 }, (_, index) => ({ ...line, line_id: String(index) }));
    expect(JSON.stringify(order({ lines })).length).toBeGreaterThan(900_000);
    expect((await post(order({ lines }))).status).toBe(202);
  });

  it('does not matter to a caller without a token, whose body is not read at all', async () => {
    const running = await startIntake();
    const socket = dial(running);
    const answer = heard(socket);
    socket.write(
      `POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900000\r\nConnection: close\r\n\r\n`,
    );
    expect(await answer).toContain('401 Unauthorized');
  });
});

describe('a slow or greedy client', () => {
  it('is disconnected when it sends its headers too slowly', async () => {
    const running = await startIntake({ limits: { headersMs: 200, requestMs: 400 } });
    const socket = dial(running);
    const answer = heard(socket);
    socket.write('POST /v1/orders HTTP/1.1\r\nHost: x\r\n');
    expect(await answer).toContain('408 Request Timeout');
  });

  it('is disconnected when it sends its body too slowly, and nothing of it is accepted', async () => {
    const running = await startIntake({ limits: { headersMs: 200, requestMs: 400 } });
    const text = JSON.stringify(order());
    const socket = dial(running);
    const answer = heard(socket);
    socket.write(`${head}Content-Length: ${text.length}\r\n\r\n${text.slice(0, -1)}`);
    await answer;
    expect(running.outbox.store.read.counts().pending).toBe(0);
    expect((await running.post(order())).status).toBe(202);
  });

  it('that holds more connections than the limit loses the oldest one, and keeps nobody out', async () => {
    const running = await startIntake({ limits: { connections: 4 } });
    const sockets: Socket[] = [];
    for (let count = 0; count < 4; count += 1) {
      const socket = dial(running);
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      sockets.push(socket);
    }
    const [oldest, ...others] = sockets.map((socket) => heard(socket));
    expect((await running.post(order())).status).toBe(202);
    expect(await oldest).toBe('');
    expect(running.intake.details()).toMatchObject({
      refused: { connections: expect.any(Number) },
    });
    for (const socket of sockets) socket.destroy();
    await Promise.all(others);
  });

  it('that disconnects while it sends its body leaves nothing behind', async () => {
    const running = await startIntake();
    const text = JSON.stringify(order());
    const socket = dial(running);
    socket.on('error', () => undefined);
    socket.write(`${head}Content-Length: ${text.length}\r\n\r\n${text.slice(0, 40)}`);
    await delay(50);
    socket.destroy();
    await delay(50);
    expect(running.outbox.store.read.listOrders({ limit: 1 })).toEqual([]);
    expect((await running.post(order())).status).toBe(202);
  });
});

describe('the rate limit of a caller', () => {
  it('counts only its own requests, and its answer says after how many seconds to try again', async () => {
    const { post, call } = await startIntake({ limits: { requestsPerMinute: 60, burst: 2 } });
    expect((await post(order())).status).toBe(202);
    expect((await post(order())).status).toBe(200);
    const limited = await post(order());
    expect([limited.status, limited.json.code, limited.headers.get('retry-after')]).toEqual([
      429,
      'rate_limited',
      '1',
    ]);
    const other = await call('GET', '/v1/orders/shop2/1', {
      authorization: 'Bearer token-of-shop-two-002',
    });
    expect(other.status).toBe(404);
    await delay(1100);
    expect((await post(order())).status).toBe(200);
  });

  it('is not used up by requests with a wrong secret', async () => {
    const { post, call } = await startIntake({ limits: { requestsPerMinute: 60, burst: 1 } });
    const json = { 'content-type': 'application/json' };
    const forged = {
      ...json,
      'webhook-id': 'new',
      'webhook-timestamp': '1',
      'webhook-signature': `v1,${whsec}`,
    };
    for (let time = 0; time < 5; time += 1) {
      expect((await call('POST', '/v1/orders', forged, '{}')).status).toBe(401);
      expect((await post(order(), { authorization: 'Bearer wrong-wrong-wrong' })).status).toBe(401);
    }
    expect((await post(order())).status).toBe(202);
  });
});

describe('requests that arrive together', () => {
  it('share the next commit when they arrive during one', async () => {
    // `warn` means that more than 50 % of the queue is used: then all requests have arrived.
    const running = await startIntake({ limits: { uncommitted: 99 } });
    const { store } = running.outbox;
    const accept = store.intake.acceptRequests.bind(store.intake);
    const disk = Promise.withResolvers<void>();
    const commits: number[] = [];
    store.intake.acceptRequests = async (requests) => {
      commits.push(requests.length);
      await disk.promise;
      return accept(requests);
    };
    const post = (index: number) => running.post(order({ order_id: `g${index}` }));
    const first = post(0);
    while (commits.length === 0) await delay(5);
    const others = Array.from({ length: 49 }, (_, index) => post(index + 1));
    while (running.intake.health() !== 'warn') await delay(5);
    disk.resolve();
    const answers = await Promise.all([first, ...others]);
    expect(answers.filter((answer) => answer.status !== 202)).toEqual([]);
    expect(commits).toEqual([1, 49]);
    expect(store.read.counts().pending).toBe(100);
  });

  it('make one entry when they are fifty copies of one, and all get the same references', async () => {
    const { post, outbox } = await startIntake();
    const [line] = order().lines;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => post(order({ lines: [line] }))),
    );
    expect(countedBy(answers)).toEqual({ 200: 49, 202: 1 });
    expect(new Set(answers.map((answer) => JSON.stringify(answer.json.lines))).size).toBe(1);
    expect(outbox.store.read.counts().pending).toBe(1);
  });

  it('are refused when too many wait for the disk, and nothing of those is accepted', async () => {
    const running = await startIntake({ limits: { uncommitted: 4 } });
    const { store } = running.outbox;
    const accept = store.intake.acceptRequests.bind(store.intake);
    const disk = Promise.withResolvers<void>();
    store.intake.acceptRequests = async (requests) => {
      await disk.promise;
      return accept(requests);
    };
    const posts = Array.from({ length: 10 }, (_, index) =>
      running.post(order({ order_id: `q${index}` })),
    );
    const refused: Answer[] = [];
    for (const post of posts)
      void post.then((answer) => answer.status === 503 && refused.push(answer));
    while (refused.length < 6) await delay(5);
    const [first] = refused;
    expect([first?.status, first?.json.code, first?.headers.get('retry-after')]).toEqual([
      503,
      'overloaded',
      '1',
    ]);
    expect(running.intake.health()).toBe('warn');
    disk.resolve();
    expect(countedBy(await Promise.all(posts))).toEqual({ 202: 4, 503: 6 });
    expect(store.read.listOrders({ limit: 100 })).toHaveLength(4);
  });

  it('are accepted when another one of the same commit fails', async () => {
    const running = await startIntake();
    const { store } = running.outbox;
    const line = {
      ...order(),
      source: 'shop1',
      orderId: 'bad',
      lineId: '1',
      operation: 'gift_card_order' as const,
    };
    const rest = {
      variant: 'v',
      plan: null,
      iccid: null,
      quantity: 1,
      days: null,
      currency: 'USD',
      notAfterMs: null,
    };
    const good = { ...line, ...rest, metadata: {}, extra: {}, lineNumber: null };
    const [bad, other] = await store.intake.acceptRequests([
      // The database refuses a source that is too long, after the first line of the request was
      // inserted.
      { nowMs: 1, lines: [good, { ...good, lineId: '2', source: 's'.repeat(65) }] },
      { nowMs: 1, lines: [{ ...good, orderId: 'good' }] },
    ]);
    expect([bad?.kind, other?.kind]).toEqual(['failed', 'accepted']);
    expect(store.read.listOrders({ limit: 10 }).map((summary) => summary.orderId)).toEqual([
      'good',
    ]);
  });

  it('are answered 503 when the disk cannot be written, and the intake reports its failure', async () => {
    const running = await startIntake();
    running.outbox.store.intake.acceptRequests = () => Promise.reject(new Error('fsync failed'));
    const answer = await running.post(order());
    expect([answer.status, answer.json.code]).toEqual([503, 'unavailable']);
    await expect(running.intake.failed).rejects.toThrow('fsync failed');
    expect(running.intake.health()).toBe('fail');
    expect((await running.post(order())).status).toBe(503);
  });
});

describe('a stop of the intake', () => {
  it('answers open requests, accepts no new connection, and closes', async () => {
    const running = await startIntake();
    const open = dial(running);
    const late = heard(open);
    await once(open, 'connect');
    const text = JSON.stringify(order({ order_id: 'late' }));
    open.write(`${head}Content-Length: ${text.length}\r\n\r\n${text.slice(0, 10)}`);
    await arrived(running);
    const stopped = running.intake.stop();
    open.write(text.slice(10));
    await stopped;
    // A request that began before the stop is accepted.
    expect(await late).toContain('202 Accepted');
    expect(running.outbox.store.read.findOrder('shop1', 'late')).not.toBeNull();
    await expect(running.post(order())).rejects.toThrow('fetch failed');
    await running.intake.stop();
  });

  it('answers 503 to new requests on open connections', async () => {
    const running = await startIntake();
    const socket = dial(running);
    const answer = heard(socket);
    // With incomplete headers the connection is not idle.
    socket.write(head);
    await arrived(running);
    const stopped = running.intake.stop();
    socket.write('Content-Length: 2\r\n\r\n{}');
    expect(await answer).toMatch(/503 Service Unavailable[^]*Retry-After|retry-after/i);
    await stopped;
  });
});

describe('the memory of bodies', () => {
  const unsigned = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1',
    'webhook-signature': 'v1,AAAA',
  };

  const unsignedHead = (length: number): string => {
    const signature = Object.entries(unsigned).map(([name, value]) => `${name}: ${value}\r\n`);
    const [post] = head.split('Authorization');
    return `${post}Content-Type: application/json\r\n${signature.join('')}Content-Length: ${length}\r\n\r\n`;
  };

  /**
   * Sends a body of this length but for its last bytes. Resolves to what follows: an answer, or ''
   * at the end.
   */
  const hold = async (running: RunningIntake, bytes: number, localAddress?: string) => {
    const socket = dial(running, localAddress);
    const answered = heard(socket);
    socket.on('error', () => undefined).write(unsignedHead(bytes));
    await new Promise<void>((resolve) => socket.write(' '.repeat(bytes - 10), () => resolve()));
    await arrived(running);
    return { answered, finish: () => socket.end(' '.repeat(10)) };
  };

  it('is taken from the body that began the longest ago, so held bodies keep nobody out', async () => {
    const running = await startIntake({ limits: { unverifiedBytes: 100_000 } });
    const oldest = await hold(running, 40_000);
    const younger = await hold(running, 40_000);
    const headers = { 'content-type': 'application/json', ...unsigned };
    expect((await running.call('POST', '/v1/orders', headers, ' '.repeat(60_000))).status).toBe(
      401,
    );
    expect(await oldest.answered).toMatch(/ 503 [^]*retry-after: 1\r\n[^]*"code":"overloaded"/);
    expect(running.intake.health()).toBe('warn');
    expect(running.intake.details()).toEqual({ refused: { unverified_bytes: 1 } });
    younger.finish();
    expect(await younger.answered).toContain('401 Unauthorized');
    // What gave way is free again.
    expect((await running.call('POST', '/v1/orders', headers, ' '.repeat(99_000))).status).toBe(
      401,
    );
  });

  it('is taken from the largest body, so strangers keep out no order of the usual size', async () => {
    const running = await startIntake({ limits: { unverifiedBytes: 100_000 } });
    const usual = await hold(running, 20_000);
    const large = [
      await hold(running, 50_000, '127.0.0.2'),
      await hold(running, 60_000, '127.0.0.3'),
    ];
    // Each is larger than what is left beside the ones before it.
    for (let host = 4; host < 8; host += 1)
      large.push(await hold(running, 70_000, `127.0.0.${host}`));
    for (const { answered } of large.slice(0, -1)) expect(await answered).toContain(' 503 ');
    usual.finish();
    expect(await usual.answered).toContain('401 Unauthorized');
    large.at(-1)?.finish();
    expect(await large.at(-1)?.answered).toContain('401 Unauthorized');
  });

  it('is taken from strangers first, and by strangers from nobody else', async () => {
    const running = await startIntake({ limits: { unverifiedBytes: 100_000 } });
    expect((await running.post(order())).status).toBe(202);
    const ofShop = await hold(running, 60_000);
    const ofStranger = await hold(running, 30_000, '127.0.0.2');
    const further = await hold(running, 30_000);
    expect(await ofStranger.answered).toContain(' 503 ');
    expect(await (await hold(running, 30_000, '127.0.0.3')).answered).toContain(' 503 ');
    for (const body of [ofShop, further]) {
      body.finish();
      expect(await body.answered).toContain('401 Unauthorized');
    }
  });

  it('is kept by a body that has proved whose it is: the next one is refused', async () => {
    const running = await startIntake({ limits: { verifiedBytes: 100_000 } });
    const held = dial(running);
    const answered = heard(held);
    held.write(`${head}Content-Length: 90000\r\n\r\n`);
    await new Promise<void>((resolve) => held.write(' '.repeat(80_000), () => resolve()));
    await arrived(running);
    const refused = await running.post(' '.repeat(60_000));
    expect([refused.json.code, refused.headers.get('retry-after')]).toEqual(['overloaded', '1']);
    held.end(' '.repeat(10_000));
    expect(await answered).toContain(' 400 ');
  });

  it('is given back by each body, however its request ends', async () => {
    const running = await startIntake({ limits: { verifiedBytes: 200_000, bodyBytes: 150_000 } });
    const big = (id: number) =>
      order({ order_id: `o-${id}`, metadata: { note: 'x'.repeat(3000) } });
    for (let id = 0; id < 20; id += 1)
      expect((await running.post([big(id), ...Array(20).fill('x'.repeat(4000))])).status).toBe(422);
    for (let id = 0; id < 5; id += 1) {
      const socket = dial(running);
      socket.write(`${head}Content-Length: 100000\r\n\r\n`);
      await new Promise<void>((resolve) => socket.write(' '.repeat(90_000), () => resolve()));
      socket.destroy();
      await once(socket, 'close');
    }
    await expect.poll(async () => (await running.post(big(99))).status).toBe(202);
  });
});

describe('a body in parts of a few bytes', () => {
  it('is cut off: to take them in costs much more than to send them', async () => {
    const running = await startIntake();
    const socket = dial(running);
    const answer = heard(socket);
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    socket.write('1\r\n \r\n'.repeat(20_000));
    expect(await answer).toBe('');
    expect(running.intake.details()).toEqual({ refused: { tiny_parts: 1 } });
    expect((await running.post(order())).status).toBe(202);
  });

  it('is accepted when there are not many', async () => {
    const running = await startIntake();
    const socket = dial(running);
    const text = JSON.stringify(order());
    const parts = text.split('').map((letter) => `1\r\n${letter}\r\n`);
    expect(parts.length).toBeLessThan(1000);
    socket.write(
      `${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${parts.join('')}0\r\n\r\n`,
    );
    expect(await heard(socket)).toContain('202 Accepted');
  });
});

describe('the rate of a caller', () => {
  it('counts 64 KiB and 50 lines as one request', async () => {
    const line = { type: 'gift_card_order', variant: 'steam-10', quantity: 1 };
    const lines = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ ...line, line_id: String(index) }));
    const byLines = await startIntake({ limits: { requestsPerMinute: 1, burst: 10 } });
    expect((await byLines.post(order({ order_id: 'long', lines: lines(401) }))).status).toBe(202);
    expect((await byLines.post(order())).status).toBe(202);
    expect((await byLines.post(order())).status).toBe(429);
    const byBytes = await startIntake({ limits: { requestsPerMinute: 1, burst: 10 } });
    const wide = lines(9).map((each) => ({ ...each, extra: { note: 'x'.repeat(65_000) } }));
    expect((await byBytes.post(order({ order_id: 'wide', lines: wide }))).status).toBe(202);
    expect((await byBytes.post(order())).status).toBe(202);
    expect((await byBytes.post(order())).status).toBe(429);
  });
});

describe('the names of an object', () => {
  it('are limited: a list of sixty thousand unknown fields helps nobody', async () => {
    const running = await startIntake();
    const names = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));
    const many = await running.post(names(60_000));
    expect([many.status, many.json.detail]).toEqual([
      400,
      expect.stringContaining('more than 2000 names in one object'),
    ]);
    expect((await running.post(names(2000))).json.errors).toHaveLength(100);
  });
});
