import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { OutcomeRow } from '../../../src/core/answers/outcome.ts';
import type { WholesaleClientOptions } from '../../../src/wholesale/client.ts';
import { bodyCapBytes } from '../../../src/wholesale/transport/exchange.ts';
import { clientOf, keyValue, quickTimeouts, submit } from '../api-calls.ts';
import { certificates } from './certificates.ts';
import {
  errorJson,
  httpAnswer,
  RawServer,
  type Behaviour,
  type RawServerOptions,
} from './raw-server.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map(async (thing) => thing.close()));
});

async function serve(behave: Behaviour, options: RawServerOptions = {}): Promise<RawServer> {
  const server = await RawServer.start(behave, options);
  opened.push(server);
  return server;
}

/**
 * Counts the requests whose head undici writes, by its diagnostics channel: a second evidence
 * beside the handler.
 */
async function countHeads<T>(act: () => Promise<T>): Promise<{ result: T; heads: number }> {
  let heads = 0;
  const count = (): void => {
    heads += 1;
  };
  subscribe('undici:client:sendHeaders', count);
  try {
    return { result: await act(), heads };
  } finally {
    unsubscribe('undici:client:sendHeaders', count);
  }
}

async function submitTo(url: string, options: Partial<WholesaleClientOptions> = {}) {
  const client = clientOf(url, options);
  opened.push(client);
  const { result, heads } = await countHeads(async () => submit(client));
  expect(result.sent, 'sent agrees with the diagnostics channel').toBe(heads > 0);
  expect(heads, 'no request is written twice').toBeLessThanOrEqual(1);
  return result;
}

const okBody = '{"id":1,"codes":["A","B"]}';
/** An answer with a compressed body; without a name the server does not say so. */
function compressed(body: Buffer, name: string | null): Buffer {
  const encoding = name === null ? '' : `content-encoding: ${name}\r\n`;
  return Buffer.concat([
    Buffer.from(`${open200}${encoding}content-length: ${body.length}\r\n\r\n`),
    body,
  ]);
}
const reset = (socket: Socket): void => void socket.resetAndDestroy();
const open200 = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

interface Fault {
  readonly name: string;
  readonly row: OutcomeRow;
  readonly http?: number;
  readonly behave?: Behaviour;
  readonly options?: RawServerOptions;
  /** Whether it ends by a timeout. */
  readonly timed?: true;
}

