import { createConnection } from 'node:net';
import * as fc from 'fast-check';
import { Pool } from 'undici';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { errorRows } from '../../test/support/sandbox-errors.ts';
import type { Sandbox } from '../create-sandbox.ts';
import { buyEsim, callerOf, esim, giftCard, mainKey, startSandbox } from './running-sandbox.ts';

const errorBody = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string().min(1) }),
});
const pairs = new Set(errorRows.map(({ status, code }) => `${status} ${code}`));

/** How many requests; CI sends 10,000. */
const runs = Number(process.env['FUZZ_RUNS'] ?? 3000);

/**
 * What is wrong with an error answer; null when it is a row of the error table with the error body.
 */
function wrongWith(status: number, text: string): string | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return `${status} without JSON: ${text.slice(0, 100)}`;
  }
  const parsed = errorBody.safeParse(json);
  if (!parsed.success) return `${status} without the error body: ${text.slice(0, 100)}`;
  const pair = `${status} ${parsed.data.error.code}`;
  return pairs.has(pair) ? null : `${pair} is no row of the table`;
}

/** The parts of the ledger that junk must not change. */
function untouched(sandbox: Sandbox): object {
  const { orders, esims, movements, balances, stock, keys } = sandbox.ledger();
  return {
    orders,
    esims,
    movements,
    balances,
    stock,
    keys: keys.map((key) => ({
      ...key,
      requests_at: [],
      orders_at: [],
      max_requests_in_window: 0,
      max_orders_in_window: 0,
    })),
  };
}

type Junk = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
};

const wrongValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    {},
    [],
    '',
    1.5,
    '1',
    1e308,
    -0,
    2 ** 53,
    'x'.repeat(5_000),
    {
      $ne: null,
    },
  ),
  fc.string({ unit: 'binary' }).filter((text) => !/^[A-Za-z0-9]/.test(text)),
);

/** A well-formed order with one wrong or missing field: such orders find most defects. */
const nearlyOrder = fc
  .tuple(
    fc.constantFrom(giftCard('junk'), esim('junk')),
    fc.constantFrom('reference', 'variant', 'plan', 'quantity', 'currency', 'extra'),
    fc.option(wrongValue),
  )
  .map(([order, field, value]): Record<string, unknown> => {
    const broken: Record<string, unknown> = { ...order, quantity: 1.5, [field]: value };
    if (value === null) Reflect.deleteProperty(broken, field);
    return broken;
  });

