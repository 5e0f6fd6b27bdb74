import { describe, expect, it, onTestFinished } from 'vitest';
import { readWire, wireSchema, type WireOverrides } from '../../src/wholesale/connector/wire.ts';
import type { Probe } from '../../src/core/answers/probe.ts';
import { bodyCapBytes } from '../../src/wholesale/transport/exchange.ts';
import { clientOf, keyValue } from './api-calls.ts';
import type { WholesaleClientOptions } from '../../src/wholesale/client.ts';
import { errorJson, httpAnswer, RawServer, type Behaviour } from './transport/raw-server.ts';

async function ask(
  question: 'lookup' | 'products',
  reply: Behaviour,
  wire?: WireOverrides,
  timeouts?: WholesaleClientOptions['timeouts'],
) {
  const server = await RawServer.start(reply);
  onTestFinished(async () => server.close());
  const client = clientOf(server.url, {
    ...(timeouts === undefined ? {} : { timeouts }),
    ...(wire === undefined ? {} : { wire }),
  });
  onTestFinished(async () => client.close());
  const probe: Probe = await client.probe({ question, keyValue });
  return { probe, requests: server.requests, client };
}

const head = (type: string): string => `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n`;
const json = 'application/json; charset=utf-8';
/** A catalogue that is larger than the cap of an answer. */
const large = JSON.stringify({
  products: Array.from({ length: 20_000 }, (_, index) => ({
    variant: `steam-${index}`,
    name: 'x'.repeat(40),
  })),
});

describe('the catalogue as a probe', () => {
  it('is an answer of the API also when it is larger than the cap of an answer', async () => {
    expect(large.length).toBeGreaterThan(bodyCapBytes);
    const { probe } = await ask('products', (socket) => {
      socket.end(`${head(json)}content-length: ${large.length}\r\n\r\n${large}`);
    });
    expect(probe.verdict).toBe('open');
  });

  it('is an answer of the API also when it is cut', async () => {
    const cut = `${head(json)}content-length: 5000\r\n\r\n{"products":[`;
    expect((await ask('products', (socket) => void socket.end(cut))).probe.verdict).toBe('open');
  });

  it('is an answer of the API also when it is slow', async () => {
    const drips: Behaviour = (socket) => {
      socket.write(`${head(json)}content-length: 500\r\n\r\n{"products":[`);
      const drip = setInterval(() => socket.write(' '), 100);
      socket.on('close', () => clearInterval(drip));
    };
    const timeouts = { connectMs: 10_000, responseMs: 10_000, bodyMs: 10_000, totalMs: 1500 };
    const { probe } = await ask('products', drips, undefined, timeouts);
    expect(probe.outcome.row).toBe('deadline');
    expect(probe.verdict).toBe('open');
  });

  it.each([
    [
      'a page',
      httpAnswer(200, '<html>Sign in</html>', { 'content-type': 'text/html' }),
      'cannot_tell',
    ],
    ['a page that is cut', `${head('text/html')}content-length: 5000\r\n\r\n<html>`, 'cannot_tell'],
    ['a 405 of a proxy', httpAnswer(405, '<html>Not allowed</html>'), 'cannot_tell'],
    ['a 429', httpAnswer(429, ''), 'cannot_tell'],
    ['a 502 of a proxy', httpAnswer(502, '<html>Bad Gateway</html>'), 'closed'],
    ['maintenance', httpAnswer(503, errorJson('api_disabled')), 'closed'],
    ['no answer', '', 'closed'],
  ] as const)('shows by %s what it can', async (_what, answer, verdict) => {
    expect((await ask('products', (socket) => void socket.end(answer))).probe.verdict).toBe(
      verdict,
    );
  });
});

describe('a lookup as a probe', () => {
  it('asks for another reference each time, which no order can have', async () => {
    const notFound = httpAnswer(404, errorJson('not_found'));
    const { probe, requests, client } = await ask('lookup', (socket) => void socket.end(notFound));
    expect(probe).toMatchObject({ verdict: 'open', outcome: { row: 'not_found', http: 404 } });
    await client.probe({ question: 'lookup', keyValue });
    const references = requests.map(
      (request) => /^GET \/orders\/(\S+) HTTP/.exec(request)?.[1] ?? '',
    );
    expect(references).toHaveLength(2);
    expect(new Set(references).size).toBe(2);
    for (const reference of references)
      expect(reference).toMatch(/^probe-(?=.{1,30}$)[a-z0-9]+-[a-z0-9]+$/);
  });

  it('asks for an eSIM order where gift cards have no lookup', async () => {
    const notFound = httpAnswer(404, errorJson('not_found'));
    const reply: Behaviour = (socket) => void socket.end(notFound);
    const { probe, requests } = await ask('lookup', reply, { lookup: { gift_card: 'off' } });
    expect(requests[0]).toMatch(/^GET \/esim\/orders\/probe-/);
    expect(probe.verdict).toBe('open');
  });

  it('asks nothing where the mapping has no lookup', async () => {
    const { probe, requests } = await ask('lookup', () => undefined, {
      lookup: { gift_card: 'off', esim: 'off' },
    });
    expect(probe).toMatchObject({ verdict: 'cannot_tell', outcome: { sent: false } });
    expect(requests).toEqual([]);
  });

  it.each([
    ['a 404 of a web server', httpAnswer(404, '<html>Not Found</html>'), 'cannot_tell'],
    ['a success that says nothing', httpAnswer(200, '{"success":false}'), 'cannot_tell'],
    ['an empty list', httpAnswer(200, '{"data":[]}'), 'cannot_tell'],
    ['a revoked key', httpAnswer(401, errorJson('invalid_key')), 'closed'],
    ['an order of somebody else', httpAnswer(200, '{"reference":"os-2","id":1}'), 'open'],
    ['no answer', '', 'cannot_tell'],
  ] as const)('shows by %s what it can', async (_what, answer, verdict) => {
    expect((await ask('lookup', (socket) => void socket.end(answer))).probe.verdict).toBe(verdict);
  });
});

describe('the hash of the connector', () => {
  const hashOf = (wire: WireOverrides): string =>
    clientOf('http://127.0.0.1:9', { wire }).connectorHash();

  it('is the same for the same resolved mapping, in whatever order its keys are written', () => {
    expect(hashOf({})).toMatch(/^[0-9a-f]{16}$/);
    expect(hashOf({ lookup: { gift_card: readWire(undefined).lookup.gift_card } })).toBe(
      hashOf({}),
    );
    const body = {
      reference: '{reference}',
      quantity: '{quantity}',
      b: { c: 2, sku: '{variant}' },
    };
    const turned = {
      b: { sku: '{variant}', c: 2 },
      quantity: '{quantity}',
      reference: '{reference}',
    };
    expect(hashOf({ gift_card_order: { body } })).toBe(
      hashOf({ gift_card_order: { body: turned } }),
    );
  });

  it('is another one for another mapping, also where only the order of candidates differs', () => {
    const { number } = wireSchema.parse({}).answer;
    expect(hashOf({ answer: { number: number.toReversed() } })).not.toBe(hashOf({}));
    const body = { reference: '{reference}', quantity: '{quantity}', sku: '{variant}' };
    expect(hashOf({ gift_card_order: { body } })).not.toBe(hashOf({}));
  });
});