const faultsAfterSending: readonly Fault[] = [
  {
    name: 'accepts, never reads, closes',
    row: 'dropped',
    options: { onConnect: (socket) => void socket.end() },
  },
  {
    name: 'reads the whole request, then closes',
    row: 'dropped',
    behave: (socket) => void socket.end(),
  },
  { name: 'reads the whole request, then resets', row: 'dropped', behave: reset },
  {
    name: 'closes within the head',
    row: 'dropped',
    behave: (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-'),
  },
  {
    name: 'sends an unasked 100 and closes',
    row: 'dropped',
    behave: (socket) => void socket.end('HTTP/1.1 100 Continue\r\n\r\n'),
  },
  { name: 'says nothing', row: 'headers_timeout', timed: true, behave: () => {} },
  {
    name: 'sends an incomplete head and stops',
    row: 'headers_timeout',
    timed: true,
    behave: (socket) => void socket.write('HTTP/1.1 200 OK\r\n'),
  },
  {
    name: 'announces with 103 and stops',
    row: 'headers_timeout',
    timed: true,
    behave: (socket) => void socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'),
  },
  {
    name: 'speaks another protocol',
    row: 'cut_answer',
    behave: (socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
  },
  {
    name: 'answers HTTP with a head that is too large',
    row: 'cut_answer',
    behave: (socket) => void socket.end(`${open200}x-large: ${'x'.repeat(40_000)}\r\n\r\n`),
  },
  {
    name: 'cuts a body of known length, by closing',
    row: 'cut_answer',
    http: 200,
    behave: (socket) =>
      void socket.end(`${open200}content-length: ${okBody.length}\r\n\r\n${okBody.slice(0, 10)}`),
  },
  {
    name: 'cuts a body of known length, by a reset',
    row: 'cut_answer',
    http: 200,
    behave: (socket) => {
      socket.write(`${open200}content-length: ${okBody.length}\r\n\r\n${okBody.slice(0, 10)}`, () =>
        setTimeout(reset, 50, socket),
      );
    },
  },
  {
    name: 'cuts a chunked body',
    row: 'cut_answer',
    http: 200,
    behave: (socket) =>
      void socket.end(`${open200}transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n`),
  },
  {
    name: 'cuts a body that ends with the connection',
    row: 'unreadable_success',
    http: 200,
    behave: (socket) =>
      void socket.end(`${open200}connection: close\r\n\r\n${okBody.slice(0, 10)}`),
  },
  {
    name: 'cuts a body that ends with the connection, by a reset',
    row: 'unreadable_success',
    http: 200,
    behave: (socket) => {
      socket.write(`${open200}connection: close\r\n\r\n${okBody.slice(0, 10)}`, () =>
        setTimeout(reset, 50, socket),
      );
    },
  },
  {
    name: 'claims more content than it sends, and waits',
    timed: true,
    row: 'cut_answer',
    http: 200,
    behave: (socket) => void socket.write(`${open200}content-length: 9000\r\n\r\n${okBody}`),
  },
  {
    name: 'sends a head and no body',
    timed: true,
    row: 'cut_answer',
    http: 200,
    behave: (socket) => void socket.write(`${open200}content-length: 9000\r\n\r\n`),
  },
  {
    name: 'cuts a refusal: it is not the word of the API',
    row: 'cut_answer',
    http: 409,
    behave: (socket) => void socket.end(httpAnswer(409, errorJson('out_of_stock')).slice(0, -4)),
  },
  {
    name: 'sends one byte at a time, for longer than the whole call may take',
    timed: true,
    row: 'deadline',
    http: 200,
    behave: (socket) => {
      socket.write(`${open200}content-length: 90\r\n\r\n`);
      const timer = setInterval(() => socket.write('x'), 100);
      socket.on('close', () => clearInterval(timer));
    },
  },
  {
    name: 'sends 10 MiB',
    row: 'cut_answer',
    http: 200,
    behave: (socket) =>
      void socket.end(httpAnswer(200, JSON.stringify({ id: 'x'.repeat(10 * 1024 * 1024) }))),
  },
  {
    name: 'answers 204',
    row: 'unreadable_success',
    http: 204,
    behave: (socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n'),
  },
  {
    name: 'answers 200 with nothing',
    row: 'unreadable_success',
    http: 200,
    behave: (socket) => void socket.end(httpAnswer(200, '')),
  },
  {
    name: 'answers 200 with HTML',
    row: 'unreadable_success',
    http: 200,
    behave: (socket) => void socket.end(httpAnswer(200, '<html>hello</html>')),
  },
  {
    name: 'answers 502 with HTML',
    row: 'foreign_server_error',
    http: 502,
    behave: (socket) => void socket.end(httpAnswer(502, '<html>Bad Gateway</html>')),
  },
  {
    name: 'answers 503 with HTML',
    row: 'foreign_unavailable',
    http: 503,
    behave: (socket) => void socket.end(httpAnswer(503, '<html>busy</html>')),
  },
  {
    name: 'answers 404 with nothing, as a middlebox does',
    row: 'foreign_refusal',
    http: 404,
    behave: (socket) => void socket.end(httpAnswer(404, '')),
  },
  {
    name: 'answers 429 and cuts the body',
    row: 'rate_limited',
    http: 429,
    behave: (socket) => void socket.end('HTTP/1.1 429 Slow\r\ncontent-length: 9\r\n\r\n{'),
  },
  {
    name: 'answers and closes before it has read the request',
    row: 'foreign_refusal',
    http: 413,
    options: { onConnect: (socket) => void socket.end(httpAnswer(413, '')) },
  },
];

describe('a call that may have left', () => {
  it.each(faultsAfterSending)(
    'ends as $row when the server $name',
    async ({ row, http, behave, options, timed }) => {
      const server = await serve(behave ?? (() => {}), options);
      const outcome = await submitTo(server.url, timed === true ? { timeouts: quickTimeouts } : {});
      expect(outcome).toMatchObject({ row, sent: true, http: http ?? null, answer: null });
      expect(JSON.stringify(outcome)).not.toContain(keyValue);
      expect(server.connections, 'nothing is repeated by itself').toBe(1);
    },
  );

  it('ends as shutdown when the worker stops, with its connection closed', async () => {
    const server = await serve(() => stop.abort());
    const stop = new AbortController();
    const client = clientOf(server.url);
    opened.push(client);
    const outcome = await submit(client, 'gift_card_order', stop.signal);
    expect(outcome).toMatchObject({ row: 'shutdown', sent: true });
  });

  it('is accepted although early hints come first', async () => {
    const server = await serve(
      (socket) => void socket.end(`HTTP/1.1 103 Early Hints\r\n\r\n${httpAnswer(200, okBody)}`),
    );
    expect(await submitTo(server.url)).toMatchObject({ row: 'accepted', http: 200 });
  });

  it('is accepted in every framing of HTTP', async () => {
    const framings = [
      httpAnswer(200, okBody),
      `${open200}transfer-encoding: chunked\r\n\r\n3\r\n${okBody.slice(0, 3)}\r\n${(okBody.length - 3).toString(16)}\r\n${okBody.slice(3)}\r\n0\r\n\r\n`,
      `${open200}connection: close\r\n\r\n${okBody}`,
    ];
    for (const framing of framings) {
      const server = await serve((socket) => void socket.end(framing));
      expect(await submitTo(server.url)).toMatchObject({
        row: 'accepted',
        answer: { units: [{ code: 'A' }, { code: 'B' }] },
      });
    }
  });

  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    [null, gzipSync],
  ] as const)(
    'is accepted when its answer is compressed although nobody asked for it: %s',
    async (name, compress) => {
      const server = await serve(
        (socket) => void socket.end(compressed(compress(Buffer.from(okBody)), name)),
      );
      expect(await submitTo(server.url)).toMatchObject({
        row: 'accepted',
        answer: { units: [{ code: 'A' }, { code: 'B' }] },
      });
      expect(server.requests[0]).toMatch(/^accept-encoding: identity\r$/m);
    },
  );

  it.each([
    ['is cut', gzipSync(Buffer.from(okBody)).subarray(0, 25), 'gzip'],
    ['is not compressed at all', Buffer.from(okBody), 'gzip'],
    ['is compressed in an unknown way', Buffer.from(okBody), 'compress'],
    ['becomes larger than the cap', gzipSync(Buffer.alloc(64 * bodyCapBytes, ' ')), 'gzip'],
  ])('may have been processed when its compressed answer %s', async (_what, body, name) => {
    const server = await serve((socket) => void socket.end(compressed(body, name)));
    expect(await submitTo(server.url)).toMatchObject({
      row: 'cut_answer',
      http: 200,
      sent: true,
      answer: null,
    });
  });

  it('gets the first answer on its connection, not a second one', async () => {
    const server = await serve(
      (socket) => void socket.end(httpAnswer(200, okBody) + httpAnswer(500, '')),
    );
    expect(await submitTo(server.url)).toMatchObject({ row: 'accepted' });
  });
});

describe('a call that never left', () => {
  it('is unreachable when the connection is refused', async () => {
    const server = await RawServer.start(() => {});
    const { url } = server;
    await server.close();
    expect(await submitTo(url)).toMatchObject({ row: 'unreachable', sent: false, http: null });
  });

  it('is unreachable when the name does not resolve', async () => {
    expect(await submitTo('http://nowhere.invalid')).toMatchObject({
      row: 'unreachable',
      sent: false,
    });
    expect(await submitTo('https://nowhere.invalid')).toMatchObject({
      row: 'unreachable',
      sent: false,
    });
  });

  it('is unreachable when the connection is not open in time', async () => {
    // A TLS server that accepts and sends nothing stands for everything that hangs before the first
    // byte.
    const server = await serve(() => {});
    const hanging = server.url.replace('http:', 'https:');
    const timeouts = { connectMs: 100, responseMs: 400, bodyMs: 400, totalMs: 5000 };
    expect(await submitTo(hanging, { timeouts })).toMatchObject({
      row: 'unreachable',
      sent: false,
    });
    const short = { ...timeouts, connectMs: 5000, totalMs: 200 };
    expect(await submitTo(hanging, { timeouts: short })).toMatchObject({
      row: 'unreachable',
      sent: false,
    });
  });

  it('is unreachable when the server hangs up during the TLS handshake', async () => {
    const server = await serve(() => {}, { onConnect: (socket) => void socket.resetAndDestroy() });
    expect(await submitTo(server.url.replace('http:', 'https:'))).toMatchObject({
      row: 'unreachable',
      sent: false,
    });
  });

  it('is unreachable, without a connection, when the worker stopped before', async () => {
    const server = await serve(() => {});
    const client = clientOf(server.url);
    opened.push(client);
    expect(await submit(client, 'gift_card_order', AbortSignal.abort())).toMatchObject({
      row: 'unreachable',
      sent: false,
    });
    await sleep(50);
    expect(server.connections).toBe(0);
  });

  it.each([
    ['its authority is unknown', certificates.good, undefined],
    ['it is expired', certificates.expired, certificates.expired.cert],
    ['it is for another host', certificates.elsewhere, certificates.elsewhere.cert],
  ])('is refused by TLS when the certificate cannot be trusted: %s', async (_why, tls, ca) => {
    const server = await serve((socket) => void socket.end(httpAnswer(200, okBody)), { tls });
    expect(await submitTo(server.url, ca === undefined ? {} : { ca })).toMatchObject({
      row: 'tls_refused',
      sent: false,
    });
    expect(server.requests).toEqual([]);
  });

  it('is refused by TLS even if NODE_TLS_REJECT_UNAUTHORIZED is 0', async () => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const server = await serve((socket) => void socket.end(httpAnswer(200, okBody)), {
        tls: certificates.good,
      });
      expect(await submitTo(server.url)).toMatchObject({ row: 'tls_refused', sent: false });
      const client = clientOf(server.url);
      opened.push(client);
      expect(await client.probe({ question: 'lookup', keyValue })).toMatchObject({
        outcome: { row: 'tls_refused', sent: false },
      });
      expect(server.requests).toEqual([]);
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });

  it('is refused by TLS when the server speaks plain HTTP', async () => {
    const plain = createServer((socket) => {
      socket.on('error', () => {});
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => {
      plain.listen(0, '127.0.0.1', resolve);
    });
    opened.push({ close: async () => void plain.close() });
    const address = plain.address();
    const port = typeof address === 'object' ? address?.port : 0;
    expect(await submitTo(`https://127.0.0.1:${port}`)).toMatchObject({
      row: 'tls_refused',
      sent: false,
    });
  });

  it('is a local defect, without showing the key, when the key cannot be a header', async () => {
    const server = await serve(() => {});
    const client = clientOf(server.url);
    opened.push(client);
    const { outcome } = await client.probe({ question: 'lookup', keyValue: 'wk_secret\n' });
    expect(outcome).toMatchObject({ row: 'local_defect', sent: false });
    expect(JSON.stringify(outcome)).not.toContain('wk_secret');
  });
});

it('a call reaches a TLS server whose authority is trusted', async () => {
  const server = await serve((socket) => void socket.end(httpAnswer(200, okBody)), {
    tls: certificates.good,
  });
  expect(await submitTo(server.url, { ca: certificates.good.cert })).toMatchObject({
    row: 'accepted',
  });
});