const jsonBody = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  nearlyOrder.map((value) => JSON.stringify(value)),
  fc.string(),
  fc.constantFrom(
    '{',
    '[[[[',
    '{"a":',
    'null',
    '"x"',
    '{"__proto__":{"reference":"x"}}',
    '['.repeat(20_000),
    '\u0000',
    '{"reference":"a","reference":"b"}',
  ),
);
const hostileText = fc.oneof(
  fc.constantFrom(
    "' OR 1=1 --",
    '../../etc/passwd',
    '%2e%2e%2f',
    '%00',
    '%ff',
    '%E0%A4%A',
    '😀',
    'x'.repeat(4_000),
    '<script>',
    ':key',
    '*',
    'constructor',
    '__proto__',
  ),
  fc.string({ maxLength: 40 }),
);
const postPath = fc.oneof(
  fc.constantFrom(
    '/orders',
    '/esim/orders',
    '/esim/esims/8999901000000000013/topups',
    '/esim/esims/8999901000000099997/cancel',
    '/orders/',
    '//orders',
    '/ORDERS',
    '/esim',
    '/esim/esims//topups',
  ),
  hostileText.map((text) => `/${encodeURIComponent(text)}`),
);
const getPath = fc.oneof(
  hostileText.map((text) => `/orders/${encodeURIComponent(text)}x`),
  hostileText.map((text) => `/esim/esims/${encodeURIComponent(text)}x/topups`),
  hostileText.map((text) => `/esim/destinations/${encodeURIComponent(text)}x/plans`),
  hostileText.map((text) => `/products?page=${encodeURIComponent(text)}x`),
  fc.constantFrom(
    '/',
    '/orders',
    '/esim/orders',
    '/orders/%',
    '/orders/%zz',
    '/orders/a/b',
    '/__sandbox/nothing',
    '/products?per_page=0',
    '/products?page=-1',
  ),
);
const method = fc.constantFrom('POST', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');
const junk: fc.Arbitrary<Junk> = fc.oneof(
  fc.record({
    method,
    path: postPath,
    headers: fc.constant({ 'content-type': 'application/json' }),
    body: jsonBody,
  }),
  fc.record({
    method: fc.constant('POST'),
    path: postPath,
    headers: fc.constantFrom(
      { 'content-type': 'text/plain' },
      { 'content-type': 'multipart/form-data' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-type': 'application/xml' },
    ),
    body: fc.oneof(
      fc.constant('<xml/>'),
      fc.uint8Array({ minLength: 1, maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    ),
  }),
  fc.record({
    method: fc.constant('GET'),
    path: getPath,
    headers: fc.constant({}),
    body: fc.constant(undefined),
  }),
  fc.record({
    method: fc.constant('POST'),
    path: fc.constant('/orders'),
    headers: fc.constantFrom(
      { authorization: 'Basic abc' },
      { authorization: 'Bearer' },
      { authorization: `Bearer ${'k'.repeat(3_000)}` },
      { authorization: 'Bearer a b' },
    ),
    body: fc.constant(JSON.stringify(giftCard('junk'))),
  }),
);

/** Bytes that no HTTP library would send. */
const brokenBytes = fc.oneof(
  fc.constantFrom(
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: a b\r\n\r\n',
    'GET /orders/x HTTP/1.1\r\nhost: [::1\r\n\r\n',
    'GET http://:99999999/ HTTP/1.1\r\nhost: a\r\n\r\n',
    'GET \\orders HTTP/1.1\r\nhost: a\r\n\r\n',
    'TRACE / HTTP/1.1\r\nhost: a\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n',
    'GET / HTTP/9.9\r\nhost: a\r\n\r\n',
    'POST /orders HTTP/1.1\r\nhost: a\r\ncontent-length: abc\r\n\r\n',
    'POST /orders HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /orders HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    'GET / HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    'POST /orders HTTP/1.1\r\nhost: a\r\nexpect: the-unexpected\r\ncontent-length: 2\r\n\r\n{}',
    `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
    'FROB / HTTP/1.1\r\nhost: a\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).map((text) => `${text}\r\n\r\n`),
);

function rawExchange({ url }: { url: string }, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = createConnection({ host: hostname, port: Number(port) });
    let text = '';
    socket.on('data', (data) => {
      text += data.toString('utf8');
      // The answer ends with its JSON object, even if the connection stays open.
      if (text.includes('\r\n\r\n') && text.trimEnd().endsWith('}}')) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}

describe('malformed requests', () => {
  it(`${runs} junk requests get rows of the error table, never a 500, and change nothing`, {
    timeout: 120_000,
  }, async () => {
    const sandbox = await startSandbox();
    await buyEsim(callerOf(sandbox), 'before');
    const before = untouched(sandbox);
    const pool = new Pool(sandbox.url, { connections: 32, headersTimeout: 20_000 });
    const problems: string[] = [];
    const requests = fc.sample(junk, { numRuns: Math.ceil(runs * 0.9), seed: 20_261_121 });
    const send = async ({ method: verb, path, headers, body }: Junk): Promise<void> => {
      const wire = { authorization: `Bearer ${mainKey}`, ...headers };
      const reply = await pool.request({ method: verb, path, headers: wire, body: body ?? null });
      const wrong = wrongWith(reply.statusCode, await reply.body.text());
      if (wrong !== null)
        problems.push(`${verb} ${path.slice(0, 80)} ${String(body).slice(0, 120)}: ${wrong}`);
    };
    const queue = requests.values();
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        for (const request of queue) await send(request);
      }),
    );
    await pool.close();
    const broken = fc
      .sample(brokenBytes, { numRuns: Math.ceil(runs * 0.1), seed: 20_261_121 })
      .values();
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        for (const bytes of broken) {
          const text = await rawExchange(sandbox, bytes);
          const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
          const wrong = wrongWith(status, text.slice(text.indexOf('\r\n\r\n') + 4));
          if (wrong !== null) problems.push(`${JSON.stringify(bytes.slice(0, 120))}: ${wrong}`);
        }
      }),
    );
    expect([...new Set(problems)]).toEqual([]);
    expect(untouched(sandbox)).toEqual(before);
    expect((await callerOf(sandbox).post('/orders', giftCard('still-alive'))).status).toBe(201);
  });

  it('a body of 32 MiB is read to its end and refused, and a body that breaks off harms no other call', async () => {
    const sandbox = await startSandbox();
    const reply = await callerOf(sandbox).send('POST', '/orders', {
      headers: { 'content-type': 'application/json' },
      body: Buffer.alloc(32 * 1024 * 1024, 0x20),
    });
    expect(wrongWith(reply.status, reply.text)).toBeNull();
    expect(reply.text).toContain('larger than 65536 bytes');
    const { hostname, port } = new URL(sandbox.url);
    const socket = createConnection({ host: hostname, port: Number(port) });
    socket.end(
      `POST /orders HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${mainKey}\r\ncontent-length: 100\r\n\r\n{"refer`,
    );
    await new Promise((resolve) => socket.once('close', resolve).resume());
    expect(sandbox.ledger().orders).toEqual([]);
    expect((await callerOf(sandbox).post('/orders', giftCard('still-alive'))).status).toBe(201);
  });
});
