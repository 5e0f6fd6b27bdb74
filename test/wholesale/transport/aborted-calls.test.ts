import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished, describe, expect, it } from 'vitest';
import { clientOf, facts, keyValue, quickTimeouts, submit } from '../api-calls.ts';
import { certificates } from './certificates.ts';
import { httpAnswer, RawServer, type RawServerOptions } from './raw-server.ts';

const large = 'x'.repeat(1_200_000);

async function pausedServer(options: RawServerOptions = {}): Promise<RawServer> {
  const server = await RawServer.start((socket) => void socket.end(httpAnswer(200, '{}')), {
    paused: true,
    ...options,
  });
  onTestFinished(async () => server.close());
  return server;
}

async function sendLarge(server: RawServer, timeouts = quickTimeouts, signal?: AbortSignal) {
  const client = clientOf(server.url, { timeouts, ca: certificates.good.cert });
  onTestFinished(async () => client.close());
  // A request larger than the server's buffer acts like a network that is down: the rest of it
  // waits on our side.
  return client.submit({
    method: 'POST',
    path: '/orders',
    body: large,
    operation: 'gift_card_order',
    keyValue,
    expect: facts.gift_card_order,
    signal,
  });
}

describe('an aborted call', () => {
  it.each([
    [
      'nothing came within the time for an answer',
      { ...quickTimeouts, responseMs: 200 },
      'headers_timeout',
    ],
    [
      'the whole call took too long',
      { ...quickTimeouts, responseMs: 1000, totalMs: 200 },
      'deadline',
    ],
  ])('does not send its request later: %s', async (_why, timeouts, row) => {
    const server = await pausedServer();
    expect(await sendLarge(server, timeouts)).toMatchObject({ row, sent: true });
    server.resumeAll();
    await sleep(400);
    expect(server.connections).toBe(1);
    expect(server.received[0]?.length).toBeLessThan(large.length);
    expect(server.requests).toEqual([]);
  });

  it('does not send its request later: the worker stopped', async () => {
    const server = await pausedServer();
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 100);
    expect(await sendLarge(server, quickTimeouts, stop.signal)).toMatchObject({
      row: 'shutdown',
      sent: true,
    });
    server.resumeAll();
    await sleep(400);
    expect(server.requests).toEqual([]);
  });

  it('does not send its request later: over TLS', async () => {
    // The server must read the handshake; it stops reading when the request begins.
    const server = await pausedServer({
      paused: false,
      tls: certificates.good,
      onConnect: (socket) => void socket.pause(),
    });
    expect(await sendLarge(server)).toMatchObject({ row: 'headers_timeout', sent: true });
    server.resumeAll();
    await sleep(400);
    expect(server.requests).toEqual([]);
  });

  it('sends no request when it was still connecting', async () => {
    const silent = await RawServer.start(() => {});
    onTestFinished(async () => silent.close());
    const timeouts = { ...quickTimeouts, connectMs: 5000, totalMs: 150 };
    const client = clientOf(silent.url.replace('http:', 'https:'), { timeouts });
    onTestFinished(async () => client.close());
    expect(await submit(client)).toMatchObject({ row: 'unreachable', sent: false });
    await sleep(200);
    // The server received only the beginning of a TLS handshake.
    expect(silent.received.join('')).not.toContain('orders');
  });

  it('is not sent at all when it is a read that waited behind others until its deadline', async () => {
    const server = await RawServer.start(() => {});
    onTestFinished(async () => server.close());
    const timeouts = { connectMs: 5000, responseMs: 5000, bodyMs: 5000, totalMs: 800 };
    const client = clientOf(server.url, { timeouts });
    onTestFinished(async () => client.close());
    const probe = { question: 'products', keyValue } as const;
    const probes = await Promise.all(Array.from({ length: 12 }, async () => client.probe(probe)));
    const sent = probes.filter(({ outcome }) => outcome.sent).length;
    // Four are sent at once. Each connection may be used once more, by a read whose deadline is a
    // moment later.
    expect(sent).toBeLessThanOrEqual(8);
    await sleep(500);
    expect(server.requests).toHaveLength(sent);
  });
});

describe('spending calls', () => {
  it('have a connection each: none waits behind another', async () => {
    const server = await RawServer.start(
      (socket) => void setTimeout(() => socket.end(httpAnswer(200, '{"id":1}')), 100),
    );
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    onTestFinished(async () => client.close());
    const outcomes = await Promise.all([1, 2, 3, 4, 5].map(async () => submit(client)));
    expect(outcomes.map((outcome) => outcome.row)).toEqual(
      Array.from({ length: 5 }, () => 'accepted'),
    );
    expect(server.connections).toBe(5);
    expect(server.requests.every((request) => /^connection: close\r$/m.test(request))).toBe(true);
  });

  it('leave no connection and no timer when their outcome is there', async () => {
    const server = await RawServer.start((socket) => void socket.write(httpAnswer(200, '{}')));
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    const before = process
      .getActiveResourcesInfo()
      .filter((kind) => /TCPSocket|Timeout/.test(kind)).length;
    const stop = new AbortController();
    await submit(client, 'gift_card_order', stop.signal);
    const timers = process
      .getActiveResourcesInfo()
      .filter((kind) => /TCPSocketWrap|Timeout/.test(kind)).length;
    // The server's end of the connection may still be open.
    expect(timers - before).toBeLessThanOrEqual(1);
    await client.close();
  });
});
